"""Losses of the decoder's states that keep no logits: one pass, or two."""

import functools
import typing

from keras import ops

from keras_transformer.masks import padding_mask

# A smaller probability of a target counts as this one, a loss of 85 per token.
SMALLEST = 1e-37


def sum_mean_logits(states, embeddings, targets):
    """Sums the mean logit of each real token, by products of vectors only."""
    # (batch x length, d_model)
    rows = ops.reshape(states, (-1, states.shape[-1]))
    real = ops.cast(padding_mask(targets), "float32")
    real = ops.reshape(real, (1, -1))  # (1, batch x length)
    total = ops.matmul(real, ops.cast(rows, "float32"))  # (1, d_model)
    mean = ops.mean(ops.cast(embeddings, "float32"), axis=0)  # (d_model,)
    return ops.sum(total * mean)


def gather_targets(values, targets):
    """Returns the float32 values at the targets of the rows, `(rows,)`."""
    values = ops.take_along_axis(
        values, ops.expand_dims(targets, 1), axis=-1
    )  # (rows, 1)
    return ops.cast(values[:, 0], "float32")


def replace_at_targets(values, targets, replacements):
    """Replaces the value at the target of each row of a matrix."""
    # (rows, 2)
    cells = ops.stack(
        [ops.arange(ops.shape(targets)[0], dtype="int32"), targets], axis=-1
    )
    return ops.scatter_update(
        values, cells, ops.cast(replacements, values.dtype)
    )


def compute_product_gradients(slopes, rows, kernel, targets, scale=1.0):
    """Turns the gradient of the logits into gradients of states and kernel.

    `slopes` are `(rows, vocab_size)`, the states `rows` `(rows, d_model)`, and
    `kernel` `(vocab_size, d_model)`. Rows whose target is padding add nothing.
    `scale` multiplies both gradients; the kernel's is float32.
    """
    # The narrow factors are masked and scaled, since the slopes are wide.
    factors = scale * ops.cast(padding_mask(targets), "float32")
    factors = ops.expand_dims(ops.cast(factors, rows.dtype), 1)  # (rows, 1)
    kernel_slopes = ops.matmul(ops.transpose(slopes), rows * factors)
    return (
        ops.matmul(slopes, kernel) * factors,
        # Float32, since sums over many chunks would lose digits in bfloat16.
        ops.cast(kernel_slopes, "float32"),
    )


def sum_over_chunks(chunk_loss, states, embeddings, targets, num_chunks):
    """Sums a loss over chunks of positions, together with its gradient.

    It keeps no logits or probabilities for the backward pass, which saves most
    of the memory of large vocabularies. Choose it for training only, since it
    always computes the gradient.

    `chunk_loss` takes the states of some positions, `(rows, ..., d_model)`,
    their targets, `(rows,)`, and a kernel, `(vocab_size, d_model)`. It returns
    the sums over these positions, a float32 scalar or vector, and the gradients
    of that first sum for the states and the kernel, in float32. Chunks of the
    states, `(batch, length, ..., d_model)`, are filled up with targets 0, which
    must add nothing. Only the first sum that is returned has a gradient.
    """
    states = ops.convert_to_tensor(states)
    # A custom gradient of TensorFlow takes no variable in eager mode.
    embeddings = ops.copy(embeddings)
    shape = ops.shape(states)
    targets = ops.cast(targets, "int32")
    targets = ops.reshape(targets, (-1,))  # (batch x length,)

    @ops.custom_gradient
    def compute_sums(states, embeddings):
        kernel = ops.cast(embeddings, states.dtype)
        # (batch x length, ..., d_model)
        rows = ops.reshape(states, (-1, *shape[2:]))
        # An ordinary loss would keep the logits of all chunks for the backward
        # pass. Here each chunk leaves its gradient, which is far smaller.
        sums, slopes, kernel_slopes = 0.0, [], 0.0
        for chunk in zip(_split(rows, num_chunks), _split(targets, num_chunks)):
            chunk_sums, chunk_slopes, chunk_kernel = chunk_loss(*chunk, kernel)
            sums = sums + chunk_sums
            slopes.append(chunk_slopes)
            kernel_slopes = kernel_slopes + chunk_kernel
        slopes = ops.concatenate(slopes, axis=0)
        slopes = slopes[: ops.shape(rows)[0]]  # (batch x length, ..., d_model)

        def gradient(*args, upstream=None):
            # PyTorch passes the upstream gradient by name, others by position.
            factor = args[0] if upstream is None else upstream
            factor = ops.ravel(factor)[0]
            state_slopes = slopes * ops.cast(factor, slopes.dtype)
            # (batch, length, ..., d_model)
            state_slopes = ops.reshape(state_slopes, shape)
            return state_slopes, ops.cast(
                kernel_slopes * factor, embeddings.dtype
            )

        return sums, gradient

    return compute_sums(states, embeddings)


def _split(rows, num_chunks):
    """Splits the first axis, padded with zeros, into equal parts."""
    if num_chunks == 1:
        return [rows]
    missing = -ops.shape(rows)[0] % num_chunks
    widths = [[0, missing]] + [[0, 0]] * (len(rows.shape) - 1)
    rows = ops.pad(rows, widths)
    # (num_chunks, rows, ...)
    rows = ops.reshape(rows, (num_chunks, -1, *rows.shape[1:]))
    return ops.unstack(rows, num=num_chunks)


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
    chunk_loss = functools.partial(_compute_chunk, kept=1.0 - label_smoothing)
    loss = sum_over_chunks(chunk_loss, states, embeddings, targets, num_chunks)
    # Smoothing takes the mean of all logits of a token. That is a product with
    # the mean embedding, so it needs no logits and no chunks.
    if label_smoothing:
        means = sum_mean_logits(states, embeddings, targets)
        loss = loss - label_smoothing * means
    return loss


def _compute_chunk(rows, targets, kernel, kept):
    """Computes the loss of a chunk, as `sum_over_chunks` takes it.

    The term of label smoothing that needs only mean logits is left out, and
    `kept` is 1 - eps_ls.
    """
    real = ops.cast(padding_mask(targets), "float32")
    output = _compute_output(rows, kernel, targets)
    # The gradient of a cross-entropy for the logits is the probabilities minus
    # the target distribution: the softmax, except for one value in each row.
    loss = output.log_sums - kept * gather_targets(output.scores, targets)
    slopes = replace_at_targets(
        ops.cast(output.probabilities, output.dtype),
        targets,
        gather_targets(output.probabilities, targets) - kept,
    )
    gradients = compute_product_gradients(slopes, rows, kernel, targets)
    return ops.sum(loss * real), *gradients


class _Output(typing.NamedTuple):
    """The output of a pass for a chunk of positions."""

    scores: typing.Any  # float32 logits, (rows, vocab_size)
    probabilities: typing.Any  # their softmax, (rows, vocab_size)
    log_sums: typing.Any  # log of the sum of their exponentials, (rows,)
    dtype: str  # of the states


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
    """Sums the cross-entropy and the divergence between two passes.

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
    counts = (0.5, 0.5) if symmetric else (1.0, 0.0)
    options = {"kept": 1.0 - label_smoothing, "weight": weight}
    chunk_loss = functools.partial(
        _compute_chunk_of_two, **options, counts=counts
    )
    # (batch, length, 2, d_model)
    passes = ops.stack([states, other_states], axis=2)
    sums = sum_over_chunks(chunk_loss, passes, embeddings, targets, num_chunks)
    loss, cross_entropy, divergence = ops.unstack(sums, num=3)
    for one, count in zip((states, other_states), counts):
        if label_smoothing and count:
            means = sum_mean_logits(one, embeddings, targets)
            loss = loss - count * label_smoothing * means
            cross_entropy = cross_entropy - count * label_smoothing * means
    return loss, ops.stop_gradient(cross_entropy), divergence


def _compute_chunk_of_two(rows, targets, kernel, kept, weight, counts):
    """Computes loss, cross-entropy and divergence of a chunk of two passes.

    `rows` are `(rows, 2, d_model)`, and `counts` the weights of both passes.
    The rest is as in `_compute_chunk`.
    """
    # Each pass is the other's target: the divergence pulls both towards each
    # other. Both logits of a chunk exist at once, but only for this chunk.
    passes = ops.unstack(rows, num=2, axis=1)  # two of (rows, d_model)
    outputs = [_compute_output(states, kernel, targets) for states in passes]
    real = ops.cast(padding_mask(targets), "float32")
    # All gradients of the logits are divided by this number. The products with
    # them are multiplied by it, which takes less time.
    scale = weight * max(counts) or 1.0
    sums, slopes, kernel_slopes = 0.0, [], 0.0
    for one, other in ((0, 1), (1, 0)):
        losses, by_logits = _compute_pass(
            outputs[one],
            outputs[other],
            targets,
            kept,
            count=counts[one] / scale,
            weight=weight * counts[one] / scale,
            other_weight=weight * counts[other] / scale,
        )
        by_rows, by_kernel = compute_product_gradients(
            by_logits, passes[one], kernel, targets, scale
        )
        sums = sums + counts[one] * ops.sum(losses * real, axis=-1)
        slopes.append(by_rows)
        kernel_slopes = kernel_slopes + by_kernel
    cross_entropy, divergence = ops.unstack(sums, num=2)
    loss = cross_entropy + weight * divergence
    return (
        ops.stack([loss, cross_entropy, divergence]),
        ops.stack(slopes, axis=1),  # (rows, 2, d_model)
        kernel_slopes,
    )


def _compute_output(states, kernel, targets):
    """Computes the `_Output` of a pass from its states."""
    scores = ops.matmul(states, ops.transpose(kernel))  # (rows, vocab_size)
    scores = ops.cast(scores, "float32")
    # The softmax takes a third of the time of its single operations.
    probabilities = ops.softmax(scores, axis=-1)
    # From only the probability of the target, since passes over all logits
    # take time.
    probability = ops.maximum(gather_targets(probabilities, targets), SMALLEST)
    log_sums = gather_targets(scores, targets) - ops.log(probability)
    return _Output(scores, probabilities, log_sums, states.dtype)


def _compute_pass(output, other, targets, kept, count, weight, other_weight):
    """Computes the loss of a pass, and the whole gradient for its logits.

    `output` and `other` are the `_Output` of both passes. The weights of their
    divergences, `KL(p || q)` and `KL(q || p)`, are 0 or 1; `count` is the
    weight of this pass's cross-entropy, `kept` is 1 - eps_ls. Returns
    cross-entropy and divergence without their weights, `(2, rows)`, and the
    gradient, of shape `(rows, vocab_size)`.
    """
    p, q = output.probabilities, other.probabilities
    cross_entropy = divergence = ops.zeros_like(output.log_sums)
    slopes = count + other_weight
    if count:
        difference = output.scores - other.scores  # (rows, vocab_size)
        mean = ops.sum(p * difference, axis=-1)
        divergence = mean - (output.log_sums - other.log_sums)
        gold = gather_targets(output.scores, targets)
        cross_entropy = output.log_sums - kept * gold
        # For the logits of p, the gradient of KL(p || q) is p (log(p / q) - KL)
        # and that of KL(q || p) is p - q.
        if weight:
            slopes = difference + ops.expand_dims(slopes - mean, 1)
    slopes = p * slopes
    if other_weight:
        slopes = slopes - q
    at_gold = gather_targets(slopes, targets) - count * kept
    slopes = ops.cast(slopes, output.dtype)
    if count:
        slopes = replace_at_targets(slopes, targets, at_gold)
    return ops.stack([cross_entropy, divergence]), slopes
