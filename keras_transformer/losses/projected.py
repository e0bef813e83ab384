"""Cross-entropy of the decoder's states, in steps that other losses share."""

import functools

from keras import ops

from keras_transformer.masks import padding_mask

# A smaller probability of a target counts as this one, a loss of 85 per token.
SMALLEST = 1e-37


def sum_mean_logits(states, embeddings, targets):
    """Sums the mean logit of each real token, by products of vectors only."""
    rows = ops.reshape(
        states, (-1, states.shape[-1])
    )  # (batch x length, d_model)
    real = ops.cast(padding_mask(targets), "float32")
    real = ops.reshape(real, (1, -1))  # (1, batch x length)
    total = ops.matmul(real, ops.cast(rows, "float32"))  # (1, d_model)
    return ops.sum(total * ops.mean(embeddings, axis=0))


def gather_targets(values, targets):
    """Returns the float32 values at the targets of the rows, `(rows,)`."""
    values = ops.take_along_axis(values, targets[:, None], axis=-1)  # (rows, 1)
    return ops.cast(values[:, 0], "float32")


def replace_at_targets(values, targets, replacements):
    """Replaces the value at the target of each row of a matrix."""
    cells = ops.stack(
        [ops.arange(ops.shape(targets)[0]), targets], axis=-1
    )  # (rows, 2)
    return ops.scatter_update(
        values, cells, ops.cast(replacements, values.dtype)
    )


def compute_log_sums(scores, probabilities, targets):
    """Returns the logarithm of the sum of the exponentials of each row.

    It is computed from the exponential of the target alone, since passes over
    all logits take time. A probability below `SMALLEST` counts as `SMALLEST`.
    """
    probability = ops.maximum(gather_targets(probabilities, targets), SMALLEST)
    return gather_targets(scores, targets) - ops.log(probability)


def compute_product_gradients(slopes, rows, kernel, targets, scale=1.0):
    """Turns the gradient by logits into those by the states and the kernel.

    `slopes` are `(rows, vocab_size)`, the states `rows` are `(rows, d_model)`,
    and `kernel` is `(vocab_size, d_model)`. Rows whose target is padding add
    nothing. Both gradients are multiplied by `scale`; that by the kernel is
    float32.
    """
    # The narrow factors are masked and scaled, since the slopes are wide.
    factors = scale * ops.cast(padding_mask(targets), "float32")
    factors = ops.cast(factors, rows.dtype)[:, None]  # (rows, 1)
    kernel_slopes = ops.matmul(ops.transpose(slopes), rows * factors)
    return (
        ops.matmul(slopes, kernel) * factors,
        # Float32, since sums over many chunks would lose digits in bfloat16.
        ops.cast(kernel_slopes, "float32"),
    )


def sum_over_chunks(chunk_loss, states, embeddings, targets, num_chunks):
    """Sums a loss over chunks of positions, together with its gradient.

    No logits or probabilities wait for the backward pass, which saves most of
    the memory of large vocabularies. Choose it for training only, since it
    always does the work of the gradient.

    `chunk_loss` takes the states of some positions, `(rows, ..., d_model)`,
    their targets, `(rows,)`, and a kernel, `(vocab_size, d_model)`. It returns
    the sums over these positions, a float32 scalar or vector, and the gradients
    of the first sum by the states and by the kernel, in float32. Chunks of the
    states, `(batch, length, ..., d_model)`, are filled up with targets 0, which
    must add nothing. Only the first sum that is returned has a gradient.
    """
    states = ops.convert_to_tensor(states)
    embeddings = ops.convert_to_tensor(embeddings)
    shape = ops.shape(states)
    targets = ops.cast(targets, "int32")
    targets = ops.reshape(targets, (-1,))  # (batch x length,)

    @ops.custom_gradient
    def compute_sums(states, embeddings):
        kernel = ops.cast(embeddings, states.dtype)
        rows = ops.reshape(
            states, (-1, *shape[2:])
        )  # (batch x length, ..., d_model)
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
            return (
                ops.reshape(
                    state_slopes, shape
                ),  # (batch, length, ..., d_model)
                ops.cast(kernel_slopes * factor, embeddings.dtype),
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
    rows = ops.reshape(
        rows, (num_chunks, -1, *rows.shape[1:])
    )  # (num_chunks, rows, ...)
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
    if label_smoothing:
        means = sum_mean_logits(states, embeddings, targets)
        loss = loss - label_smoothing * means
    return loss


def _compute_chunk(rows, targets, kernel, kept):
    """Computes the loss of a chunk of positions together with its gradients.

    The part of the loss that label smoothing makes of the mean logits is left
    out. `rows` are `(rows, d_model)`, `targets` `(rows,)` with 0 where padded,
    `kernel` `(vocab_size, d_model)`, and `kept` is 1 - eps_ls. Returns the sum,
    its gradient by the rows, and that by the kernel in float32.
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
