import numpy as np
import pytest
from random_pairs import random_lengths

from keras_transformer.data.batches import batch_plan


class EfficiencyTest:
    @pytest.mark.parametrize("batch_tokens", [1024, 2048, 4096])
    def test_under_12_percent_of_the_positions_are_padding(self, batch_tokens):
        plan = batch_plan.plan_batches(*random_lengths(29_000), batch_tokens)
        assert plan.padding_share < 0.12

    def test_each_cut_is_the_best_there_is(self):
        generator = np.random.default_rng(1)
        cells = generator.integers(1, 12, (30, 2))
        cells = np.unique(cells, axis=0)
        counts = generator.integers(1, 50, len(cells))
        cells = np.concatenate([cells, counts[:, None]], axis=1)
        every = np.arange(len(cells))
        saving, low, high = batch_plan._find_best_cut(cells, every, 100)
        assert sorted([*low, *high]) == every.tolist()
        parts = [cells[:, side] <= at for side in (0, 1) for at in range(1, 12)]
        savings = [
            positions(cells, 100) - sum(positions(c, 100) for c in halves)
            for part in parts
            for halves in [(cells[part], cells[~part])]
            if all(fills_a_batch(half, 100) for half in halves)
        ]
        assert saving == max(savings) > 0


def positions(cells, batch_tokens):
    """Returns the positions of one bucket, counted batch by batch."""
    input_len, target_len = cells[:, :2].max(axis=0)
    num_pairs = cells[:, 2].sum()
    max_rows = batch_tokens // max(input_len, target_len)
    num_batches = len(range(0, num_pairs, max_rows))
    rows = next(r for r in range(num_pairs + 1) if r * num_batches >= num_pairs)
    return sum(rows * (input_len + target_len) for _ in range(num_batches))


def fills_a_batch(cells, batch_tokens):
    if not len(cells):
        return False
    return cells[:, 2].sum() * cells[:, :2].max() >= batch_tokens
