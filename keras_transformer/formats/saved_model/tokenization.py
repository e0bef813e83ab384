"""Text to ids and back in a TensorFlow graph."""

import re
import sys

import numpy as np
import tensorflow as tf

from keras_transformer.data.vocabulary import imported_text
from keras_transformer.formats import exported
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import UNKNOWN_ID

# The characters that `str.isspace` accepts, in the syntax of RE2.
_SPACES = (
    r"[\x09-\x0d\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]*"
)


def make_tokenizer(vocabulary):
    """Returns an object that tokenizes and detokenizes like a `Subwords`."""
    # TensorFlow shares a tokenizer among all signatures by the name of its
    # node, so each vocabulary needs a different name.
    with tf.name_scope(f"vocabulary_{vocabulary.sha256[:16]}"):
        if vocabulary.is_marian:
            return _MarianTokenizer(vocabulary)
        if vocabulary.is_tensor2tensor:
            return _Tensor2TensorTokenizer(vocabulary)
        # With the end id at the end, as `Subwords.encode` returns ids.
        return _make_sentencepiece(vocabulary, add_eos=True)


def _make_sentencepiece(vocabulary, **options):
    # Imported here because an export of ids needs no tensorflow-text.
    import tensorflow_text

    return tensorflow_text.SentencepieceTokenizer(
        vocabulary.model_bytes, **options
    )


class _MarianTokenizer:
    """Tokenizes as a `Subwords` of Marian; see `Subwords.encode`."""

    def __init__(self, vocabulary):
        self._vocabulary = vocabulary
        self._pieces = _make_sentencepiece(vocabulary, out_type=tf.string)

    def tokenize(self, text):
        # A group that matches nothing is empty.
        code, rest = (
            tf.strings.regex_replace(
                text, r"(?s)^(>>.*?<<)?(.*)$", part, replace_global=False
            )
            for part in (r"\1", r"\2")
        )
        has_code = tf.not_equal(code, "")
        codes = tf.RaggedTensor.from_row_lengths(
            tf.boolean_mask(code, has_code), tf.cast(has_code, tf.int64)
        )
        ends = tf.fill([tf.size(text), 1], self._vocabulary.pieces([END_ID])[0])
        pieces = tf.concat([codes, self._pieces.tokenize(rest), ends], axis=1)
        ids = self._pieces.string_to_id(pieces.flat_values)
        is_known = ids < self._vocabulary.vocab_size
        return pieces.with_flat_values(tf.where(is_known, ids, UNKNOWN_ID))

    def detokenize(self, ids):
        ids = tf.ragged.boolean_mask(ids, tf.not_equal(ids, UNKNOWN_ID))
        texts = self._pieces.detokenize(ids)
        # The same as `str.strip`.
        for end in ("^" + _SPACES, _SPACES + "$"):
            texts = tf.strings.regex_replace(texts, end, "")
        if self._vocabulary.cleans_up:
            for old, new in imported_text.CLEANED.items():
                texts = tf.strings.regex_replace(texts, re.escape(old), new)
        return texts


class _Tensor2TensorTokenizer:
    """Tokenizes as a `Subwords` of Tensor2Tensor; see `imported_text`.

    The graph spells texts in one flat tensor of all characters of a batch.
    """

    def __init__(self, vocabulary):
        self._pieces = _make_sentencepiece(vocabulary, add_eos=True)
        self._word_bounds = _find_bounds(imported_text.is_alphanumeric)
        self._known_bounds = _find_bounds(
            lambda character: character in vocabulary.alphabet - {"\n"}
        )

    def tokenize(self, text):
        codes = tf.strings.unicode_decode(text, "UTF-8")
        is_word = self._is_word(codes.values)
        has_previous, has_next = _find_neighbours(codes.value_rowids())
        joins_previous = has_previous & tf.equal(
            is_word, tf.roll(is_word, 1, 0)
        )
        joins_next = has_next & tf.equal(is_word, tf.roll(is_word, -1, 0))
        # A single space between two words is implied.
        is_implied = (
            tf.equal(codes.values, ord(" "))
            & (has_previous & ~joins_previous)
            & (has_next & ~joins_next)
        )
        ends = tf.where(joins_next, "", "_")
        spelled = tf.where(is_implied, "", self._spell(codes.values) + ends)
        spellings = tf.strings.reduce_join(codes.with_values(spelled), axis=1)
        return self._pieces.tokenize(spellings)

    def _spell(self, codes):
        """Returns the spellings of characters, strings `(count,)`."""
        characters = tf.strings.unicode_encode(codes[:, None], "UTF-8")
        escapes = "\\" + tf.strings.as_string(codes) + ";"
        is_known = _is_inside(self._known_bounds, codes)
        spelled = tf.where(is_known, characters, escapes)
        for character, escape in imported_text.ESCAPES.items():
            spelled = tf.where(tf.equal(characters, character), escape, spelled)
        return spelled

    def detokenize(self, ids):
        ids = tf.ragged.boolean_mask(ids, tf.not_equal(ids, UNKNOWN_ID))
        pieces = self._pieces.id_to_string(ids.flat_values)
        pieces = tf.strings.regex_replace(pieces, imported_text.BLANK, "")
        spellings = tf.strings.reduce_join(ids.with_flat_values(pieces), axis=1)
        tokens = tf.strings.split(spellings, "_")
        tokens = tokens.with_values(_read_escapes(tokens.values))
        tokens = tf.ragged.boolean_mask(tokens, tf.not_equal(tokens, ""))
        first = tf.strings.unicode_decode(tokens.values, "UTF-8")[:, :1].values
        is_word = self._is_word(first)
        has_previous, _ = _find_neighbours(tokens.value_rowids())
        is_apart = has_previous & is_word & tf.roll(is_word, 1, 0)
        spaced = tf.where(is_apart, " ", "") + tokens.values
        return tf.strings.reduce_join(tokens.with_values(spaced), axis=1)

    def _is_word(self, codes):
        return _is_inside(self._word_bounds, codes)


def _find_bounds(is_member):
    """Returns the places where runs of members begin and end, alternately."""
    members = [is_member(chr(code)) for code in range(sys.maxunicode + 1)]
    padded = np.pad(np.array(members, "int8"), 1)
    return np.flatnonzero(np.diff(padded)).astype("int32")


def _is_inside(bounds, codes):
    places = tf.searchsorted(bounds, codes, side="right")
    return tf.equal(places % 2, 1)


def _find_neighbours(rows):
    """Returns which values have a neighbour before, and after, in a row."""
    places = tf.range(tf.size(rows))
    has_previous = (places > 0) & tf.equal(rows, tf.roll(rows, 1, 0))
    has_next = (places < tf.size(rows) - 1) & tf.equal(
        rows, tf.roll(rows, -1, 0)
    )
    return has_previous, has_next


def _read_escapes(tokens):
    """Returns tokens, which have no `_`, without escapes, `(count,)`."""
    parts = tf.strings.split(
        tf.strings.regex_replace(tokens, r"\\(\\|u|[0-9]+;)", r"_\0_"), "_"
    )
    texts = parts.values
    is_number = tf.strings.regex_full_match(texts, r"\\[0-9]+;")
    digits = tf.strings.regex_replace(texts, r"^\\0*([0-9]+);$", r"\1")
    is_short = is_number & (tf.strings.length(digits) < 8)
    numbers = tf.strings.to_number(tf.where(is_short, digits, "0"), tf.int32)
    is_character = is_short & (numbers <= sys.maxunicode)
    is_character &= (numbers < 0xD800) | (numbers >= 0xE000)
    codes = tf.where(is_character, numbers, ord(imported_text.NO_CHARACTER))
    characters = tf.strings.unicode_encode(codes[:, None], "UTF-8")
    for character, escape in imported_text.ESCAPES.items():
        texts = tf.where(tf.equal(texts, escape), character, texts)
    texts = tf.where(is_number, characters, texts)
    return tf.strings.reduce_join(parts.with_values(texts), axis=1)


def tokenize(tokenizer, text):
    """Returns the ids of texts, and which of them are blank.

    Strings `(batch,)`, which must be UTF-8, become a ragged int32 tensor
    `(batch, length)` with the end ids, and a boolean tensor `(batch,)`.
    """
    # ICU replaces invalid bytes by U+FFFD and changes nothing else.
    legible = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
    is_legible = assert_all(tf.equal(text, legible), exported.NOT_UTF8)
    with tf.control_dependencies([is_legible]):
        blank = tf.strings.regex_full_match(text, _SPACES)
        ids = tokenizer.tokenize(tf.where(blank, "", text))
    ids = ids.with_row_splits_dtype(tf.int32)
    # Normalisation may leave only the end of a text of invisible marks.
    return ids, blank | tf.less(ids.row_lengths(), 2)


def encode_terms(tokenizer, terms):
    """Returns the ids of `terms`, int32 `(batch, num_terms, term_len)`."""
    # A search needs at least one term, even if it is empty.
    terms = tf.pad(terms, [[0, 0], [0, 1]])
    ids, _ = tokenize(tokenizer, tf.reshape(terms, [-1]))
    ids = tf.ragged.boolean_mask(ids, ids > END_ID).to_tensor()
    ids = tf.pad(ids, [[0, 0], [0, 1]])  # an empty term has no id
    shape = tf.shape(terms)
    return tf.reshape(ids, [shape[0], shape[1], tf.shape(ids)[1]])


def decode(tokenizer, sequences):
    """Returns the texts of `sequences`, strings `(batch, num_hypotheses)`."""
    shape = tf.shape(sequences)
    # (batch * num_hypotheses, length)
    flat = tf.reshape(sequences, [-1, shape[2]])
    # Padding and the end have the smallest ids.
    ids = tf.ragged.boolean_mask(flat, flat > END_ID)
    texts = tokenizer.detokenize(ids)
    # A model can spell a line feed in bytes, but a translation is one line.
    texts = tf.strings.regex_replace(texts, "\n", " ")
    return tf.reshape(texts, shape[:2])  # (batch, num_hypotheses)


def assert_all(holds, message):
    """Returns an operation that fails with a message unless all values hold."""
    return tf.debugging.Assert(tf.reduce_all(holds), [message])
