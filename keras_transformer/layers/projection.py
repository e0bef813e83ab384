"""The product of the vector at every position and one matrix."""

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
