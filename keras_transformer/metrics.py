"""Accuracy and perplexity of real target tokens."""

import keras
from keras import ops

from keras_transformer.losses import smoothed_cross_entropy
from keras_transformer.losses.cross_entropy import token_weights
from keras_transformer.masks import padding_mask
from keras_transformer.serialization import serializable


def compute_token_sums(targets, logits, weights=None):
    """Computes the sums from which perplexity and accuracy follow.

    Args:
        targets: Integer ids of shape `(batch, length)`, padded with 0.
        logits: Tensor of shape `(batch, length, vocab_size)`.
        weights: Tensor that broadcasts to `(batch, length)`, how much each
            token counts. Defaults to None, which counts each once.

    Returns:
        Three float32 scalars: the sum of negative log-probabilities (natural
        logarithm, no label smoothing), the number of correctly predicted
        tokens, and the number of tokens.
    """
    real = ops.cast(padding_mask(targets), "float32")
    if weights is not None:
        real = real * ops.cast(weights, "float32")
    losses = smoothed_cross_entropy(targets, logits)
    predicted = ops.cast(ops.argmax(logits, axis=-1), "int32")
    correct = ops.cast(
        ops.equal(predicted, ops.cast(targets, "int32")), "float32"
    )
    return ops.sum(losses * real), ops.sum(correct * real), ops.sum(real)


class _TokenMean(keras.metrics.Metric):
    """Divides one of the `compute_token_sums` by the number of real tokens."""

    summed: int  # which of the sums

    def __init__(self, name, dtype):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), "zeros", dtype, name="total")
        self.num_tokens = self.add_variable(
            (), "zeros", dtype, name="num_tokens"
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        weights = token_weights(sample_weight)
        *sums, num_tokens = compute_token_sums(y_true, y_pred, weights)
        total = sums[self.summed]
        self.total.assign_add(ops.cast(total, self.total.dtype))
        self.num_tokens.assign_add(ops.cast(num_tokens, self.total.dtype))

    def result(self):
        # A mean of batch means would weigh tokens of small batches more.
        return ops.divide_no_nan(self.total, self.num_tokens)


@serializable
class MaskedAccuracy(_TokenMean):
    """Computes the share of real target tokens whose logit is the largest.

    Args:
        name: Name of the metric in logs. Defaults to "accuracy".
        dtype: Data type of the sums. Defaults to "float32".

    Call arguments:
        y_true: Integer ids of shape `(batch, length)`, padded with 0.
        y_pred: Logits of shape `(batch, length, vocab_size)`.
        sample_weight: Weights of sentences, of shape `(batch,)`, or of tokens,
            of shape `(batch, length)`. Defaults to None.
    """

    summed = 1

    def __init__(self, name="accuracy", dtype="float32"):
        super().__init__(name, dtype)


@serializable
class Perplexity(_TokenMean):
    """Computes the perplexity per real target token.

    It ignores label smoothing. The arguments are as in `MaskedAccuracy`, but
    the name defaults to "perplexity".
    """

    summed = 0

    def __init__(self, name="perplexity", dtype="float32"):
        super().__init__(name, dtype)

    def result(self):
        return ops.exp(super().result())
