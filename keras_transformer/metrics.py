"""Accuracy and perplexity of real target tokens, padding left out."""

import keras
from keras import ops

from keras_transformer.losses import smoothed_cross_entropy
from keras_transformer.masks import padding_mask
from keras_transformer.serialization import serializable


def token_sums(targets, logits):
    """Adds up what perplexity and accuracy are made of.

    Args:
        targets: integer ids of shape `(batch, length)`, 0 where padded.
        logits: tensor of shape `(batch, length, vocab_size)`.

    Returns:
        three float32 scalars: the sum of negative log-probabilities (natural
        logarithm, no label smoothing), the number of tokens predicted right,
        and the number of tokens.
    """
    real = ops.cast(padding_mask(targets), "float32")
    losses = smoothed_cross_entropy(targets, logits)
    predicted = ops.cast(ops.argmax(logits, axis=-1), "int32")
    right = ops.cast(
        ops.equal(predicted, ops.cast(targets, "int32")), "float32"
    )
    return ops.sum(losses * real), ops.sum(right * real), ops.sum(real)


class _TokenMean(keras.metrics.Metric):
    """Divides a sum over real tokens by their number, over all batches."""

    def __init__(self, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), "zeros", name="total")
        self.num_tokens = self.add_variable((), "zeros", name="num_tokens")

    def update_state(self, y_true, y_pred, sample_weight=None):
        negative_log, right, num_tokens = token_sums(y_true, y_pred)
        total = self.choose(negative_log, right)
        self.total.assign_add(total)
        self.num_tokens.assign_add(num_tokens)

    def mean(self):
        return self.total / ops.maximum(self.num_tokens, 1.0)


@serializable
class MaskedAccuracy(_TokenMean):
    """Share of real target tokens whose logit is the greatest.

    Args:
        name: name in logs.

    Call arguments:
        y_true: integer ids of shape `(batch, length)`, 0 where padded.
        y_pred: logits of shape `(batch, length, vocab_size)`.
    """

    def __init__(self, name="accuracy", dtype=None):
        super().__init__(name, dtype)

    def choose(self, negative_log, right):
        return right

    def result(self):
        return self.mean()


@serializable
class Perplexity(_TokenMean):
    """Perplexity per real target token, without label smoothing.

    Args:
        name: name in logs.

    Call arguments:
        y_true: integer ids of shape `(batch, length)`, 0 where padded.
        y_pred: logits of shape `(batch, length, vocab_size)`.
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name, dtype)

    def choose(self, negative_log, right):
        return negative_log

    def result(self):
        return ops.exp(self.mean())
