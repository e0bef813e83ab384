"""Boolean attention masks: True means "may attend"."""

import functools

import keras
from keras import ops

from keras_transformer import serialization  # noqa: F401 (registers classes)
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID


def padding_mask(ids):
    """Marks the real tokens of ids `(batch, length)`, padded with 0.

    Returns booleans of that shape, True for real tokens.
    """
    check_padded(ids)
    return ops.not_equal(ids, PAD_ID)


def check_padded(x):
    """Raises a `ValueError` if a batch is a ragged tensor of TensorFlow."""
    if hasattr(x, "row_splits"):
        raise ValueError(
            "A batch must be padded with 0 to one length. Received: a ragged "
            f"tensor of shape {tuple(x.shape)}. Pass x.to_tensor() instead."
        )


def average_tokens(x, padding_mask):
    """Averages the real tokens of each row of vectors.

    From `(batch, length, d_model)`, and a mask `(batch, length)`, to `(batch,
    d_model)`. A row that is all padding gives zeros, where
    `keras.layers.GlobalAveragePooling1D` divides by 0 and gives NaN.
    """
    # Sums over many tokens lose digits in low precision, and float16 overflows.
    precision = keras.backend.result_type(x.dtype, "float32")
    weights = ops.expand_dims(ops.cast(padding_mask, precision), -1)
    number = ops.sum(weights, axis=1)  # (batch, 1)
    total = ops.sum(ops.cast(x, precision) * weights, axis=1)
    average = total / ops.maximum(number, 1)  # (batch, d_model)
    return ops.cast(average, keras.backend.result_type(x.dtype, float))


def causal_mask(length):
    """Lets each position attend to itself and to earlier positions.

    A decoder position must not see the tokens after it. Section 3.2.3 of
    Vaswani et al. (2017).

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


def neighbourhood_mask(length, size):
    """Lets each position attend to the `size` positions around it.

    This is the restricted self-attention of section 4 of Vaswani et al. (2017),
    where `size` is r, at least 1. The neighbourhood is centred on the position
    and contains it. If `size` is even, it has one more position before than
    after. Combined with `causal_mask` it leaves the position and the
    `size // 2` before it. Argument `length` and result are as there.
    """
    return is_near(*_query_and_key_positions(length), size)


def is_near(queries, keys, size):
    """Tells which keys are in the neighbourhoods of queries.

    Both are integer tensors of positions, and the result has the shape to which
    they broadcast. `size` is as in `neighbourhood_mask`.
    """
    distances = keys - queries
    reach_back, reach_ahead = size // 2, (size - 1) // 2
    return ops.logical_and(distances >= -reach_back, distances <= reach_ahead)


def _query_and_key_positions(length):
    """Returns tensors of shape `(1, length, 1)` and `(1, 1, length)`."""
    if length is None:
        raise ValueError(
            "`length` must be a number, or a tensor of that length. Received: "
            "length=None. In a functional model pass the `keras.Input` itself."
        )
    num_axes = len(getattr(length, "shape", ()))
    if num_axes < 2:
        positions = ops.arange(length, dtype="int32")
    else:
        # A symbolic length is counted: it has no `arange` and no slices.
        zeros = ops.zeros_like(length, dtype="int32")
        other_axes = [axis for axis in range(num_axes) if axis != 1]
        positions = ops.cumsum(ops.sum(zeros, axis=other_axes) + 1) - 1
    positions = ops.expand_dims(positions, 0)  # (1, length)
    return ops.expand_dims(positions, 2), ops.expand_dims(positions, 1)


def segment_numbers(ids):
    """Numbers the sequences that share a packed row, starting from 0.

    A sequence ends with its end id, so the numbers follow from the ids alone.
    Ids and int32 result are `(batch, length)`.
    """
    is_end = ops.cast(ops.equal(ids, END_ID), "int32")
    return ops.cumsum(is_end, axis=-1) - is_end


def segment_positions(segments):
    """Counts the positions of each sequence of a packed row, starting from 0.

    Segments and int32 result are `(batch, length)`. The numbers of segments,
    such as those of `segment_numbers`, never decrease in a row.
    """
    # A position minus the number of positions in earlier sequences.
    is_earlier = ops.expand_dims(segments, 1) < ops.expand_dims(segments, 2)
    start = ops.sum(ops.cast(is_earlier, "int32"), axis=-1)
    return ops.arange(ops.shape(segments)[1], dtype="int32") - start


def visible_mask(padding_mask=None, query_segments=None, key_segments=None):
    """Lets queries attend to the real keys of their own sequence.

    Args:
        padding_mask: Boolean tensor of shape `(batch, key_len)`, True for real
            tokens. None means that all tokens are real.
        query_segments: Integer tensor of shape `(batch, query_len)`, the number
            of each query's sequence. None means that rows are not packed.
        key_segments: Integer tensor of shape `(batch, key_len)`, for the keys.

    Returns:
        Boolean tensor that broadcasts to `(batch, query_len, key_len)`, or None
        if everything is visible.

    Raises:
        ValueError: If only one of queries and keys has segments.
    """
    if (query_segments is None) != (key_segments is None):
        side = "keys" if query_segments is None else "queries"
        raise ValueError(
            "Both queries and keys must have segments, or neither. Received: "
            f"only segments of the {side}. Pass both; a decoder takes them as "
            "`segments` and `encoded_segments`."
        )
    real = None if padding_mask is None else ops.expand_dims(padding_mask, -2)
    if query_segments is None:
        return real
    same = ops.equal(
        ops.expand_dims(query_segments, -1), ops.expand_dims(key_segments, -2)
    )
    return combine_masks(real, same)


def self_attention_mask(
    length, padding_mask=None, segments=None, causal=False, neighbourhood_size=0
):
    """Combines the masks of the positions of one sequence.

    The arguments are as in `visible_mask`, `causal_mask`, which hides the
    future, and `neighbourhood_mask`, where 0 means any distance. Returns
    booleans that broadcast to `(batch, length, length)`, or None if everything
    is visible.
    """
    masks = [visible_mask(padding_mask, segments, segments)]
    if causal:
        masks.append(causal_mask(length))
    if neighbourhood_size:
        masks.append(neighbourhood_mask(length, neighbourhood_size))
    return combine_masks(*masks)


def ancestor_mask(ancestors, beam_size):
    """Lets each beam attend to the positions from which it grew.

    At each position every beam of a sentence writes its keys and values to a
    separate slot. When beams fork and die, the slots stay where they are, and
    each beam remembers which slots its ancestors wrote to: the integers
    `ancestors`, `(batch, beam, length)`, where -1 hides a position. Each
    position has `beam_size` slots. Returns booleans of shape `(batch, beam,
    length x beam)`.
    """
    batch, _, length = ops.shape(ancestors)
    is_ancestor = ops.equal(
        ops.expand_dims(ancestors, -1), ops.arange(beam_size, dtype="int32")
    )
    # (batch, beam, length x beam)
    return ops.reshape(is_ancestor, (batch, beam_size, length * beam_size))


def combine_masks(*masks):
    """Combines boolean tensors that broadcast together with a logical and.

    None stands for a mask that is True everywhere, and is returned if there is
    no other.
    """
    masks = [mask for mask in masks if mask is not None]
    return functools.reduce(ops.logical_and, masks) if masks else None
