"""The plan of packed batches, in which several sentence pairs share a row."""

import functools
import math

import numpy as np

from keras_transformer.data.batches import batch_plan

# Capacity of a row in pairs of average length. More would fill the rows a
# little better, but the cost of attention grows with the length of a row.
PAIRS_PER_ROW = 4
# While a row has room for this many average pairs, its next pair is random.
# Values from 1.6 to 2.2 fill the rows about equally well.
ROOMY = 1.8
MAX_CHOICE = 2048  # largest number of cells searched for the best pair
NUM_DRAWN = 64  # number of pairs drawn at a time


def _pack_pairs(pairs, lengths, batch_tokens, reference, shuffle_rows):
    """Returns the batches of an epoch, which all have one shape."""
    has_reference = reference is not None
    typical = reference if has_reference else lengths
    capacity = _choose_capacity(typical, batch_tokens)
    cells, cell_of_pair = batch_plan.count_cells(lengths)
    rows = _choose_rows(cells, capacity)  # (all_rows, pairs_per_row)
    rows = _put_pairs(rows, pairs, cell_of_pair)
    shuffle_rows(rows)
    max_rows = batch_tokens // max(capacity)
    laid_out = batch_plan.lay_out(rows, max_rows, has_reference)
    shape = (laid_out.shape[1], *capacity)
    return [(indices, shape) for indices in laid_out]


# Packs the sentence pairs of an epoch into rows of one length. Several pairs
# share a row, one after another on either side, so nearly every position holds
# a token and all batches have one shape. Choose it where a compilation is
# expensive, or where lengths differ so much that `plan_batches` pads a lot. In
# every epoch of the same pairs, the same lengths share a row, and the shape and
# the number of the batches are the same. With a `reference` the shape follows
# from it alone. `fixed_shapes` has no effect.
plan_packed = functools.partial(batch_plan.plan_batches, pack=_pack_pairs)


def find_packed_positions(lengths, tokens):
    """Finds the `batch_tokens` of batches that hold `tokens` on average.

    The mean of the side with more tokens is as close as whole rows allow.
    """
    capacity = _choose_capacity(lengths, tokens)
    cells, _ = batch_plan.count_cells(lengths)
    num_rows = len(_choose_rows(cells, capacity))
    # A batch has whole rows, so few numbers of tokens can be met exactly. The
    # better one of the two nearest numbers of batches wins.
    total = lengths.sum(axis=0).max()
    num_batches = total / tokens
    rows = min(
        math.ceil(num_rows / max(1, math.floor(num_batches))),
        math.ceil(num_rows / math.ceil(num_batches)),
        key=lambda rows: abs(total / math.ceil(num_rows / rows) - tokens),
    )
    return rows * max(capacity)


def _choose_capacity(lengths, batch_tokens):
    """Returns the `(input_len, target_len)` of a row, which fill up alike."""
    mean, longest = lengths.mean(axis=0), lengths.max(axis=0)
    num_pairs = max(PAIRS_PER_ROW, *(longest / mean))
    capacity = np.ceil(num_pairs * mean).astype(int)
    return tuple(np.clip(capacity, longest, batch_tokens).tolist())


def _choose_rows(cells, capacity):
    """Combines pairs of all lengths into rows that are as full as possible."""
    # The result, `(all_rows, pairs_per_row)`, holds the cells of pairs, or -1.
    packer = _Packer(cells, capacity)
    chosen, repeats = zip(*iter(packer.next_row, None))
    width = max(len(row) for row in chosen)
    rows = np.full((len(chosen), width), batch_plan.EMPTY_ROW, np.int64)
    for number, row in enumerate(chosen):
        rows[number, : len(row)] = row
    return np.repeat(rows, repeats, axis=0)


def _put_pairs(rows, pairs, cell_of_pair):
    """Replaces each cell in the rows by one of its pairs, in their order."""
    by_cell = pairs[np.argsort(cell_of_pair, kind="stable")]
    places = np.flatnonzero(rows != batch_plan.EMPTY_ROW)
    # Pairs and places are both sorted by cell, so they match one to one.
    places = places[np.argsort(rows.ravel()[places], kind="stable")]
    filled = np.full(rows.size, batch_plan.EMPTY_ROW, np.int64)
    filled[places] = by_cell
    return filled.reshape(rows.shape)  # (all_rows, pairs_per_row)


class _Packer:
    """Fills one row after another with pairs from the cells.

    A row takes random pairs as long as it has much room, then the pairs that
    fit best. The last rows therefore choose among about the same lengths as the
    first. If the longest pairs went first, the remaining ones would be too much
    alike to combine. Each row is repeated as long as there are pairs for it, so
    the work grows with the number of cells, not with the number of pairs.
    """

    def __init__(self, cells, capacity):
        # A constant seed: every epoch must have the same number of batches, so
        # the choice of lengths must not depend on the seed of the run.
        self._generator = np.random.default_rng(0)
        self._capacity = capacity
        counts = cells[:, 2]
        self._roomy = (ROOMY * counts @ cells[:, :2] / counts.sum()).tolist()
        self._numbers = self._generator.permutation(len(cells))
        self._cells = cells[self._numbers].T.copy()  # (3, cells)
        self._drawn = []

    def next_row(self):
        """Returns the cells of a row and how often it occurs, or None."""
        at = self._draw()
        if at is None:
            self._draw_ahead()
            at = self._draw()
        if at is None:
            return None
        row = []
        free_input, free_target = self._capacity
        while at is not None:
            row.append(at)
            self._cells[2, at] -= 1
            free_input -= self._cells[0, at]
            free_target -= self._cells[1, at]
            at = self._next_pair(free_input, free_target)
        # The same combination of lengths is used again as long as there are
        # pairs for it. That saves a search for each of these rows.
        used, times = np.unique(row, return_counts=True)
        repeats = np.min(self._cells[2, used] // times)
        self._cells[2, used] -= repeats * times
        return self._numbers[row], 1 + repeats

    def _next_pair(self, free_input, free_target):
        """Returns the cell of a pair that fits, or None."""
        if free_input > self._roomy[0] and free_target > self._roomy[1]:
            at = self._draw()
            if at is not None:
                inputs, targets, _ = self._cells[:, at]
                if inputs <= free_input and targets <= free_target:
                    return at
        inputs, targets, left = self._cells[:, :MAX_CHOICE]
        fits = (inputs <= free_input) & (targets <= free_target) & (left > 0)
        fitting = np.flatnonzero(fits)
        if not len(fitting):
            return None
        # The gaps are relative, since the two sides differ in capacity.
        input_gap = (free_input - inputs[fitting]) / self._capacity[0]
        target_gap = (free_target - targets[fitting]) / self._capacity[1]
        return fitting[np.argmin(input_gap**2 + target_gap**2)]

    def _draw(self):
        while self._drawn:
            at = self._drawn.pop()
            if self._cells[2, at]:
                return at
        return None

    def _draw_ahead(self):
        """Draws pairs at random and drops the cells that are used up."""
        is_left = self._cells[2] > 0
        self._numbers = self._numbers[is_left]
        self._cells = self._cells[:, is_left]
        ends = np.cumsum(self._cells[2, :MAX_CHOICE])
        if len(ends):
            # A cell is drawn as often as it has pairs left.
            pairs = self._generator.integers(ends[-1], size=NUM_DRAWN)
            self._drawn = np.searchsorted(ends, pairs, side="right").tolist()
