"""Relative positions in self-attention, Shaw et al. (2018)."""

import keras
from keras import ops

from keras_transformer.layers.local_attention import slice_axis


class Distances:
    """Adds the vectors of distances between queries and keys to attention.

    A table `(2k + 1, width)` has a vector for each distance from `-k` to `k`,
    and farther positions share the last ones. Queries and keys are runs of
    positions, so equal distances are on the diagonals of the scores. Products
    with one vector for each diagonal are moved to their places, so that there
    is never a tensor of `(query_len, key_len, width)`.

    The positions are as in `MultiHeadAttention.compute_attention`.
    """

    def __init__(self, query_positions, key_positions):
        # In a step, the queries are beams at one position, and the slots of
        # keys are in any order. Without queries there are no diagonals either.
        self.is_step = query_positions.shape[-1] in (0, 1)
        queries, keys = query_positions, key_positions
        while len(queries.shape) > 1:  # all blocks have these distances
            queries, keys = queries[0], keys[0]
        # From the last query and the first key to the first query and all keys
        self.numbers = ops.concatenate(
            [keys[:1] - ops.flip(queries[1:], 0), keys - queries[:1]], axis=0
        )  # (query_len + key_len - 1,)

    def score(self, queries, table):
        """Multiplies queries by vectors, equation 4 of the paper.

        From `(..., query_len, d_k)` to `(..., query_len, key_len)`.
        """
        products = ops.matmul(queries, ops.transpose(self._select(table)))
        if self.is_step:
            return products
        # Each row has to begin one place before the row above it. A zero before
        # each row moves it on by one, and the first zeros are dropped.
        *leading, length, width = ops.shape(products)
        rows = _pad(products, -1, 1, 0)
        columns = ops.reshape(rows, (*leading, width + 1, length))
        columns = slice_axis(columns, -2, 1, width)
        rows = ops.reshape(columns, (*leading, length, width))
        return slice_axis(rows, -1, 0, width - length + 1)

    def sum(self, weights, table):
        """Sums up vectors by attention weights, equation 3 of the paper.

        From `(..., query_len, key_len)` to `(..., query_len, d_v)`.
        """
        if not self.is_step:  # as in `score`, but backwards
            *leading, length, key_len = ops.shape(weights)
            width = length + key_len - 1
            rows = _pad(weights, -1, 0, length - 1)
            columns = ops.reshape(rows, (*leading, width, length))
            columns = _pad(columns, -2, 1, 0)
            rows = ops.reshape(columns, (*leading, length, width + 1))
            weights = slice_axis(rows, -1, 1, width)
        return ops.matmul(weights, self._select(table))

    def _select(self, table):
        """Returns the vector of each diagonal, or in a step of each key."""
        limit = table.shape[0] // 2
        rows = ops.clip(self.numbers, -limit, limit) + limit
        return ops.take(table, rows, axis=0)


def add_tables(layer):
    """Adds the tables of keys and of values to a `MultiHeadAttention`."""
    return [
        layer.add_weight(
            name=f"relative_{kind}",
            # The heads share the vectors, as in Tensor2Tensor.
            shape=(2 * layer.max_relative_position + 1, width),
            initializer=keras.initializers.GlorotUniform(),
            # The gradient of a vector adds up over a batch, in float32.
            autocast=False,
        )
        for kind, width in (("keys", layer.d_k), ("values", layer.d_v))
    ]


def _pad(x, axis, before, after):
    """Pads one axis with zeros."""
    widths = [[0, 0]] * len(x.shape)
    widths[axis] = [before, after]
    return ops.pad(x, widths)
