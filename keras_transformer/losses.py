"""Label-smoothed cross-entropy over real target tokens."""

import keras
from keras import ops

from keras_transformer.masks import padding_mask


def smoothed_cross_entropy(targets, logits, label_smoothing=0.0):
    """Computes the loss of every position, padded ones included.

    Cross-entropy against `(1 - eps) onehot + eps / vocab_size`, section 5.4 of
    Vaswani et al. (2017); the smoothing is that of Szegedy et al. (2015).
    Tensor2Tensor spreads eps over the other tokens only and subtracts the
    entropy of the soft target, which changes no gradient by more than eps /
    vocab_size. In closed form, without a one-hot of the targets:
    `lse(z) - (1 - eps) z[target] - eps mean(z)`, with the gradient
    `softmax(z) - (1 - eps) onehot - eps / vocab_size`. Float32 throughout.

    Args:
        targets: integer ids of shape `(batch, length)`.
        logits: tensor of shape `(batch, length, vocab_size)`.
        label_smoothing: eps_ls.

    Returns:
        float32 tensor of shape `(batch, length)`.

    Example:

    >>> import numpy as np
    >>> loss = smoothed_cross_entropy(np.array([[1]]), np.zeros((1, 1, 8)))
    >>> round(float(loss[0, 0]), 4)  # log 8
    2.0794
    """
    vocab_size = logits.shape[-1]
    shape = ops.shape(targets)
    targets = ops.reshape(ops.cast(targets, "int32"), (-1,))
    rows = ops.reshape(logits, (-1, vocab_size))  # (batch x length, vocab)
    kept = 1.0 - label_smoothing
    spread = label_smoothing / vocab_size
    cells = ops.stack([ops.arange(ops.shape(targets)[0]), targets], axis=-1)

    @ops.custom_gradient
    def loss_of(rows):
        scores = ops.cast(rows, "float32")
        log_sum = ops.logsumexp(scores, axis=-1)
        gold = ops.take_along_axis(scores, targets[:, None], axis=-1)[:, 0]
        loss = log_sum - kept * gold
        if label_smoothing:
            loss = loss - label_smoothing * ops.mean(scores, axis=-1)

        def gradient(*args, upstream=None):
            factor = args[0] if upstream is None else upstream
            scores = ops.cast(rows, "float32")
            slopes = ops.exp(scores - log_sum[:, None]) - spread
            slopes = slopes * factor[:, None]
            at_gold = (ops.exp(gold - log_sum) - spread - kept) * factor
            slopes = ops.scatter_update(slopes, cells, at_gold)
            return ops.cast(slopes, rows.dtype)

        return loss, gradient

    return ops.reshape(loss_of(rows), shape)


@keras.saving.register_keras_serializable(package="keras_transformer")
class SmoothedCrossEntropy(keras.losses.Loss):
    """Mean label-smoothed cross-entropy of a batch's real target tokens.

    For `model.compile`; padding (id 0) counts nowhere, neither in the sum nor
    in the number of tokens.

    Args:
        label_smoothing: eps_ls, 0.1 in the paper.

    Call arguments:
        y_true: integer ids of shape `(batch, length)`.
        y_pred: logits of shape `(batch, length, vocab_size)`.

    Returns:
        float32 scalar.
    """

    def __init__(self, label_smoothing=0.1, name="loss"):
        super().__init__(name=name, reduction="sum")
        self.label_smoothing = label_smoothing

    def call(self, y_true, y_pred):
        losses = smoothed_cross_entropy(y_true, y_pred, self.label_smoothing)
        real = ops.cast(padding_mask(y_true), "float32")
        return losses * real / ops.maximum(ops.sum(real), 1.0)

    def get_config(self):
        return {"name": self.name, "label_smoothing": self.label_smoothing}
