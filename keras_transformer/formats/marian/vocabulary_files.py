"""The vocabulary files of a Marian model, as our vocabularies and back.

Marian has a SentencePiece model for each side, which only cuts text into
pieces, and a table in JSON with the id of each piece. At import, each
SentencePiece model is rewritten so that its pieces have the ids of the table.
The result is an ordinary vocabulary file for every command and every export.

The ids come from the table, except that padding, end and unknown get the ids 0,
1 and 2 and the other pieces move up; see `Subwords.original_ids`. Pieces that
only the table has never result from a text but are decoded. Pieces that the
table lacks have the ids after it and are read as unknown.
"""

import os
import re

from keras_transformer.data.vocabulary import subwords
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.errors import UserError
from keras_transformer.files import reading
from keras_transformer.files import writing
from keras_transformer.files.reading import file_error
from keras_transformer.files.reading import read_bytes
from keras_transformer.formats.imported_run import unsupported
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID
from keras_transformer.token_ids import UNKNOWN_ID

SOURCE_MODEL_FILE = "source.spm"
TARGET_MODEL_FILE = "target.spm"
TABLE_FILE = "vocab.json"
TARGET_TABLE_FILE = "target_vocab.json"
CONFIG_FILE = "tokenizer_config.json"
_REMEDY = "Get the files of the model again."

MAX_PIECE = 1000  # characters, of which most have 16 at most

# The pieces of our ids 0, 1 and 2.
_SPECIAL = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
# Added tokens that leave ids as they are: languages, which the table has, and
# special tokens, which are only text in a text.
_USUAL = re.compile(">>.+<<|</?s>|<(pad|unk|mask|cls|sep|bos|eos)>")
_TOKEN = (str, {"content": str})
_CONFIG = {
    "separate_vocabs?": bool,
    "clean_up_tokenization_spaces?": (bool, None),
    "added_tokens_decoder?": {str: {"content": str}},
    "additional_special_tokens?": ([_TOKEN], None),
    "extra_special_tokens?": ([_TOKEN], {str: _TOKEN}, None),
    "sp_model_kwargs?": ({str: (bool, float, str)}, None),
    **{f"{name}?": _TOKEN for name in _SPECIAL},
}


def read_marian_vocabularies(directory):
    """Reads the vocabularies of a Marian model, a `Vocabularies`.

    They encode as transformers' `MarianTokenizer` does with
    `split_special_tokens=True`: `</s>` in a text is only text, so that no text
    ends a sentence. The tokenizer does not normalise punctuation, whether
    sacremoses is installed or not. Decoded text is the tokenizer's, without
    special tokens. Raises a `UserError` if a file is missing or damaged, or if
    the tokenizer has a feature that a vocabulary here lacks.
    """
    config_path = os.path.join(directory, CONFIG_FILE)
    config = reading.read_record(config_path, _CONFIG, _REMEDY)
    _check_features(config, config_path)
    tables = [TABLE_FILE, TABLE_FILE]
    if config.get("separate_vocabs"):
        tables[0] = TARGET_TABLE_FILE
    targets, sources = (
        subwords.Subwords.from_bytes(
            _convert(
                os.path.join(directory, model),
                os.path.join(directory, table),
                bool(config.get("clean_up_tokenization_spaces")),
            ),
            os.path.join(directory, model),
        )
        for model, table in zip((TARGET_MODEL_FILE, SOURCE_MODEL_FILE), tables)
    )
    if sources.model_bytes == targets.model_bytes:
        return Vocabularies(targets, targets)
    return Vocabularies(sources, targets)


def _check_features(config, path):
    """Refuses features that would give other ids or other text."""
    for name, expected in _SPECIAL.items():
        token = _get_text(config.get(name, expected))
        if token != expected:
            fault = f"where `{name}` is {token!r} instead of {expected!r}"
            raise unsupported(path, fault)
    extra = config.get("extra_special_tokens") or []
    extra = extra.values() if isinstance(extra, dict) else extra
    added = [
        *config.get("added_tokens_decoder", {}).values(),
        *(config.get("additional_special_tokens") or []),
        *extra,
    ]
    for text in map(_get_text, added):
        if not _USUAL.fullmatch(text):
            fault = f"which adds the token {text!r:.60} to the table"
            raise unsupported(path, fault)
    if config.get("sp_model_kwargs"):
        raise unsupported(path, "which has `sp_model_kwargs`")


def _get_text(token):
    return token["content"] if isinstance(token, dict) else token


def _convert(model_path, table_path, cleans_up):
    """Returns the contents of a vocabulary file with the ids of a table."""
    # Imported here because little else needs protobuf.
    from google.protobuf import message
    from sentencepiece import sentencepiece_model_pb2

    texts, table = _read_table(table_path)
    model = sentencepiece_model_pb2.ModelProto()
    try:
        model.ParseFromString(read_bytes(model_path, _REMEDY))
        is_whole = model.pieces and model.HasField("normalizer_spec")
    except message.DecodeError:  # the parts before the fault are there
        is_whole = False
    if not is_whole:
        fault = "which is not a SentencePiece model"
        raise file_error(model_path, fault, _REMEDY)
    known = {piece.piece: piece for piece in model.pieces}
    _check_merges(model, texts, known, model_path)
    kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
    converted = sentencepiece_model_pb2.ModelProto()
    converted.CopyFrom(model)
    del converted.pieces[:]
    for text in _SPECIAL.values():
        kind = kinds.UNKNOWN if text == "<unk>" else kinds.CONTROL
        # SentencePiece ignores the scores of these pieces, so they hold ids.
        converted.pieces.add(piece=text, score=table[text], type=kind)
    for text in texts:
        if text not in known or known[text].type == kinds.UNKNOWN:
            # The piece is decoded, but no text is cut into it.
            converted.pieces.add(piece=text, score=0.0, type=kinds.UNUSED)
        else:
            converted.pieces.append(known[text])
    for text in [subwords.MARIAN, *[subwords.CLEAN_UP] * cleans_up]:
        converted.pieces.add(piece=text, score=0.0, type=kinds.CONTROL)
    converted.pieces.extend(
        piece
        for text, piece in known.items()
        if text not in table
        and piece.type not in (kinds.UNKNOWN, kinds.CONTROL)
    )
    spec = converted.trainer_spec
    spec.vocab_size = len(converted.pieces)
    spec.pad_id, spec.eos_id, spec.unk_id = PAD_ID, END_ID, UNKNOWN_ID
    spec.bos_id = -1
    for name, text in _SPECIAL.items():
        setattr(spec, name.replace("token", "piece"), text)
    return converted.SerializeToString(deterministic=True)


def _read_table(path):
    """Returns the ordinary pieces of a table in order, and the table."""
    table = reading.read_record(path, {str: reading.WHOLE}, _REMEDY)
    if sorted(table.values()) != list(range(len(table))):
        raise file_error(path, "whose ids do not count up from 0", _REMEDY)
    for text in _SPECIAL.values():
        if text not in table:
            raise file_error(path, f"which lacks {text}", _REMEDY)
    if len(max(table, key=len)) > MAX_PIECE:
        fault = f"which has a piece of more than {MAX_PIECE:,} characters"
        raise file_error(path, fault, _REMEDY)
    for text in ("", subwords.MARIAN, subwords.CLEAN_UP):
        if text in table:
            raise unsupported(path, f"which has the piece {text!r}")
    pieces = sorted(set(table) - set(_SPECIAL.values()), key=table.get)
    return pieces, table


def _check_merges(model, texts, known, path):
    """Refuses pieces of the table that would change a byte-pair encoding."""
    # A merge that the SentencePiece model does not know could lead to another
    # one. The models of Marian are unigram models, which have no merges.
    if model.trainer_spec.model_type != model.trainer_spec.BPE:
        return
    every = {*texts, *known}
    sizes = set(map(len, every))
    for text in texts:
        if text in known:
            continue
        cuts = (size for size in sizes if len(text) - size in sizes)
        if any(text[:cut] in every and text[cut:] in every for cut in cuts):
            raise file_error(
                path,
                f"which is a byte-pair encoding without {text!r} of the table",
                "Only a unigram model can have fewer pieces than the table.",
            )


def write_marian_vocabularies(
    vocabularies, directory, languages, separate_vocabs=False
):
    """Writes vocabularies as the files of a Marian model.

    The `Vocabularies` belong to a run, imported or trained here, and the
    directory exists. `languages` are the codes of the sources and of the
    targets. With `separate_vocabs` each side has a table of its own; a common
    one needs the same pieces on both sides.
    """
    sources, targets = vocabularies
    if not (separate_vocabs or vocabularies.have_same_pieces):
        raise UserError(
            "One table of ids needs the same pieces on both sides. Received: "
            f"a source with {sources.vocab_size:,} pieces and a target with "
            f"{targets.vocab_size:,}, not all the same. Write a table of each "
            "side."
        )
    target_table = TARGET_TABLE_FILE if separate_vocabs else TABLE_FILE
    for vocabulary, model_file, table_file in (
        (sources, SOURCE_MODEL_FILE, TABLE_FILE),
        (targets, TARGET_MODEL_FILE, target_table),
    ):
        path = os.path.join(directory, model_file)
        writing.write_file(path, vocabulary.model_bytes)
        ids = vocabulary.original_ids.tolist()
        pieces = dict(zip(ids, vocabulary.all_pieces()))
        table = {pieces[id_]: id_ for id_ in range(len(ids))}
        path = os.path.join(directory, table_file)
        writing.write_record(path, table, ensure_ascii=False)
    config = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": languages[0],
        "target_lang": languages[1],
        "separate_vocabs": separate_vocabs,
        "clean_up_tokenization_spaces": targets.cleans_up,
        "model_max_length": 512,
        **_SPECIAL,
    }
    path = os.path.join(directory, CONFIG_FILE)
    writing.write_record(path, config, ensure_ascii=False)
