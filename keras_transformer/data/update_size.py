"""The number of positions that an update needs for its number of tokens."""

import functools

import numpy as np

from keras_transformer.data import batch_plan
from keras_transformer.data import packing


def update_positions(hparams, token_pairs, pair_numbers=None):
    """Returns the number of positions per side of an update.

    If `effective_batch_tokens` is set, an update is as large as it must be to
    hold that many real tokens on its fuller side, on average over an epoch.
    Otherwise an update is one batch of `batch_tokens` positions. The number
    depends on the lengths and the hyper-parameters alone, so every epoch and
    every machine has the same one. `pair_numbers` are those of an epoch.
    """
    select = functools.partial(
        batch_plan.select_pairs,
        token_pairs.inputs.lengths,
        token_pairs.targets.lengths,
        hparams.max_length,
    )
    # Other epochs choose other pairs, so the longest of all must fit.
    _, all_lengths, _ = select()
    tokens = hparams.effective_batch_tokens
    if not tokens:
        batch_plan.check_longest(all_lengths, hparams.batch_tokens)
        return hparams.batch_tokens
    batch_plan.check_longest(all_lengths, tokens, "effective_batch_tokens")
    _, lengths, _ = select(pair_numbers)
    # One update cannot see more than there is.
    tokens = min(tokens, int(lengths.sum(axis=0).max()))
    if not tokens:
        return hparams.effective_batch_tokens
    find = (
        packing.find_packed_positions
        if hparams.packed
        else _find_padded_positions
    )
    # The pairs of an epoch can be shorter than the longest one of all.
    return max(find(lengths, tokens), int(all_lengths.max()))


def _find_padded_positions(lengths, tokens):
    """Finds the positions of padded batches that hold `tokens` on average."""
    cells, _ = batch_plan.count_cells(lengths)
    total = lengths.sum(axis=0).max()

    def excess(positions):
        bucket_of_cell, limits = batch_plan.choose_buckets(cells, positions)
        num_pairs = np.bincount(bucket_of_cell, cells[:, 2])
        most_rows = positions // np.max(limits, axis=1)
        num_batches = int(np.ceil(num_pairs / most_rows).sum())
        return total / num_batches - tokens

    # No batch holds more tokens than positions, and a large one holds all.
    low, high = tokens, 2 * tokens
    while excess(high) < 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return min(low, high, key=lambda positions: abs(excess(positions)))
