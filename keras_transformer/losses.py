"""Label-smoothed cross-entropy over real target tokens."""

import keras
from keras import ops

from keras_transformer.masks import padding_mask
from keras_transformer.serialization import serializable


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


def projected_cross_entropy(
    states, embeddings, targets, label_smoothing=0.0, num_chunks=1
):
    """Sums the loss of all real target tokens, without keeping any logits.

    The same as projecting the decoder's states to logits and summing
    `smoothed_cross_entropy` where targets are not padding; but a chunk of
    positions at a time, with the gradient computed beside the loss, so that
    neither logits nor probabilities wait for the backward pass. For training:
    the work of the gradient is done whether it is asked for or not.

    Args:
        states: tensor of shape `(batch, length, d_model)`.
        embeddings: tensor of shape `(vocab_size, d_model)`.
        targets: integer ids of shape `(batch, length)`, 0 where padded.
        label_smoothing: eps_ls.
        num_chunks: into how many chunks to divide the positions.

    Returns:
        float32 scalar.

    Example:

    >>> import numpy as np
    >>> states, embeddings = np.zeros((1, 2, 4)), np.ones((8, 4))
    >>> targets = np.array([[5, 0]])
    >>> round(float(projected_cross_entropy(states, embeddings, targets)), 4)
    2.0794
    """
    vocab_size, d_model = embeddings.shape
    states = ops.convert_to_tensor(states)
    embeddings = ops.convert_to_tensor(embeddings)
    shape = ops.shape(states)
    targets = ops.reshape(ops.cast(targets, "int32"), (-1,))
    kept = 1.0 - label_smoothing
    spread = label_smoothing / vocab_size

    def chunk_loss(rows, kernel, targets):
        real = ops.cast(padding_mask(targets), "float32")
        cells = ops.stack([ops.arange(ops.shape(targets)[0]), targets], axis=-1)
        scores = ops.matmul(rows, ops.transpose(kernel))  # (rows, vocab)
        scores = ops.cast(scores, "float32")
        gold = ops.take_along_axis(scores, targets[:, None], axis=-1)[:, 0]
        largest = ops.max(scores, axis=-1, keepdims=True)
        powers = ops.exp(scores - largest)
        power_sum = ops.sum(powers, axis=-1, keepdims=True)
        log_sum = (ops.log(power_sum) + largest)[:, 0]
        loss = log_sum - kept * gold
        if label_smoothing:
            loss = loss - label_smoothing * ops.mean(scores, axis=-1)
        slopes = powers * (real[:, None] / power_sum)
        if label_smoothing:
            slopes = slopes - real[:, None] * spread
        at_gold = (ops.exp(gold - log_sum) - spread - kept) * real
        slopes = ops.scatter_update(slopes, cells, at_gold)
        slopes = ops.cast(slopes, rows.dtype)
        return (
            ops.sum(loss * real),
            ops.matmul(slopes, kernel),
            ops.cast(ops.matmul(ops.transpose(slopes), rows), "float32"),
        )

    @ops.custom_gradient
    def loss_of(states, embeddings):
        kernel = ops.cast(embeddings, states.dtype)
        rows = ops.reshape(states, (-1, d_model))  # (batch x length, d_model)
        loss, slopes, embedding_slopes = 0.0, [], 0.0
        for part in zip(
            _chunks(rows, num_chunks), _chunks(targets, num_chunks)
        ):
            sums = chunk_loss(part[0], kernel, part[1])
            loss = loss + sums[0]
            slopes.append(sums[1])
            embedding_slopes = embedding_slopes + sums[2]
        slopes = ops.concatenate(slopes, axis=0)[: ops.shape(rows)[0]]

        def gradient(*args, upstream=None):
            factor = args[0] if upstream is None else upstream
            return (
                ops.reshape(slopes * ops.cast(factor, slopes.dtype), shape),
                ops.cast(embedding_slopes * factor, embeddings.dtype),
            )

        return loss, gradient

    return loss_of(states, embeddings)


def _chunks(rows, num_chunks):
    """Splits the first axis, filled up with zeros, into equal parts."""
    if num_chunks == 1:
        return [rows]
    missing = -ops.shape(rows)[0] % num_chunks
    widths = [[0, missing]] + [[0, 0]] * (len(rows.shape) - 1)
    rows = ops.reshape(ops.pad(rows, widths), (num_chunks, -1, *rows.shape[1:]))
    return ops.unstack(rows, num=num_chunks)


@serializable
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
