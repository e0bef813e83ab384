"""Batches of a plan, divided among the rounds and replicas of an update.

It also finds how many positions an update needs for its number of tokens.
"""

import math
import typing

import numpy as np

from keras_transformer.data.batches import batch_plan
from keras_transformer.data.batches import packing


class Layout(typing.NamedTuple):
    """How the rows of a global batch are divided, and which parts are ours."""

    num_rounds: int = 1  # parts that a replica computes one after another
    num_replicas: int = 1  # devices of all workers together
    first_replica: int = 0  # number of the first replica that this worker feeds
    local_replicas: int = 1  # number of replicas that this worker feeds

    @classmethod
    def from_plan(cls, plan, batch_tokens, engine):
        """Divides the batches of a plan among an engine's replicas.

        There are as few rounds of accumulation as `batch_tokens` allows, the
        positions per side that a replica takes at once, and the same number in
        every batch. A replica takes at least one row at once.
        """
        num_rounds = 1
        for rows, input_len, target_len in plan.shapes:
            rows_at_once = max(1, batch_tokens // max(input_len, target_len))
            parts = math.ceil(rows / rows_at_once)
            num_rounds = max(num_rounds, math.ceil(parts / engine.num_replicas))
        ours = engine.first_replica, engine.local_replicas
        return cls(num_rounds, engine.num_replicas, *ours)


class UpdateSize(typing.NamedTuple):
    """The size of an update on all workers together."""

    lengths: np.ndarray  # source and target length of each pair, (pairs, 2)
    rows: int  # rows of all parts, empty ones included
    input_len: int
    target_len: int


class UpdateBatches:
    """The batches of an epoch, divided for gradient accumulation.

    A batch is a pure function of its number, so several threads can make
    batches at the same time, and a resumed run makes the same ones. The rows of
    a batch go in order to the replicas of the first round, then to those of the
    second, and so on, in parts of equal size. Empty rows fill the last parts.
    An update therefore sees the same rows, each with the same seed, in every
    layout. The seeds depend on `seed`, `epoch` and the number of the batch.

    `batches[number]` holds the parts of all replicas of this worker. It is a
    dictionary of "inputs" and "targets", int32 arrays of shapes `(num_rounds,
    local_replicas, rows, input_len)` and `(num_rounds, local_replicas, rows,
    target_len)`; "seeds", an int32 array of shape `(num_rounds, local_replicas,
    rows)` with a random number for each row, 0 for an empty one; and
    "num_tokens", a float32, the number of target tokens of all workers. If
    `Problem.make_guidance` returns something, it has "guidance", an int32 array
    of shape `(num_rounds, local_replicas, rows, target_len, n)`.
    """

    def __init__(
        self, token_pairs, plan, layout=Layout(), seed=0, epoch=0, guidance=None
    ):
        self.plan = plan
        self.layout = layout
        self.guidance = guidance
        self._token_pairs = token_pairs
        self._position = (seed, epoch)

    def __len__(self):
        return len(self.plan)

    def __getitem__(self, number):
        first, num_local = self.layout[2:]
        return self.read(number, slice(first, first + num_local))

    def size(self, number):
        """Returns the `UpdateSize` of a batch."""
        indices, (rows, input_len, target_len) = self.plan[number]
        num_parts = self.layout.num_rounds * self.layout.num_replicas
        rows = math.ceil(rows / num_parts) * num_parts
        return UpdateSize(self._lengths(indices), rows, input_len, target_len)

    def read(self, number, replicas):
        """Returns the parts of a slice of all replicas of a batch."""
        indices, shape = self.plan[number]
        # Seeds are drawn for all rows before the rows are divided, so a row has
        # the same dropout on any number of devices.
        seeds = _draw_seeds(indices, (*self._position, number))
        parts = self._divide(indices, replicas, batch_plan.EMPTY_ROW)
        rows = parts.reshape(-1, *indices.shape[1:])  # (rows, ...)
        inputs, targets = batch_plan.pad_batch(self._token_pairs, rows, shape)
        # Over all workers, because the loss is the mean over all tokens.
        num_tokens = self._lengths(indices)[:, 1].sum()
        outer = parts.shape[:3]  # (num_rounds, replicas, rows)
        batch = {
            "inputs": inputs.reshape(*outer, -1),  # (..., input_len)
            "targets": targets.reshape(*outer, -1),  # (..., target_len)
            "seeds": self._divide(seeds, replicas, 0),
            "num_tokens": np.float32(num_tokens),
        }
        if self.guidance:
            array = self.guidance.read(self._token_pairs, rows, shape)
            # (num_rounds, replicas, rows, target_len, n)
            batch["guidance"] = array.reshape(*outer, *array.shape[1:])
        return batch

    def _lengths(self, indices):
        pairs = indices[indices >= 0]
        sides = [side.count_tokens(pairs) for side in self._token_pairs]
        return np.stack(sides, axis=1)  # (pairs, 2)

    def _divide(self, rows, replicas, empty):
        """Returns parts of shape `(num_rounds, replicas, rows, ...)`."""
        num_rounds, num_replicas, *_ = self.layout
        num_missing = -len(rows) % (num_rounds * num_replicas)
        missing = np.full((num_missing, *rows.shape[1:]), empty, rows.dtype)
        parts = np.concatenate([rows, missing]).reshape(
            num_rounds, num_replicas, -1, *rows.shape[1:]
        )  # (num_rounds, num_replicas, rows, ...)
        return parts[:, replicas]


def _draw_seeds(indices, position):
    """Draws the seed of each row, int32 `(rows,)`."""
    # NumPy pads a short seed with zeros. The trailing 1 keeps this generator
    # apart from the one that orders the epoch.
    generator = np.random.default_rng([*position, 1])
    bounds = np.iinfo(np.int32)
    seeds = generator.integers(
        bounds.min, bounds.max, len(indices), np.int32, endpoint=True
    )
    pairs = indices.reshape(len(indices), -1)  # (rows, pairs_per_row)
    is_empty = pairs.max(axis=1) < 0
    return np.where(is_empty, np.int32(0), seeds)


def update_positions(hparams, token_pairs, pair_numbers=None):
    """Returns the number of positions per side of an update.

    If `effective_batch_tokens` is set, an update is just large enough to hold
    that many real tokens on its fuller side, on average over an epoch.
    Otherwise an update is one batch of `batch_tokens` positions. The number
    depends only on the lengths and the hyper-parameters, so every epoch and
    every machine has the same one. `pair_numbers` are the pairs of an epoch.
    """
    limits = *(side.lengths for side in token_pairs), hparams.max_length
    # Other epochs choose other pairs, so the longest of all must fit.
    _, all_lengths, _ = batch_plan.select_pairs(*limits)
    tokens = hparams.effective_batch_tokens
    if not tokens:
        batch_plan.check_longest(all_lengths, hparams.batch_tokens)
        return hparams.batch_tokens
    batch_plan.check_longest(all_lengths, tokens, "effective_batch_tokens")
    _, lengths, _ = batch_plan.select_pairs(*limits, pair_numbers)
    # One update cannot see more than there is.
    tokens = min(tokens, int(lengths.sum(axis=0).max()))
    if not tokens:
        return hparams.effective_batch_tokens
    find = _find_padded_positions
    if hparams.packed:
        find = packing.find_packed_positions
    # The pairs of an epoch can be shorter than the longest one of all.
    return max(find(lengths, tokens), int(all_lengths.max()))


def _find_padded_positions(lengths, tokens):
    """Finds the positions of padded batches that hold `tokens` on average."""
    cells, _ = batch_plan.count_cells(lengths)
    total = lengths.sum(axis=0).max()

    def excess(positions):
        bucket_of_cell, limits = batch_plan.choose_buckets(cells, positions)
        num_pairs = np.bincount(bucket_of_cell, cells[:, 2])
        max_rows = positions // np.max(limits, axis=1)
        num_batches = int(np.ceil(num_pairs / max_rows).sum())
        return total / num_batches - tokens

    # The more positions a batch has, the more tokens it holds. The number is
    # therefore found by halving an interval that contains it.
    # No batch holds more tokens than positions, and a large one holds all.
    low, high = tokens, 2 * tokens
    while excess(high) < 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return min(low, high, key=lambda positions: abs(excess(positions)))
