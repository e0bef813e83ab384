"""Text to ids and back in a TensorFlow graph."""

import re

import tensorflow as tf
import tensorflow_text

from keras_transformer.data.subwords import CLEANED
from keras_transformer.decoding import exported
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import UNKNOWN_ID

# The characters that `str.isspace` accepts, in the syntax of RE2.
_SPACES = (
    r"[\x09-\x0d\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]*"
)


def make_tokenizer(vocabulary):
    """Returns what tokenizes as a `Subwords` does, and detokenizes."""
    # TensorFlow shares a tokenizer among all signatures by the name of its
    # node, so each vocabulary needs another name.
    with tf.name_scope(f"vocabulary_{vocabulary.sha256[:16]}"):
        if vocabulary.is_marian:
            return _MarianTokenizer(vocabulary)
        # With the end id at the end, as `Subwords.encode` returns ids.
        return tensorflow_text.SentencepieceTokenizer(
            vocabulary.model_bytes, add_eos=True
        )


class _MarianTokenizer:
    """Tokenizes as a `Subwords` of Marian; see `Subwords.encode`."""

    def __init__(self, vocabulary):
        self._vocabulary = vocabulary
        self._pieces = tensorflow_text.SentencepieceTokenizer(
            vocabulary.model_bytes, out_type=tf.string
        )

    def tokenize(self, text):
        # A group that takes part in no match is empty.
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
            for old, new in CLEANED.items():
                texts = tf.strings.regex_replace(texts, re.escape(old), new)
        return texts


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
    # Of a text of invisible marks, the normalisation may leave the end alone.
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
    # A model can spell a line feed in bytes, but a translation must remain one
    # line.
    texts = tf.strings.regex_replace(texts, "\n", " ")
    return tf.reshape(texts, shape[:2])  # (batch, num_hypotheses)


def assert_all(holds, message):
    """Returns an operation that fails with a message unless all values hold."""
    return tf.debugging.Assert(tf.reduce_all(holds), [message])
