"""Boolean attention masks: True means "may attend"."""

from keras import ops

from keras_transformer import serialization  # noqa: F401 (registers classes)
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID


def padding_mask(ids):
    """Marks the real tokens of a padded batch.

    Args:
        ids: integer tensor of shape `(batch, length)`, 0 where padded.

    Returns:
        boolean tensor of shape `(batch, length)`.
    """
    return ops.not_equal(ids, PAD_ID)


def causal_mask(length):
    """Lets each position attend to itself and to earlier ones.

    Section 3.2.3 of Vaswani et al. (2017): a decoder position must not see
    the tokens after it.

    Args:
        length: Number of positions, an integer or a scalar tensor. A tensor of
            shape `(batch, length)` or `(batch, length, d_model)` stands for
            its own length. In a functional model pass the `keras.Input`
            itself, since its length is not known yet.

    Returns:
        Boolean tensor of shape `(1, length, length)`.

    Example:

    >>> import keras
    >>> ids = keras.Input((None,), dtype="int32")
    >>> causal_mask(ids).shape
    (1, None, None)
    """
    queries, keys = _query_and_key_positions(length)
    return ops.greater_equal(queries, keys)


def neighbourhood_mask(length, radius):
    """Lets each position attend to those at most `radius` away.

    Restricted self-attention, section 4 of Vaswani et al. (2017).

    Args:
        length: Number of positions, or a tensor of that length, as in
            `causal_mask`.
        radius: Integer, r, the greatest distance that may be attended to.

    Returns:
        Boolean tensor of shape `(1, length, length)`.
    """
    queries, keys = _query_and_key_positions(length)
    return ops.less_equal(ops.abs(queries - keys), radius)


def _query_and_key_positions(length):
    """Returns tensors of shape `(1, length, 1)` and `(1, 1, length)`."""
    if length is None:
        raise ValueError(
            "`length` must be a number, or a tensor of that length. Received: "
            "length=None. In a functional model pass the `keras.Input` itself."
        )
    num_axes = len(getattr(length, "shape", ()))
    if num_axes < 2:
        positions = ops.arange(length)
    else:
        # A symbolic length is counted: it has no `arange` and no slices.
        zeros = ops.zeros_like(length, dtype="int32")
        other_axes = [axis for axis in range(num_axes) if axis != 1]
        positions = ops.cumsum(ops.sum(zeros, axis=other_axes) + 1) - 1
    positions = ops.expand_dims(positions, 0)  # (1, length)
    return ops.expand_dims(positions, 2), ops.expand_dims(positions, 1)


def segment_numbers(ids):
    """Numbers the sequences that share a packed row, from 0 on.

    Each ends with the end id, 1; so the ids themselves tell where one stops.

    Args:
        ids: integer tensor of shape `(batch, length)`.

    Returns:
        int32 tensor of shape `(batch, length)`.
    """
    is_end = ops.cast(ops.equal(ids, END_ID), "int32")
    return ops.cumsum(is_end, axis=-1) - is_end


def segment_positions(segments):
    """Counts positions from 0 on in each sequence of a packed row.

    Args:
        segments: integer tensor of shape `(batch, length)`, rising in each row,
            as `segment_numbers` returns it.

    Returns:
        int32 tensor of shape `(batch, length)`.
    """
    is_earlier = segments[:, None, :] < segments[:, :, None]
    start = ops.sum(ops.cast(is_earlier, "int32"), axis=-1)
    return ops.arange(ops.shape(segments)[1], dtype="int32") - start


def visible_mask(padding_mask=None, query_segments=None, key_segments=None):
    """Lets queries attend to real keys, and to their own sequence alone.

    Args:
        padding_mask: boolean tensor of shape `(batch, key_len)`, True = a real
            token; None stands for all.
        query_segments: integer tensor of shape `(batch, query_len)`, the
            sequence that each query belongs to; None where rows are not packed.
        key_segments: likewise for the keys, `(batch, key_len)`.

    Returns:
        boolean tensor that broadcasts to `(batch, query_len, key_len)`, or None
        if everything is visible.
    """
    real = None if padding_mask is None else padding_mask[:, None, :]
    if query_segments is None:
        return real
    same = ops.equal(query_segments[:, :, None], key_segments[:, None, :])
    return combine_masks(real, same)


def ancestor_mask(ancestors, beam_size):
    """Lets each beam attend to the positions that it grew from.

    Every beam of a sentence leaves its keys and values in a slot of its own at
    each position. Beams fork and die, but what they left stays where it is; a
    beam remembers in which slot its ancestor at each position stood.

    Args:
        ancestors: integer tensor of shape `(batch, beam, length)`, the slot of
            each beam's ancestor at each position; -1 hides a position.
        beam_size: slots of a position.

    Returns:
        boolean tensor of shape `(batch, beam, length x beam)`.
    """
    batch, _, length = ops.shape(ancestors)
    is_ancestor = ops.equal(ancestors[..., None], ops.arange(beam_size))
    return ops.reshape(is_ancestor, (batch, beam_size, length * beam_size))


def combine_masks(*masks):
    """Joins masks with a logical and; `None` stands for "everything".

    Args:
        *masks: boolean tensors that broadcast against one another, or None.

    Returns:
        boolean tensor, or None if every argument is None.
    """
    combined = None
    for current in masks:
        if current is None:
            continue
        if combined is None:
            combined = current
        else:
            combined = ops.logical_and(combined, current)
    return combined
