"""The loss of two passes over the same targets that have to agree."""

import functools

from keras import ops

from keras_transformer.losses.chunks import sum_over_chunks
from keras_transformer.masks import padding_mask


def projected_consistency(
    states,
    other_states,
    embeddings,
    targets,
    label_smoothing=0.0,
    weight=1.0,
    symmetric=False,
    num_chunks=1,
):
    """Sums cross-entropy, and how far the second pass is from the first.

    With `p` and `q` for the probabilities of the first and the second pass, a
    real target token adds `CE(p) + weight * KL(p || q)`. With `symmetric` it
    adds the means of both passes, `(CE(p) + CE(q)) / 2 + weight * (KL(p || q) +
    KL(q || p)) / 2`. The gradient flows through both sides of each divergence.
    Positions are computed in chunks, as `sum_over_chunks` explains.

    Args:
        states: Tensor of shape `(batch, length, d_model)`, of the first pass.
        other_states: Tensor of the same shape, of the second pass.
        embeddings: Tensor of shape `(vocab_size, d_model)`.
        targets: Integer ids of shape `(batch, length)`, padded with 0.
        label_smoothing: Float eps_ls of the cross-entropy, as in
            `smoothed_cross_entropy`. Defaults to 0, which means no smoothing.
        weight: Float, the weight of the divergence. Defaults to 1.
        symmetric: Boolean, whether both passes count alike. Defaults to False.
        num_chunks: Number of chunks of positions. Defaults to 1.

    Returns:
        Three float32 scalars: the loss, its cross-entropy and its divergence.
        Only the loss has a gradient.

    Example:

    >>> import numpy as np
    >>> states, embeddings = np.zeros((1, 2, 4)), np.ones((8, 4))
    >>> targets = np.array([[5, 0]])
    >>> loss, _, divergence = projected_consistency(
    ...     states, states, embeddings, targets
    ... )
    >>> round(float(loss), 4), float(divergence)
    (2.0794, 0.0)
    """
    chunk_loss = functools.partial(
        _chunk_loss,
        label_smoothing=label_smoothing,
        weight=weight,
        counts=(0.5, 0.5) if symmetric else (1.0, 0.0),
    )
    passes = ops.stack(
        [states, other_states], axis=2
    )  # (batch, length, 2, d_model)
    sums = sum_over_chunks(chunk_loss, passes, embeddings, targets, num_chunks)
    return ops.unstack(sums, num=3)


def _chunk_loss(rows, targets, kernel, label_smoothing, weight, counts):
    """Computes the sums of a chunk together with the gradients of the loss.

    Args:
        rows: Tensor of shape `(rows, 2, d_model)`.
        targets: Int32 ids of shape `(rows,)`, 0 where padded.
        kernel: Tensor of shape `(vocab_size, d_model)`.
        label_smoothing: Float eps_ls.
        weight: Float, the weight of the divergence.
        counts: How much the first and the second pass count, two floats.

    Returns:
        The sums of loss, cross-entropy and divergence in one vector, the
        gradient of the loss by the rows, and that by the kernel in float32.
    """
    real = ops.cast(padding_mask(targets), "float32")
    passes = ops.unstack(rows, num=2, axis=1)  # two of (rows, d_model)
    logs = [_log_probabilities(states, kernel) for states in passes]
    sums, slopes, kernel_slopes = 0.0, [], 0.0
    for one, other in ((0, 1), (1, 0)):
        of_pass, by_logits = _pass_loss(
            logs[one],
            logs[other],
            targets,
            label_smoothing,
            count=counts[one],
            own=weight * counts[one],
            others=weight * counts[other],
        )
        by_logits = ops.cast(by_logits * real[:, None], rows.dtype)
        sums = sums + ops.sum(of_pass * real, axis=-1)
        slopes.append(ops.matmul(by_logits, kernel))
        of_kernel = ops.matmul(ops.transpose(by_logits), passes[one])
        # Float32, since sums over many chunks would lose digits in bfloat16.
        kernel_slopes = kernel_slopes + ops.cast(of_kernel, "float32")
    cross_entropy, divergence = ops.unstack(sums, num=2)
    loss = cross_entropy + weight * divergence
    return (
        ops.stack([loss, cross_entropy, divergence]),
        ops.stack(slopes, axis=1),  # (rows, 2, d_model)
        kernel_slopes,
    )


def _pass_loss(log_p, log_q, targets, label_smoothing, count, own, others):
    """Computes what one pass adds, and the gradient of the loss by its logits.

    Args:
        log_p: Log-probabilities of this pass, `(rows, vocab_size)`.
        log_q: Log-probabilities of the other pass, `(rows, vocab_size)`.
        targets: Int32 ids of shape `(rows,)`.
        label_smoothing: Float eps_ls.
        count: Weight of the cross-entropy of this pass.
        own: Weight of `KL(p || q)`.
        others: Weight of `KL(q || p)`, which the other pass adds.

    Returns:
        Cross-entropy and divergence of shape `(2, rows)`, each times `count`,
        and the gradient of shape `(rows, vocab_size)`.
    """
    kept = 1.0 - label_smoothing
    spread = label_smoothing / log_p.shape[-1]
    gold = ops.take_along_axis(log_p, targets[:, None], axis=-1)  # (rows, 1)
    cross_entropy = -kept * gold[:, 0]
    cross_entropy -= label_smoothing * ops.mean(log_p, axis=-1)
    p, q, log_ratio = ops.exp(log_p), ops.exp(log_q), log_p - log_q
    divergence = ops.sum(p * log_ratio, axis=-1)
    # By the logits of p, the gradient of KL(p || q) is p (log(p / q) - KL), and
    # that of KL(q || p) is p - q.
    slopes = p * (own * (log_ratio - divergence[:, None]) + (count + others))
    slopes = slopes - others * q - count * spread
    cells = ops.stack(
        [ops.arange(ops.shape(targets)[0]), targets], axis=-1
    )  # (rows, 2)
    at_gold = ops.take_along_axis(slopes, targets[:, None], axis=-1)
    slopes = ops.scatter_update(slopes, cells, at_gold[:, 0] - count * kept)
    return count * ops.stack([cross_entropy, divergence]), slopes


def _log_probabilities(states, kernel):
    scores = ops.matmul(states, ops.transpose(kernel))  # (rows, vocab_size)
    return ops.log_softmax(ops.cast(scores, "float32"), axis=-1)
