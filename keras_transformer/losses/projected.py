"""Cross-entropy computed from the decoder's states, without any logits."""

import functools

from keras import ops

from keras_transformer.losses.chunks import sum_over_chunks
from keras_transformer.masks import padding_mask

# A smaller probability of a target counts as this one, a loss of 85 per token.
SMALLEST = 1e-37


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
    chunk_loss = functools.partial(_chunk_loss, kept=1.0 - label_smoothing)
    loss = sum_over_chunks(chunk_loss, states, embeddings, targets, num_chunks)
    if label_smoothing:
        means = _sum_of_mean_logits(states, embeddings, targets)
        loss = loss - label_smoothing * means
    return loss


def _sum_of_mean_logits(states, embeddings, targets):
    """Sums the mean logit of each real token, by products of vectors only."""
    rows = ops.reshape(
        states, (-1, states.shape[-1])
    )  # (batch x length, d_model)
    real = ops.cast(padding_mask(targets), "float32")
    real = ops.reshape(real, (1, -1))  # (1, batch x length)
    total = ops.matmul(real, ops.cast(rows, "float32"))  # (1, d_model)
    return ops.sum(total * ops.mean(embeddings, axis=0))


def _chunk_loss(rows, targets, kernel, kept):
    """Computes the loss of a chunk of positions together with its gradients.

    The part of the loss that label smoothing makes of the mean logits is left
    out.

    Args:
        rows: Tensor of shape `(rows, d_model)`.
        targets: Int32 ids of shape `(rows,)`, 0 where padded.
        kernel: Tensor of shape `(vocab_size, d_model)`.
        kept: Float, 1 - eps_ls, the probability of the target token.

    Returns:
        The sum of the losses, its gradient by the rows, and its gradient by the
        kernel in float32.
    """
    real = ops.cast(padding_mask(targets), "float32")
    cells = ops.stack(
        [ops.arange(ops.shape(targets)[0]), targets], axis=-1
    )  # (rows, 2)
    scores = ops.matmul(rows, ops.transpose(kernel))  # (rows, vocab_size)
    # The softmax takes a third of the time of its single operations.
    probabilities = ops.softmax(ops.cast(scores, "float32"), axis=-1)
    gold = _at_targets(scores, targets)
    gold_probability = _at_targets(probabilities, targets)
    # The logarithm of the sum of all exponentials, from a single one of them.
    log_sum = gold - ops.log(ops.maximum(gold_probability, SMALLEST))
    loss = log_sum - kept * gold
    slopes = ops.cast(probabilities, rows.dtype)
    at_gold = ops.cast(gold_probability - kept, rows.dtype)
    slopes = ops.scatter_update(slopes, cells, at_gold)
    by_vocabulary = ops.transpose(slopes)  # (vocab_size, rows)
    is_real = ops.cast(real, rows.dtype)[:, None]  # (rows, 1)
    kernel_slopes = ops.matmul(by_vocabulary, rows * is_real)
    return (
        ops.sum(loss * real),
        ops.matmul(slopes, kernel) * is_real,
        # Float32, since sums over many chunks would lose digits in bfloat16.
        ops.cast(kernel_slopes, "float32"),
    )


def _at_targets(values, targets):
    """Returns the float32 values `(rows,)` at the targets of the rows."""
    values = ops.take_along_axis(values, targets[:, None], axis=-1)  # (rows, 1)
    return ops.cast(values[:, 0], "float32")
