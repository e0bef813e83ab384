"""The projections of attention, and its heads."""

from keras import ops


def project(x, kernel):
    """Multiplies the vectors of a sequence by a matrix.

    Args:
        x: Tensor of shape `(batch, length, rows)`.
        kernel: Tensor of shape `(rows, columns)`.

    Returns:
        Tensor of shape `(batch, length, columns)`.
    """
    batch, length = ops.shape(x)[:2]
    rows, columns = kernel.shape
    # One product of two matrices. With three axes, or as an einsum, TensorFlow
    # takes up to twice the time and several times the operations.
    x = ops.reshape(x, (-1, rows))  # (batch x length, rows)
    product = ops.matmul(x, kernel)
    # (batch, length, columns)
    return ops.reshape(product, (batch, length, columns))


def split_heads(x, num_heads, width):
    """Divides the vectors of a sequence among heads.

    Args:
        x: Tensor of shape `(batch, length, num_heads x width)`.
        num_heads: Integer number of heads.
        width: Integer width of a head.

    Returns:
        Tensor of shape `(batch, num_heads, length, width)`.
    """
    batch, length = ops.shape(x)[:2]
    # (batch, length, num_heads, width)
    x = ops.reshape(x, (batch, length, num_heads, width))
    # Heads come before positions for plain matrix products. In the other
    # order, transposes took 2.4 of the 7 s of a beam search with base.
    return ops.transpose(x, (0, 2, 1, 3))  # (batch, num_heads, length, width)


def join_heads(heads):
    """Puts the vectors of all heads side by side; undoes `split_heads`."""
    heads = ops.transpose(heads, (0, 2, 1, 3))
    # (batch, length, num_heads, width)
    batch, length, num_heads, width = ops.shape(heads)
    # (batch, length, num_heads x width)
    return ops.reshape(heads, (batch, length, num_heads * width))
