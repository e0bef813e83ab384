"""What a decoder keeps of the positions before."""

from keras import ops


def extended(cache, newest, position, axis, growing):
    """Returns a cache with what is new at a position.

    Args:
        cache: tensor whose positions lie on `axis`.
        newest: tensor like it, of one position; that may be several entries.
        position: scalar integer tensor.
        axis: of the positions.
        growing: whether the cache becomes longer by the new entries, or they
            replace those that it has for the position already. The first
            copies less, the second keeps the shape, as XLA needs it.

    Returns:
        tensor like `cache`.
    """
    if growing:
        return ops.concatenate([cache, newest], axis=axis)
    start = [0] * len(cache.shape)
    start[axis] = position * newest.shape[axis]
    return ops.slice_update(cache, start, newest)
