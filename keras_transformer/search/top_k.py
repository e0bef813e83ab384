"""The greatest of many numbers, sooner than one operation finds them."""

from keras import ops

BLOCK = 100  # about as many numbers as are looked at together


def top_k(values, k):
    """Finds the `k` greatest along the last axis, as `ops.top_k` does.

    The greatest lie in the `k` blocks with the greatest maxima, and maxima are
    found several times as fast as the greatest: so only those blocks are
    searched. Of equals it takes the first, too.

    Args:
        values: tensor of shape `(..., length)`.
        k: how many.

    Returns:
        tensors `(..., k)`: the values, the greatest first, and their int32
        indices.

    Example:

    >>> import numpy as np
    >>> _, indices = top_k(np.array([[0.1, 0.5, 0.4, 0.9]], "float32"), 2)
    >>> np.array(indices)
    array([[3, 1]], dtype=int32)
    """
    length = values.shape[-1]
    size = _block_size(length)
    num_blocks = length // size
    if size == 1 or num_blocks <= k:
        return ops.top_k(values, k)
    shape = ops.shape(values)[:-1]
    blocks = ops.reshape(values, (-1, num_blocks, size))
    _, chosen = ops.top_k(ops.max(blocks, axis=-1), k)  # (rows, k)
    chosen = ops.sort(chosen, axis=-1)  # so that equals keep their order
    rows = ops.arange(ops.shape(blocks)[0], dtype="int32")[:, None]
    candidates = ops.take(
        ops.reshape(blocks, (-1, size)), rows * num_blocks + chosen, axis=0
    )  # (rows, k, size)
    best, found = ops.top_k(ops.reshape(candidates, (-1, k * size)), k)
    block = ops.take(
        ops.reshape(chosen, (-1,)), rows * k + found // size, axis=0
    )
    indices = block * size + found % size
    return ops.reshape(best, (*shape, k)), ops.reshape(indices, (*shape, k))


def _block_size(length):
    """The divisor nearest to `BLOCK`, 1 where none is near."""
    near = range(BLOCK // 2, 2 * BLOCK + 1)
    divisors = [size for size in near if length % size == 0]
    return min(divisors, key=lambda size: abs(size - BLOCK), default=1)
