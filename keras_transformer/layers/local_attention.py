"""Attention to neighbouring positions only, in time linear in the length."""

from keras import ops

from keras_transformer.masks import combine_masks
from keras_transformer.masks import is_near
from keras_transformer.masks import visible_mask

MIN_BLOCK = 32  # products of smaller matrices reach less of the peak speed


def attend_to_neighbours(
    attend, queries, keys, values, size, padding_mask, segments, causal
):
    """Attends from each position of a sequence to its neighbourhood.

    The sequence is cut into blocks of half a neighbourhood or more, so all
    neighbours of a block are in itself and the blocks beside it. Time and
    memory grow with `length x size` instead of `length x length`.

    `attend` is a function such as `MultiHeadAttention.compute_attention`, with
    the axis of blocks after the heads. Queries, keys and values are `(batch,
    num_heads, length, width)`, and `size` is r of `masks.neighbourhood_mask`.
    The other arguments are as in `masks.self_attention_mask`. Returns a tensor
    of shape `(batch, num_heads, length, d_v)`.
    """
    # A mask over all pairs would still compute all scores. Blocks make the
    # products themselves small: each sees a window of three blocks, in which
    # the mask hides the few positions that are too far away.
    blocks = _Blocks(ops.shape(queries)[2], size, causal)
    heads, _ = attend(
        blocks.cut_queries(queries, axis=2),
        blocks.cut_keys(keys, axis=2),
        blocks.cut_keys(values, axis=2),
        blocks.make_mask(padding_mask, segments),
        query_positions=ops.expand_dims(blocks.query_positions, 0),
        key_positions=ops.expand_dims(blocks.key_positions, 0),
    )
    return blocks.join(heads)


class _Blocks:
    """Cuts the positions of a sequence into blocks with their neighbours.

    `size` is r, the number of positions of a neighbourhood. If `causal`, the
    future is hidden and the block after is left out.
    """

    def __init__(self, length, size, causal):
        self.length = length
        self.size = size
        self.causal = causal
        is_known = isinstance(length, int)
        # A sequence without positions has one block, which is padding.
        num_cells = max(length, 1) if is_known else ops.maximum(length, 1)
        minimum = min if is_known else ops.minimum
        self.block_len = minimum(max(size // 2, MIN_BLOCK), num_cells)
        # Rounds up.
        self.num_blocks = -(-num_cells // self.block_len)
        self.blocks_seen = 2 if causal else 3
        starts = ops.expand_dims(ops.arange(self.num_blocks, dtype="int32"), 1)
        starts = starts * self.block_len
        # (num_blocks, block_len), and (num_blocks, window_len)
        self.query_positions = starts + ops.arange(
            self.block_len, dtype="int32"
        )
        window = ops.arange(self.blocks_seen * self.block_len, dtype="int32")
        self.key_positions = starts - self.block_len + window

    def cut_queries(self, x, axis):
        """Returns `x` with its positions as `num_blocks` and `block_len`."""
        return self._cut(x, axis, blocks_before=0, num_blocks=self.num_blocks)

    def cut_keys(self, x, axis):
        """Returns the window of `x` that each block sees, itself included."""
        # The axis of the positions becomes `num_blocks` and `window_len`.
        num_blocks = self.num_blocks + self.blocks_seen - 1
        # There is an empty block before the first one, and after the last one
        # unless the future is hidden. Copies that are shifted by one block each
        # are the windows, side by side.
        x = self._cut(x, axis, blocks_before=1, num_blocks=num_blocks)
        return ops.concatenate(
            [
                slice_axis(x, axis, first, self.num_blocks)
                for first in range(self.blocks_seen)
            ],
            axis=axis + 1,
        )  # (..., num_blocks, window_len, ...)

    def make_mask(self, padding_mask, segments):
        """Returns which keys of its window the queries of a block may see."""
        # The result broadcasts to `(batch, num_blocks, block_len, window_len)`.
        keys = self.key_positions
        exists = (keys >= 0) & (keys < self.length)
        queries = ops.expand_dims(self.query_positions, 2)
        keys = ops.expand_dims(keys, 1)
        if padding_mask is not None:
            padding_mask = self.cut_keys(padding_mask, axis=1)
        seen_from = seen = None
        if segments is not None:
            seen_from = self.cut_queries(segments, axis=1)
            seen = self.cut_keys(segments, axis=1)
        return combine_masks(
            ops.expand_dims(exists, 1),
            is_near(queries, keys, self.size),
            keys <= queries if self.causal else None,
            visible_mask(padding_mask, seen_from, seen),
        )

    def join(self, heads):
        """Joins the outputs of all blocks into one sequence."""
        batch, num_heads, num_blocks, block_len, width = ops.shape(heads)
        heads = ops.reshape(
            heads, (batch, num_heads, num_blocks * block_len, width)
        )  # (batch, num_heads, num_blocks x block_len, d_v)
        return slice_axis(heads, 2, 0, self.length)

    def _cut(self, x, axis, blocks_before, num_blocks):
        if x.shape[axis] == 1:  # a mask may have one value for all positions
            x = ops.repeat(x, self.length, axis=axis)
        start = blocks_before * self.block_len
        end = num_blocks * self.block_len - start - self.length
        shape = ops.shape(x)
        before, after = shape[:axis], shape[axis + 1 :]
        padding = [[0, 0]] * len(before) + [[start, end]]
        x = ops.pad(x, padding + [[0, 0]] * len(after))
        return ops.reshape(
            x, (*before, num_blocks, self.block_len, *after)
        )  # (..., num_blocks, block_len, ...)


def slice_axis(x, axis, start, size):
    """Returns the entries from `start` on of one axis."""
    starts, sizes = [0] * len(x.shape), [*ops.shape(x)]
    starts[axis], sizes[axis] = start, size
    # On TensorFlow, the gradient of `x[:, start:end]` takes 12 times as long.
    return ops.slice(x, starts, sizes)
