"""The steps from states to logits, and back, that the losses share."""

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
