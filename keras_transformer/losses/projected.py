"""Cross-entropy computed from the decoder's states, without any logits."""

import functools

from keras import ops

from keras_transformer.losses.chunks import sum_over_chunks
from keras_transformer.masks import padding_mask


def projected_cross_entropy(
    states, embeddings, targets, label_smoothing=0.0, num_chunks=1
):
    """Sums the loss of all real target tokens without keeping any logits.

    The result equals projecting the decoder's states to logits and summing
    `smoothed_cross_entropy` over real tokens. It goes through the positions in
    chunks and computes the gradient together with the loss, as
    `sum_over_chunks` explains.

    Args:
        states: Tensor of shape `(batch, length, d_model)`.
        embeddings: Tensor of shape `(vocab_size, d_model)`.
        targets: Integer ids of shape `(batch, length)`, padded with 0.
        label_smoothing: Float eps_ls, as in `smoothed_cross_entropy`. Defaults
            to 0, which means no smoothing.
        num_chunks: Number of chunks of positions. Defaults to 1.

    Returns:
        Float32 scalar.

    Example:

    >>> import numpy as np
    >>> states, embeddings = np.zeros((1, 2, 4)), np.ones((8, 4))
    >>> targets = np.array([[5, 0]])
    >>> round(float(projected_cross_entropy(states, embeddings, targets)), 4)
    2.0794
    """
    chunk_loss = functools.partial(_chunk_loss, label_smoothing=label_smoothing)
    return sum_over_chunks(chunk_loss, states, embeddings, targets, num_chunks)


def _chunk_loss(rows, targets, kernel, label_smoothing):
    """Computes the loss of a chunk of positions together with its gradients.

    Args:
        rows: Tensor of shape `(rows, d_model)`.
        targets: Int32 ids of shape `(rows,)`, 0 where padded.
        kernel: Tensor of shape `(vocab_size, d_model)`.
        label_smoothing: Float eps_ls.

    Returns:
        The sum of the losses, its gradient by the rows, and its gradient by the
        kernel in float32.
    """
    kept = 1.0 - label_smoothing
    spread = label_smoothing / kernel.shape[0]
    real = ops.cast(padding_mask(targets), "float32")
    cells = ops.stack(
        [ops.arange(ops.shape(targets)[0]), targets], axis=-1
    )  # (rows, 2)
    scores = ops.matmul(rows, ops.transpose(kernel))  # (rows, vocab_size)
    scores = ops.cast(scores, "float32")
    gold = ops.take_along_axis(scores, targets[:, None], axis=-1)  # (rows, 1)
    gold = gold[:, 0]
    largest = ops.max(scores, axis=-1, keepdims=True)
    # Kept for the gradient, so that exponentials are computed once.
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
    by_vocabulary = ops.transpose(slopes)  # (vocab_size, rows)
    kernel_slopes = ops.matmul(by_vocabulary, rows)
    return (
        ops.sum(loss * real),
        ops.matmul(slopes, kernel),
        # Float32, since sums over many chunks would lose digits in bfloat16.
        ops.cast(kernel_slopes, "float32"),
    )
