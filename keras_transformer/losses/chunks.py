"""Sums over target positions that compute their gradient on the way."""

from keras import ops


def sum_over_chunks(chunk_loss, states, embeddings, targets, num_chunks):
    """Sums a loss over chunks of positions, together with its gradient.

    No logits or probabilities wait for the backward pass, which saves most of
    the memory of large vocabularies. Choose it for training only, since it
    always does the work of the gradient.

    Args:
        chunk_loss: Function of the states of some positions, of shape
            `(rows, ..., d_model)`, of their targets, of shape `(rows,)`, and of
            a kernel of shape `(vocab_size, d_model)`. It returns the sums over
            these positions, a float32 scalar or vector; the gradient of the
            first sum by the states; and its gradient by the kernel in float32.
        states: Tensor of shape `(batch, length, ..., d_model)`.
        embeddings: Tensor of shape `(vocab_size, d_model)`.
        targets: Integer ids of shape `(batch, length)`. Chunks are filled up
            with 0, so these targets must add nothing.
        num_chunks: Number of chunks of positions.

    Returns:
        The sums over all positions. Only the first one has a gradient.
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
        for chunk in zip(
            _chunks(rows, num_chunks), _chunks(targets, num_chunks)
        ):
            of_chunk = chunk_loss(*chunk, kernel)
            sums = sums + of_chunk[0]
            slopes.append(of_chunk[1])
            kernel_slopes = kernel_slopes + of_chunk[2]
        slopes = ops.concatenate(slopes, axis=0)
        slopes = slopes[: ops.shape(rows)[0]]  # (batch x length, ..., d_model)

        def gradient(*args, upstream=None):
            # PyTorch passes the upstream gradient by name, others by position.
            factor = args[0] if upstream is None else upstream
            factor = ops.ravel(factor)[0]
            of_states = slopes * ops.cast(factor, slopes.dtype)
            return (
                ops.reshape(of_states, shape),  # (batch, length, ..., d_model)
                ops.cast(kernel_slopes * factor, embeddings.dtype),
            )

        return sums, gradient

    return compute_sums(states, embeddings)


def _chunks(rows, num_chunks):
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
