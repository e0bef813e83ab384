"""Text to ids and back inside a graph of TensorFlow."""

import tensorflow as tf
import tensorflow_text

from keras_transformer.decoding import exported
from keras_transformer.token_ids import END_ID

# The characters that `str.isspace` accepts, in the syntax of RE2.
_BLANK = (
    r"[\x09-\x0d\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]*"
)


def new_tokenizer(vocabulary):
    """Returns a tokenizer of tensorflow-text for a `Subwords`."""
    # TensorFlow shares a tokenizer among all signatures by the name of its
    # node, so each vocabulary needs a name of its own.
    with tf.name_scope(f"vocabulary_{vocabulary.sha256[:16]}"):
        # With the end id at the end, as `Subwords.encode` returns ids.
        return tensorflow_text.SentencepieceTokenizer(
            vocabulary.model_bytes, add_eos=True
        )


def tokenize(tokenizer, text):
    """Returns the ids of texts, and which of them are blank.

    Args:
        tokenizer: What `new_tokenizer` returned.
        text: Strings of shape `(batch,)`, which must be UTF-8.

    Returns:
        Ragged int32 tensor of shape `(batch, length)` with the end ids, and a
        boolean tensor of shape `(batch,)`.
    """
    # ICU replaces invalid bytes by U+FFFD and changes nothing else.
    legible = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
    is_legible = assert_all(tf.equal(text, legible), exported.NOT_UTF8)
    with tf.control_dependencies([is_legible]):
        blank = tf.strings.regex_full_match(text, _BLANK)
        ids = tokenizer.tokenize(tf.where(blank, "", text))
    return ids.with_row_splits_dtype(tf.int32), blank


def term_ids(tokenizer, terms):
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
