"""Accuracy and perplexity of real target tokens."""

import keras
from keras import ops

from keras_transformer.losses import smoothed_cross_entropy
from keras_transformer.masks import padding_mask
from keras_transformer.serialization import serializable


def token_sums(targets, logits):
    """Computes the sums from which perplexity and accuracy follow.

    Args:
        targets: Integer ids of shape `(batch, length)`, padded with 0.
        logits: Tensor of shape `(batch, length, vocab_size)`.

    Returns:
        Three float32 scalars: the sum of negative log-probabilities (natural
        logarithm, no label smoothing), the number of correctly predicted
        tokens, and the number of tokens.
    """
    real = ops.cast(padding_mask(targets), "float32")
    losses = smoothed_cross_entropy(targets, logits)
    predicted = ops.cast(ops.argmax(logits, axis=-1), "int32")
    correct = ops.cast(
        ops.equal(predicted, ops.cast(targets, "int32")), "float32"
    )
    return ops.sum(losses * real), ops.sum(correct * real), ops.sum(real)


class _TokenMean(keras.metrics.Metric):
    """Divides a sum over the real tokens of all batches by their number.

    Subclasses choose the sum.
    """

    def __init__(self, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), "zeros", name="total")
        self.num_tokens = self.add_variable((), "zeros", name="num_tokens")

    def update_state(self, y_true, y_pred, sample_weight=None):
        negative_log, correct, num_tokens = token_sums(y_true, y_pred)
        total = self.choose(negative_log, correct)
        self.total.assign_add(total)
        self.num_tokens.assign_add(num_tokens)

    def mean(self):
        # A mean of batch means would weigh tokens of small batches more.
        return self.total / ops.maximum(self.num_tokens, 1.0)


@serializable
class MaskedAccuracy(_TokenMean):
    """Computes the share of real target tokens whose logit is the greatest.

    Args:
        name: Name of the metric in logs. Defaults to "accuracy".
        dtype: Data type of the sums. Defaults to Keras' float type.

    Call arguments:
        y_true: Integer ids of shape `(batch, length)`, padded with 0.
        y_pred: Logits of shape `(batch, length, vocab_size)`.
    """

    def __init__(self, name="accuracy", dtype=None):
        super().__init__(name, dtype)

    def choose(self, negative_log, correct):
        return correct

    def result(self):
        return self.mean()


@serializable
class Perplexity(_TokenMean):
    """Computes the perplexity per real target token.

    The probabilities are those of the targets, without label smoothing.

    Args:
        name: Name of the metric in logs. Defaults to "perplexity".
        dtype: Data type of the sums. Defaults to Keras' float type.

    Call arguments:
        y_true: Integer ids of shape `(batch, length)`, padded with 0.
        y_pred: Logits of shape `(batch, length, vocab_size)`.
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name, dtype)

    def choose(self, negative_log, correct):
        return negative_log

    def result(self):
        return ops.exp(self.mean())
