"""Plan which sentence pairs share a row of a batch, to leave few gaps."""

import numpy as np

from keras_transformer.data import batch_plan
from keras_transformer.data import buckets

# Room of a row, in average pairs: enough to combine them well, few enough to
# keep down the cost of attention, which grows with the length of a row.
PAIRS_PER_ROW = 4
# A row that has room for this many average pairs takes one at random. 1.6 to
# 2.2 fill about equally well.
ROOMY = 1.8
MAX_CHOICE = 2048  # most cells to search for the best pair
NUM_DRAWN = 64  # pairs drawn at a time


def plan_packed(
    input_lengths,
    target_lengths,
    batch_tokens,
    max_length=None,
    seed=0,
    epoch=0,
    shuffle=True,
):
    """Pack the sentence pairs of an epoch into rows of one length.

    Several pairs share a row, one after another on either side: nearly every
    position holds a token, and all batches have one shape. Choose it where a
    compilation is dear, or where lengths differ so much that `plan_batches`
    pads a lot. Every kept pair occurs in exactly one row.

    Which lengths share a row is the same in every epoch, and so are the shape
    and the number of the batches. Which pairs of these lengths they are, and
    the order of the rows, is a pure function of the arguments.

    Args:
        input_lengths: integers `(pairs,)`, tokens of each source sentence.
        target_lengths: integers `(pairs,)`, tokens of each target sentence.
        batch_tokens: most source positions, and most target positions, of a
            batch, padding included.
        max_length: pairs with a longer side are left out. None keeps all.
        seed: chooses the random order, at least 0.
        epoch: number of the epoch; each has an order of its own.
        shuffle: whether to shuffle. If not, every epoch is the same.

    Returns:
        A `BatchPlan` whose indices are `(rows, pairs_per_row)`.

    Raises:
        ValueError: if a kept sentence is longer than `batch_tokens`.
    """
    kept, lengths = batch_plan.select_pairs(
        input_lengths, target_lengths, batch_tokens, max_length
    )
    num_dropped = len(input_lengths) - len(kept)
    if not len(kept):
        return batch_plan.BatchPlan([], [], [], 0, num_dropped)
    capacity = _choose_capacity(lengths, batch_tokens)
    cells, cell_of_pair = buckets.count_cells(lengths)
    rows = _choose_rows(cells, capacity)  # (all_rows, pairs_per_row)

    generator = np.random.default_rng([seed, epoch])
    if shuffle:
        shuffled = generator.permutation(len(kept))
        kept, cell_of_pair = kept[shuffled], cell_of_pair[shuffled]
    rows = _put_pairs(rows, kept, cell_of_pair)
    if shuffle:
        generator.shuffle(rows)
    batches = batch_plan.lay_out(rows, batch_tokens // max(capacity))
    shape = (batches.shape[1], *capacity)
    order = [(0, batch) for batch in range(len(batches))]
    return batch_plan.BatchPlan(
        [batches], [shape], order, int(lengths.sum()), num_dropped
    )


def _choose_capacity(lengths, batch_tokens):
    """Return `(input_len, target_len)` of a row.

    The two are in proportion to the tokens of the sides, so that both fill.
    """
    mean, longest = lengths.mean(axis=0), lengths.max(axis=0)
    num_pairs = max(PAIRS_PER_ROW, *(longest / mean))
    capacity = np.ceil(num_pairs * mean).astype(int)
    return tuple(np.clip(capacity, longest, batch_tokens).tolist())


def _choose_rows(cells, capacity):
    """Combine pairs of all lengths into rows that are as full as possible.

    Args:
        cells: integers `(cells, 3)`, from `count_cells`.
        capacity: `(input_len, target_len)` of a row.

    Returns:
        Integers `(all_rows, pairs_per_row)`, the cell of each pair; -1 for no
        pair.
    """
    packer = _Packer(cells, capacity)
    chosen, repeats = zip(*iter(packer.next_row, None))
    width = max(len(row) for row in chosen)
    rows = np.full((len(chosen), width), batch_plan.EMPTY_ROW, np.int64)
    for number, row in enumerate(chosen):
        rows[number, : len(row)] = row
    return np.repeat(rows, repeats, axis=0)


def _put_pairs(rows, pairs, cell_of_pair):
    """Replace each cell in the rows by a pair of it, in the pairs' order."""
    by_cell = pairs[np.argsort(cell_of_pair, kind="stable")]
    places = np.flatnonzero(rows != batch_plan.EMPTY_ROW)
    places = places[np.argsort(rows.ravel()[places], kind="stable")]
    filled = np.full(rows.size, batch_plan.EMPTY_ROW, np.int64)
    filled[places] = by_cell
    return filled.reshape(rows.shape)


class _Packer:
    """Fill one row after another with pairs from the cells.

    A row takes pairs at random as long as it is roomy, then those that fit
    best. So the last rows have about the choice that the first ones had; if
    the longest pairs went first, the rest would be too much alike to combine.
    Each row is repeated as long as there are pairs for it: the work grows with
    the number of cells, not of pairs.
    """

    def __init__(self, cells, capacity):
        # Which lengths share a row must not depend on seed or epoch: every
        # epoch has the same number of batches.
        self._generator = np.random.default_rng(0)
        self._capacity = capacity
        counts = cells[:, 2]
        self._roomy = (ROOMY * counts @ cells[:, :2] / counts.sum()).tolist()
        self._numbers = self._generator.permutation(len(cells))
        self._cells = cells[self._numbers].T.copy()  # (3, cells)
        self._drawn = []

    def next_row(self):
        """Return a row's cells and how often it occurs; None at the end."""
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
        used, times = np.unique(row, return_counts=True)
        repeats = np.min(self._cells[2, used] // times)
        self._cells[2, used] -= repeats * times
        return self._numbers[row], 1 + repeats

    def _next_pair(self, free_input, free_target):
        """Return the cell of a pair that fits; None if there is none."""
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
        """Draw pairs at random, and drop the cells that are used up."""
        is_left = self._cells[2] > 0
        self._numbers = self._numbers[is_left]
        self._cells = self._cells[:, is_left]
        ends = np.cumsum(self._cells[2, :MAX_CHOICE])
        if len(ends):
            pairs = self._generator.integers(ends[-1], size=NUM_DRAWN)
            self._drawn = np.searchsorted(ends, pairs, side="right").tolist()
