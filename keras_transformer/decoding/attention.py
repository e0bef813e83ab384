"""The attention weights of a model for a sentence and its translation."""

import typing

import numpy as np

from keras_transformer.decoding.arrays import padded
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import END_LABEL
from keras_transformer.token_ids import PAD_ID

START = "(start)"
BATCH_ROWS = 20  # sentences whose attention is in memory at once


class Attention(typing.NamedTuple):
    """All attention weights of one sentence and its translation.

    For every layer and head, an array has a row for each query, the position
    that attends, and a column for each key, the position that is attended to.
    Each row sums to 1.

    The queries of `decoder` and `cross` are the positions that predict the
    `target_tokens`. The decoder reads the targets shifted right by one, with a
    zero vector first, so the position that predicts a token has not seen it.
    The keys of `decoder` are therefore `decoder_keys`: "(start)" and then all
    target tokens except the last.
    """

    source_tokens: list  # of str, "(end)" last
    target_tokens: list  # of str, "(end)" last if the translation ended
    # The decoder may have another num_layers than the encoder.
    encoder: np.ndarray  # (num_layers, num_heads, source_len, source_len)
    decoder: np.ndarray  # (num_layers, num_heads, target_len, target_len)
    cross: np.ndarray  # (num_layers, num_heads, target_len, source_len)
    log_probs: np.ndarray = ()  # (target_len,), of the target tokens

    @property
    def decoder_keys(self):
        """Labels of what the decoder reads at each position, a list of str."""
        return [START, *self.target_tokens[:-1]]

    def of(self, kind):
        """Returns the labels of queries and keys, and the weights.

        Args:
            kind: "encoder", "decoder" or "cross".

        Returns:
            Two lists of str, and an array of shape
            `(num_layers, num_heads, query_len, key_len)`.
        """
        return {
            "encoder": (self.source_tokens, self.source_tokens, self.encoder),
            "decoder": (self.target_tokens, self.decoder_keys, self.decoder),
            "cross": (self.target_tokens, self.source_tokens, self.cross),
        }[kind]


def attention_of(
    model, vocabulary, source_ids, target_ids, source_vocabulary=None
):
    """Runs a model on a pair of sentences and returns its attention weights.

    The target is forced: the model predicts each token from the tokens before
    it, even where it would have chosen others.

    Args:
        model: A built `Transformer`.
        vocabulary: The `Subwords` of the targets.
        source_ids: List of ids with the end id. Padding is dropped.
        target_ids: List of ids with the end id. Padding is dropped.
        source_vocabulary: The `Subwords` of the sources. Defaults to None,
            which means `vocabulary`.

    Returns:
        An `Attention`.

    Raises:
        ValueError: If one of the two lists holds no token.
    """
    # Imported here because `Attention` is also read without Keras.
    from keras import ops

    pair = [_without_padding(ids) for ids in (source_ids, target_ids)]
    for name, ids in zip(("source_ids", "target_ids"), pair):
        if not ids:
            raise ValueError(
                f"`{name}` must hold a token. Received: an empty list. Encode "
                "the text with `Subwords.encode`, which adds the end id."
            )
    # One sentence at a time has no padding, so every weight is worth showing.
    inputs, targets = (np.array([ids], "int32") for ids in pair)
    logits, weights = model(
        {"inputs": inputs, "targets": targets},
        return_weights=True,
        training=False,
    )
    log_probs = ops.log_softmax(ops.cast(logits[0], "float32"))
    log_probs = ops.convert_to_numpy(log_probs)  # (target_len, vocab_size)
    arrays = {
        kind: np.stack([ops.convert_to_numpy(layer)[0] for layer in layers])
        for kind, layers in weights.items()
    }  # (num_layers, num_heads, query_len, key_len)
    vocabularies = source_vocabulary or vocabulary, vocabulary
    tokens = map(_labels, vocabularies, pair)
    chosen = log_probs[np.arange(len(pair[1])), pair[1]]  # (target_len,)
    return Attention(*tokens, **arrays, log_probs=chosen)


def encoder_attention(translator, texts):
    """Yields the attention of the encoder for each sentence.

    Args:
        translator: A `Translator`, or a `Parser` around one.
        texts: List of str.

    Yields:
        List of str, the tokens of the source, and an array of shape
        `(num_layers, num_heads, source_len, source_len)`.
    """
    from keras import ops

    if translator.linearization:
        texts = list(map(translator.spaced, texts))
        translator = translator.translator
    vocabulary = translator.source_vocabulary
    sources = vocabulary.encode(texts)
    for start in range(0, len(sources), BATCH_ROWS):
        batch = sources[start : start + BATCH_ROWS]
        # The encoder does not depend on the targets. There are two, because
        # Keras warns of a softmax over a single one.
        targets = np.full((len(batch), 2), END_ID, "int32")
        _, weights = translator.model(
            {"inputs": padded(batch), "targets": targets},
            return_weights=True,
            training=False,
        )
        layers = [ops.convert_to_numpy(layer) for layer in weights["encoder"]]
        for row, ids in enumerate(batch):
            size = len(ids)
            sentence = [layer[row, :, :size, :size] for layer in layers]
            yield _labels(vocabulary, ids), np.stack(sentence)


def _without_padding(ids):
    ids = [int(id_) for id_ in ids]
    while ids and ids[-1] == PAD_ID:
        ids.pop()
    return ids


def _labels(vocabulary, ids):
    return [
        END_LABEL if id_ == END_ID else piece
        for id_, piece in zip(ids, vocabulary.pieces(ids))
    ]
