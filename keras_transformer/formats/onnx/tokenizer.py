"""The file tokenizer.json, which gives our ids without SentencePiece."""

import base64
import os
import re
import unicodedata

from keras_transformer.data.text.normalization import make_replacements
from keras_transformer.errors import UserError
from keras_transformer.files.writing import write_record
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import PAD_ID
from keras_transformer.token_ids import UNKNOWN_ID
from keras_transformer.token_ids import WORD_START

UNUSED_SCORE = -1000.0  # of a piece that no text is cut into
FILE = "tokenizer.json"
TARGET = "target"  # the folder of the tokenizer of a separate target


def check_vocabulary(vocabulary):
    """Returns the model of SentencePiece, unless tokenizers lack its kind."""
    model = vocabulary.parse_model()
    is_of_words = model.trainer_spec.model_type == model.trainer_spec.WORD
    joins_letters = model.denormalizer_spec.precompiled_charsmap
    if is_of_words or joins_letters or vocabulary.is_tensor2tensor:
        raise UserError(
            "A vocabulary must be one of subwords or characters in "
            f"{FILE}. Received: one of words, of the letters of Hangul or of "
            "Tensor2Tensor. Use --format=saved_model."
        )
    return model


def make_tokenizer(vocabulary):
    """Returns the content of tokenizer.json for `Subwords`, a dictionary.

    Three texts differ: the special pieces, such as `</s>`, are themselves where
    a text contains them; a text with two best ways to join equal letters may be
    joined in the other way; and if bytes that a weak model writes in a row are
    no text, they all become U+FFFD, even those that would spell a character.
    """
    model = check_vocabulary(vocabulary)
    texts = [piece.piece for piece in model.pieces]
    symbols = find_symbols(model)
    divide = {
        "type": "Split",
        "pattern": {"Regex": symbols},
        "behavior": "Isolated",
        "invert": False,
    }
    steps = _list_steps(vocabulary, model)
    steps_back = [
        {"type": "ByteFallback"},
        _replace({"String": WORD_START}, " "),
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 99, "stop": 0},
    ]
    return {
        "version": "1.0",
        "added_tokens": _list_special(texts),
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": divide if symbols else None,
        "post_processor": _end_text(texts[END_ID]),
        "decoder": {"type": "Sequence", "decoders": steps_back},
        "model": _make_model(model, texts, vocabulary.has_bytes),
    }


def write_tokenizers(vocabularies, directory):
    """Writes the tokenizers of the source and of a separate target."""
    folders = {directory: vocabularies.sources}
    if not vocabularies.is_shared:
        folders[os.path.join(directory, TARGET)] = vocabularies.targets
    for folder, vocabulary in folders.items():
        os.makedirs(folder, exist_ok=True)
        pad, end, unknown = vocabulary.pieces((PAD_ID, END_ID, UNKNOWN_ID))
        settings = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": pad,
            "eos_token": end,
            "unk_token": unknown,
            "clean_up_tokenization_spaces": vocabulary.cleans_up,
        }
        for name, content in (
            (FILE, make_tokenizer(vocabulary)),
            ("tokenizer_config.json", settings),
        ):
            path = os.path.join(folder, name)
            write_record(path, content, ensure_ascii=False)


def read_tokenizers(directory):
    """Opens the tokenizers of source and target, and returns both."""
    # Imported here because only what runs an export needs it.
    import tokenizers

    paths = [os.path.join(directory, each, FILE) for each in ("", TARGET)]
    source, *targets = (
        tokenizers.Tokenizer.from_file(path)
        for path in filter(os.path.exists, paths)
    )
    return source, *(targets or [source])


def _list_special(texts):
    """Returns pieces that are cut out first: special ones, and languages."""
    places = ("single_word", "lstrip", "rstrip", "normalized")
    return [
        {
            "id": id_,
            "content": text,
            "special": id_ < FIRST_SYMBOL_ID,
            **dict.fromkeys(places, False),
        }
        for id_, text in enumerate(texts)
        if id_ < FIRST_SYMBOL_ID or re.fullmatch(r">>\S+<<", text)
    ]


def _end_text(end):
    first, second = ({"Sequence": {"id": i, "type_id": 0}} for i in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [first, {"SpecialToken": {"id": end, "type_id": 0}}],
        "pair": [first, second],
        "special_tokens": {end: {"id": end, "ids": [END_ID], "tokens": [end]}},
    }


def _make_model(model, texts, has_bytes):
    spec = model.trainer_spec
    if spec.model_type == spec.UNIGRAM:
        unused = model.SentencePiece.UNUSED
        scores = [
            UNUSED_SCORE if piece.type == unused else piece.score
            for piece in model.pieces
        ]
        scores[:FIRST_SYMBOL_ID] = [0.0] * FIRST_SYMBOL_ID
        return {
            "type": "Unigram",
            "unk_id": UNKNOWN_ID,
            "vocab": list(zip(texts, scores)),
            "byte_fallback": has_bytes,
        }
    normal = {
        piece.piece: piece.score
        for piece in model.pieces
        if piece.type == piece.NORMAL
    }
    merges = sorted(
        (-score, text[:cut], text[cut:])
        for text, score in normal.items()
        for cut in range(1, len(text))
        if text[:cut] in normal and text[cut:] in normal
    )
    if spec.model_type != spec.BPE:
        merges = []  # of characters, only symbols have several
    return {
        "type": "BPE",
        "vocab": {text: id_ for id_, text in enumerate(texts)},
        "merges": [list(pair) for _, *pair in merges],
        "unk_token": texts[UNKNOWN_ID],
        "fuse_unk": True,
        "byte_fallback": has_bytes,
        # A symbol stands alone, and needs no merges.
        "ignore_merges": True,
    }


def find_symbols(model):
    """Returns a regular expression of the symbols that are cut out of a text.

    It is empty without any, and the longest one comes first.
    """
    symbols = [p.piece for p in model.pieces if p.type == p.USER_DEFINED]
    symbols.sort(key=len, reverse=True)
    return "|".join(_escape(each, r"\^$.*+?()[]{}|") for each in symbols)


def _list_steps(vocabulary, model):
    spec = model.normalizer_spec
    if vocabulary.is_marian and spec.precompiled_charsmap:
        charsmap = base64.b64encode(spec.precompiled_charsmap).decode()
        steps = [{"type": "Precompiled", "precompiled_charsmap": charsmap}]
    else:
        steps = _list_replacements(vocabulary)
    return [
        *steps,
        _replace({"Regex": " {2,}"}, " "),
        _replace({"Regex": "^ | $"}, ""),
        _replace({"String": " "}, WORD_START),
        {"type": "Prepend", "prepend": WORD_START},
    ]


def _list_replacements(vocabulary):
    """Returns the steps of `normalization`, in terms that tokenizers have."""
    if not vocabulary.normalizes_text:
        return []
    wide, narrow = vocabulary.encode(["\uff0c", ","])
    table = make_replacements(wide != narrow)
    single = {old: new for old, new in table.items() if len(old) == 1}
    dropped = [old for old, new in single.items() if not new]
    spaces = [old for old, new in single.items() if new == " "]
    others = {
        old: new
        for old, new in single.items()
        if new not in ("", " ", unicodedata.normalize("NFC", old))
    }
    joiners = "\u200c\u200d"
    before = {old[1] for old in table if old[0] in joiners and old[1:]}
    after = {old[0] for old in table if old[-1] in joiners and old[:-1]}
    return [
        _replace({"Regex": f"[{joiners}](?={_class_of(before)})"}, ""),
        _replace({"Regex": f"(?<={_class_of(after)})[{joiners}]"}, ""),
        _replace({"Regex": _class_of(spaces)}, " "),
        _replace({"Regex": _class_of(dropped)}, ""),
        *(_replace({"String": old}, new) for old, new in others.items()),
        {"type": "NFC"},
    ]


def _class_of(characters):
    """Returns a regular expression of characters, with ranges."""
    codes = set(map(ord, characters))
    starts = sorted(code for code in codes if code - 1 not in codes)
    ends = sorted(code for code in codes if code + 1 not in codes)
    ranges = (
        _escape(chr(start)) + ("-" + _escape(chr(end))) * (end > start)
        for start, end in zip(starts, ends)
    )
    return f"[{''.join(ranges)}]"


def _escape(text, special="[]^-\\"):
    """Escapes characters of a regular expression, by default of a class.

    JavaScript refuses a backslash before others.
    """
    return "".join("\\" * (char in special) + char for char in text)


def _replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}
