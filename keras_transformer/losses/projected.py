"""Cross-entropy computed from the decoder's states, without any logits."""

import functools

from keras import ops

from keras_transformer.losses.chunks import sum_over_chunks
from keras_transformer.losses.logits import compute_log_sums
from keras_transformer.losses.logits import compute_product_gradients
from keras_transformer.losses.logits import gather_targets
from keras_transformer.losses.logits import replace_at_targets
from keras_transformer.losses.logits import sum_mean_logits
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
    chunk_loss = functools.partial(_chunk_loss, kept=1.0 - label_smoothing)
    loss = sum_over_chunks(chunk_loss, states, embeddings, targets, num_chunks)
    if label_smoothing:
        means = sum_mean_logits(states, embeddings, targets)
        loss = loss - label_smoothing * means
    return loss


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
    scores = ops.matmul(rows, ops.transpose(kernel))  # (rows, vocab_size)
    # The softmax takes a third of the time of its single operations.
    probabilities = ops.softmax(ops.cast(scores, "float32"), axis=-1)
    log_sums = compute_log_sums(scores, probabilities, targets)
    loss = log_sums - kept * gather_targets(scores, targets)
    slopes = replace_at_targets(
        ops.cast(probabilities, rows.dtype),
        targets,
        gather_targets(probabilities, targets) - kept,
    )
    return (
        ops.sum(loss * real),
        *compute_product_gradients(slopes, rows, kernel, targets),
    )
