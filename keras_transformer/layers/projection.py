"""The projections of attention, and its heads."""

from keras import ops


def project(x, kernel, bias=None, activation=None):
    """Multiplies the vectors of a sequence by a matrix.

    Args:
        x: Tensor of shape `(batch, length, rows)`.
        kernel: Tensor of shape `(rows, columns)`.
        bias: Tensor of shape `(columns,)` to add. Defaults to None.
        activation: Function to apply to the result. Defaults to None.

    Returns:
        Tensor of shape `(batch, length, columns)`.
    """
    batch, length = ops.shape(x)[:2]
    rows, columns = kernel.shape
    # One product of two matrices. With three axes, or as an einsum, TensorFlow
    # takes up to twice the time and several times the operations.
    x = ops.reshape(x, (-1, rows))  # (batch x length, rows)
    product = ops.matmul(x, kernel)
    # Directly after a product of two matrices, TensorFlow computes both along
    # with it. `ops.add` also has a fast sum for the gradient of the bias.
    if bias is not None:
        product = ops.add(product, bias)
    if activation is not None:
        product = activation(product)
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
