"""Subwords: text to token ids and back, by SentencePiece."""

import functools
import hashlib
import io
import re
import tempfile

import numpy as np
import sentencepiece

from keras_transformer.data.text import normalization
from keras_transformer.data.vocabulary import imported_text
from keras_transformer.errors import UserError
from keras_transformer.errors import check_is_list
from keras_transformer.files.reading import read_bytes
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import FIRST_BYTE
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import PAD_ID
from keras_transformer.token_ids import UNKNOWN_ID
from keras_transformer.token_ids import VOCABULARY_TYPES
from keras_transformer.token_ids import WORD_START

VOCABULARY_FILE = "vocab.model"  # of both sides, or only of the target
SOURCE_VOCABULARY_FILE = "vocab.source.model"  # of the source, if separate
# The piece after the ids of a vocabulary that comes from Marian's files, and
# the next one if the decoded text is cleaned up; see
# `formats.marian.vocabulary_files`.
MARIAN = "<marian>"
CLEAN_UP = "<clean_up>"
# The piece after the ids of a vocabulary of Tensor2Tensor; see
# `formats.tensor2tensor.vocabulary`.
TENSOR2TENSOR = "<tensor2tensor>"
# SentencePiece's names of the types in `VOCABULARY_TYPES`.
_MODEL_TYPES = dict(zip(VOCABULARY_TYPES, ("bpe", "char", "word")))


class Subwords:
    """Converts text to ids of subwords and back.

    Padding has id 0 and the end of a sentence has id 1. Every text can be
    encoded: a character that the vocabulary lacks becomes bytes, so the unknown
    id 2 never occurs. Decoding restores the text as `normalization.normalize`
    writes it, with three exceptions. Runs of spaces become one space, leading
    and trailing spaces disappear, and `▁`, which SentencePiece itself uses,
    becomes a space. A vocabulary may instead leave the text as it is, as in
    earlier versions. In a vocabulary of characters or words, whatever else
    occurs is unknown, and decoding leaves it out. A vocabulary of given symbols
    differs, see `bpe_symbols.write_symbols`, and so do the vocabularies of
    Marian and Tensor2Tensor; see `formats.marian.vocabulary_files` and
    `formats.tensor2tensor.vocabulary`.

    `model_path` leads to a SentencePiece model with these ids, such as
    `train_subwords` writes. Raises a `UserError` for any other file, and for
    one whose SHA-256, in hexadecimal, is not `sha256`, if that is given.

    Attributes:
        vocab_size: Number of ids.
        is_marian: Whether it comes from the files of a Marian model.
        is_tensor2tensor: Whether it is one of Tensor2Tensor.
        is_imported: Whether ids of a text need more than SentencePiece.
        cleans_up: Whether `decode` drops the spaces before punctuation.
        has_bytes: Whether a character that it lacks becomes bytes.
    """

    def __init__(self, model_path, sha256=None):
        remedy = "Restore the file from a copy, or name another file."
        content = read_bytes(model_path, remedy)
        actual = hashlib.sha256(content).hexdigest()
        # With another vocabulary a model would silently write nonsense.
        if sha256 not in (None, actual):
            raise UserError(
                f"{model_path} is not the vocabulary of its model or its data: "
                f"its SHA-256 is {actual} instead of {sha256}. Restore the "
                "file from a copy, or write its directory again."
            )
        self._load(content, model_path)

    @classmethod
    def from_bytes(cls, model_bytes, origin="model_bytes"):
        """Returns the vocabulary that the contents of a model file define."""
        subwords = cls.__new__(cls)
        subwords._load(model_bytes, origin)
        return subwords

    def _load(self, model_bytes, origin):
        self.model_bytes = model_bytes
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model_bytes)
            self._find_marks()
            # A damaged model may have pieces that are not text.
            self.all_pieces()
        # The message of SentencePiece may not be text either.
        except (RuntimeError, UnicodeDecodeError) as error:
            raise UserError(
                f"SentencePiece cannot read {origin} as a vocabulary. Name "
                "another file."
            ) from error
        processor = self._processor
        ids = processor.pad_id(), processor.eos_id(), processor.unk_id()
        if ids != (PAD_ID, END_ID, UNKNOWN_ID):
            raise UserError(
                f"A vocabulary must have the ids pad={PAD_ID}, end={END_ID}, "
                f"unknown={UNKNOWN_ID}. Received: {origin} with pad={ids[0]}, "
                f"end={ids[1]}, unknown={ids[2]}. Train it with "
                f"--pad_id={PAD_ID} --eos_id={END_ID} --unk_id={UNKNOWN_ID} "
                "--bos_id=-1."
            )

    def _find_marks(self):
        processor = self._processor
        pieces = (MARIAN, TENSOR2TENSOR, CLEAN_UP, FIRST_BYTE)
        ids = {piece: processor.piece_to_id(piece) for piece in pieces}
        marks = {piece for piece, id_ in ids.items() if id_ != UNKNOWN_ID}
        self.is_marian = MARIAN in marks
        self.is_tensor2tensor = TENSOR2TENSOR in marks
        self.is_imported = self.is_marian or self.is_tensor2tensor
        self.cleans_up = CLEAN_UP in marks
        self.has_bytes = FIRST_BYTE in marks
        ends = [ids[mark] for mark in (MARIAN, TENSOR2TENSOR) if mark in marks]
        self.vocab_size = ends[0] if ends else processor.get_piece_size()

    @functools.cached_property
    def alphabet(self):
        """The characters that a vocabulary of Tensor2Tensor need not escape."""
        pieces = self.all_pieces()[FIRST_SYMBOL_ID:]
        # The reserved pieces of its file count, too.
        return imported_text.ESCAPE_CHARACTERS.union("<pad>", "<EOS>", *pieces)

    @property
    def original_ids(self):
        """The id of each piece in Marian's table, int64 `(vocab_size,)`.

        The table of a vocabulary that is not one of Marian has padding last,
        as other tools expect it, and the other pieces in our order before it.
        """
        ids = np.arange(self.vocab_size)
        if not self.is_marian:
            return np.roll(ids, 1)
        first = [int(self._processor.get_score(id_)) for id_ in range(3)]
        return np.concatenate([first, np.delete(ids, first)])

    @property
    def language_codes(self):
        """The list of languages that a Marian model can translate into.

        A source asks for one by its code, `>>fra<<` for `fra`.
        """
        if not self.is_marian:
            return []
        return imported_text.find_languages(self.all_pieces())

    @functools.cached_property
    def starts_word(self):
        """Whether the piece of each id starts a word, `(vocab_size,)`."""
        pieces = self.all_pieces()
        return np.array([piece.startswith(WORD_START) for piece in pieces])

    @functools.cached_property
    def has_capitals(self):
        """Whether any piece consists of capitals."""
        pieces = [piece.lstrip(WORD_START) for piece in self.all_pieces()]
        return any(piece.isalpha() and piece.isupper() for piece in pieces)

    @functools.cached_property
    def has_words(self):
        """Whether any piece has a letter, unlike the digits of sums."""
        pieces = self.all_pieces()[FIRST_SYMBOL_ID:]
        return any(map(str.isalpha, "".join(pieces)))

    @functools.cached_property
    def normalizes_text(self):
        """Whether encoding replaces special spaces, as a normalisation does."""
        return self._processor.normalize("\u00a0a") == WORD_START + "a"

    @functools.cached_property
    def has_characters(self):
        """Whether each id is a character, as in a vocabulary of this type."""
        spec = self.parse_model().trainer_spec
        return spec.model_type == spec.CHAR

    def find_missing(self, texts):
        """Returns the characters of texts that no piece has, a sorted list."""
        pieces = set().union(*self.all_pieces())
        characters = "".join(sorted(set().union(*texts)))
        normal = self._processor.normalize(characters)
        return sorted(set(normal) - pieces - {WORD_START, " "})

    def find_unknown(self, text):
        """Returns the start and the end of each part of a text without ids."""
        content, spans = text.encode(), []
        for piece in self._processor.encode(text, return_type="proto").pieces:
            id_ = self._processor.piece_to_id(piece.piece)
            if id_ == UNKNOWN_ID or id_ >= self.vocab_size:
                places = content[: piece.begin], content[: piece.end]
                spans.append(tuple(len(place.decode()) for place in places))
        return spans

    def parse_model(self):
        """Returns the model of SentencePiece, a message of protobuf."""
        # Imported here because few commands need protobuf.
        from sentencepiece import sentencepiece_model_pb2

        return sentencepiece_model_pb2.ModelProto.FromString(self.model_bytes)

    @property
    def sha256(self):
        """SHA-256 of the model file, in hexadecimal."""
        return hashlib.sha256(self.model_bytes).hexdigest()

    def encode(self, texts):
        """Encodes texts on all cores; the lists of ids end with the end id."""
        check_is_list(texts)
        if self.is_marian:
            return self._encode_by_table(texts)
        if self.is_tensor2tensor:
            alphabet = self.alphabet
            texts = [imported_text.spell_text(t, alphabet) for t in texts]
        return self._processor.encode(list(texts), add_eos=True)

    def _encode_by_table(self, texts):
        """Encodes texts as transformers' `MarianTokenizer` does."""
        parts = [imported_text.split_language_code(t) for t in texts]
        # Characters that SentencePiece does not know become single pieces
        # here, and the table may have ids for them.
        rows = self._processor.encode([text for _, text in parts], out_type=str)
        size = self.vocab_size
        encoded = []
        for (code, _), pieces in zip(parts, rows):
            pieces = [code, *pieces] if code else pieces
            ids = self._processor.piece_to_id(pieces)
            # Pieces that the table lacks have the ids after it.
            ids = [id_ if id_ < size else UNKNOWN_ID for id_ in ids]
            encoded.append([*ids, END_ID])
        return encoded

    def decode(self, sequences):
        """Decodes sequences of ids up to their end ids, without padding.

        They are an integer array of shape `(batch, length)` or a list of lists.
        """
        sequences = [_ids_before_end(sequence) for sequence in sequences]
        if not sequences:
            # SentencePiece would take an empty list for one empty sequence.
            return []
        if not self.is_imported:
            return self._processor.decode(sequences)
        sequences = [
            [id_ for id_ in ids if id_ != UNKNOWN_ID] for ids in sequences
        ]
        if self.is_tensor2tensor:
            spellings = ["".join(self.pieces(ids)) for ids in sequences]
            return [imported_text.read_spelling(each) for each in spellings]
        texts = [text.strip() for text in self._processor.decode(sequences)]
        if self.cleans_up:
            texts = [imported_text.clean_up(text) for text in texts]
        return texts

    def pieces(self, ids):
        """Returns the text of each id; `▁` marks the start of a word."""
        return self._processor.id_to_piece([int(id_) for id_ in ids])

    def all_pieces(self):
        """Returns the text of every id, in the order of the ids."""
        return self.pieces(range(self.vocab_size))


def train_subwords(
    texts,
    vocab_size,
    model_path,
    symbols=(),
    user_symbols=(),
    normalize_text=True,
    vocabulary_type="subwords",
    character_coverage=None,
    size_name="vocab_size",
):
    """Trains a vocabulary on texts and writes it to a file.

    The `vocabulary_type` "subwords" is a byte-pair encoding. "characters" and
    "words" give an id to each character, or to whatever spaces separate, up to
    `vocab_size`. Each letter of a syllable of Hangul is a character; decoding
    joins them. Upper and lower case stay. With `normalize_text` the file holds
    the normalisation of `normalization.make_replacements`, which all readers
    apply. The same texts give the same file. `vocab_size`, which errors call
    `size_name`, includes 3 ids for padding, end and unknown, and 256 for bytes.

    Characters beyond the share `character_coverage` of the text, the rarest
    ones, get no id. Subwords spell them in bytes, and their default is 0.9999;
    elsewhere they are unknown, and the default is 1.

    `symbols` are words that get one id each, however often they occur; a longer
    word that begins with one of them begins with its id. `user_symbols` are
    that id wherever they occur, even inside a word; see `attributes`. Raises a
    `UserError` if `vocab_size` needs more text or is too small for characters.
    """
    texts, has_bytes = tuple(texts), vocabulary_type == "subwords"
    usual_coverage = 0.9999 if has_bytes else 1.0
    # The mark lets a symbol be recognised only where a word begins.
    marked_symbols = [WORD_START + word for word in symbols]
    options = {
        "model_type": _MODEL_TYPES[vocabulary_type],
        "byte_fallback": has_bytes,  # so any text can be encoded
        "hard_vocab_limit": has_bytes,
        "character_coverage": character_coverage or usual_coverage,
        "max_sentence_length": 1 << 16,  # bytes; longer ones are skipped
        "user_defined_symbols": [*marked_symbols, *user_symbols],
    }
    if not has_bytes:
        options["unk_surface"] = ""  # so decoding leaves it out
    with tempfile.TemporaryDirectory() as directory:
        options |= normalization.write_options(
            directory, texts, normalize_text, vocabulary_type == "characters"
        )
        try:
            model = train_model(texts, vocab_size, **options)
        except RuntimeError as error:
            message = str(error)
            if "too high" in message:
                # The error about too small a size comes at once.
                try:
                    train_model(texts, FIRST_SYMBOL_ID + 1, **options)
                except RuntimeError as other:
                    message += str(other)
            raise _vocab_size_error(size_name, vocab_size, message) from error
    return save(model, model_path)


def train_model(texts, vocab_size, **options):
    """Returns the bytes of a new SentencePiece model with our special ids."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=vocab_size,
        pad_id=PAD_ID,
        eos_id=END_ID,
        unk_id=UNKNOWN_ID,
        bos_id=-1,  # none: the decoder starts from a zero vector
        minloglevel=2,
        **options,
    )
    return normalization.drop_paths(model.getvalue())


def save(model_bytes, model_path):
    """Writes a model to a file, and returns its `Subwords`."""
    with open(model_path, "wb") as file:
        file.write(model_bytes)
    return Subwords.from_bytes(model_bytes)


def _ids_before_end(sequence):
    ids = [int(id_) for id_ in sequence]
    if END_ID in ids:
        ids = ids[: ids.index(END_ID)]
    return [id_ for id_ in ids if id_ != PAD_ID]


def _vocab_size_error(name, vocab_size, message):
    """Returns an error that explains SentencePiece's messages to the user."""
    # SentencePiece gives the limits only as text.
    most = re.search(r"too high.*<= (\d+)", message)
    least = re.search(r"required_chars\. \d+ vs (\d+)", message)
    if most or least:
        limits = [f"at most {most[1]}"] if most else []
        limits += [f"at least {least[1]}"] if least else []
        return UserError(
            f"`{name}` must leave room for bytes and characters, and not "
            "exceed what the training text supports. Received: "
            f"{name}={vocab_size}. Use {', '.join(limits)}."
        )
    report = " ".join(message.split()).rstrip(".")
    return UserError(
        f"SentencePiece cannot train a vocabulary of {vocab_size} on this "
        f"text: {report}. Use more text, or another {name}."
    )
