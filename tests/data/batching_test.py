"""Tests of the plan of an epoch's batches."""

import subprocess
import sys
import time

import numpy as np
import pytest

from keras_transformer.data import batch_plan
from keras_transformer.data import buckets
from keras_transformer.data.token_arrays import TokenArray
from keras_transformer.data.token_arrays import TokenArrayWriter
from keras_transformer.data.token_arrays import TokenPairs


def random_lengths(num_pairs, seed=0):
    """Lengths as of real sentences: skewed, the two sides correlated."""
    generator = np.random.default_rng(seed)
    inputs = np.exp(generator.normal(2.6, 0.4, num_pairs))
    targets = inputs * np.exp(generator.normal(0.05, 0.2, num_pairs))
    return inputs.astype(int) + 1, targets.astype(int) + 1


def token_pairs(directory, lengths):
    """Writes pairs in which every token says its pair and its place."""
    sides = []
    for name, side in zip(("source", "target"), lengths):
        path = str(directory / name)
        with TokenArrayWriter(path, 1 << 30) as writer:
            for pair, length in enumerate(side):
                writer.append(1 + 1000 * pair + np.arange(length))
        sides.append(TokenArray(path))
    return TokenPairs(*sides)


def batches_of(plan):
    return [(plan[i][0].tolist(), plan[i][1]) for i in range(len(plan))]


CASES = [
    (num_pairs, batch_tokens, max_length)
    for num_pairs in (1, 17, 3000)
    for batch_tokens in (150, 100_000)
    for max_length in (None, 20)
]


@pytest.mark.parametrize("case", CASES, ids=str)
class EveryPlanTest:
    def plan(self, num_pairs, batch_tokens, max_length, **options):
        self.lengths = np.stack(random_lengths(num_pairs))
        return batch_plan.plan_batches(
            *self.lengths, batch_tokens, max_length, **options
        )

    def test_every_kept_pair_occurs_once(self, case):
        plan = self.plan(*case)
        rows = np.concatenate([plan[i][0] for i in range(len(plan))])
        is_kept = self.lengths.max(axis=0) <= (case[2] or np.inf)
        assert sorted(rows[rows >= 0]) == np.flatnonzero(is_kept).tolist()
        assert plan.num_dropped == np.sum(~is_kept)

    def test_every_pair_fits_its_batch(self, case):
        plan = self.plan(*case)
        for i in range(len(plan)):
            indices, (rows, input_len, target_len) = plan[i]
            assert indices.shape == (rows,)
            longest = self.lengths[:, indices[indices >= 0]].max(axis=1)
            assert longest[0] <= input_len and longest[1] <= target_len

    def test_no_batch_exceeds_the_budget(self, case):
        for rows, input_len, target_len in self.plan(*case).shapes:
            assert rows * max(input_len, target_len) <= case[1]

    def test_shapes_are_few_and_all_used(self, case):
        plan = self.plan(*case)
        assert len(plan.shapes) <= buckets.MAX_SHAPES
        assert {plan[i][1] for i in range(len(plan))} == set(plan.shapes)

    def test_a_batch_has_at_most_one_empty_row(self, case):
        plan = self.plan(*case)
        for i in range(len(plan)):
            assert np.sum(plan[i][0] < 0) <= 1

    def test_padding_share_agrees_with_a_count(self, case):
        plan = self.plan(*case)
        positions = tokens = 0
        for i in range(len(plan)):
            indices, (rows, input_len, target_len) = plan[i]
            positions += rows * (input_len + target_len)
            tokens += self.lengths[:, indices[indices >= 0]].sum()
        assert plan.padding_share == pytest.approx(1 - tokens / positions)

    def test_shapes_and_length_are_the_same_in_every_epoch(self, case):
        first = self.plan(*case, epoch=0)
        later = self.plan(*case, epoch=7, seed=3)
        assert first.shapes == later.shapes
        assert len(first) == len(later)


class OrderTest:
    LENGTHS = random_lengths(3000)

    def plan(self, **options):
        return batches_of(
            batch_plan.plan_batches(*self.LENGTHS, 1000, **options)
        )

    def test_seed_and_epoch_decide_it(self):
        assert self.plan(seed=5, epoch=2) == self.plan(seed=5, epoch=2)

    def test_another_process_orders_alike(self):
        code = (
            "import numpy as np\n"
            "from keras_transformer.data import batch_plan\n"
            "lengths = np.arange(1, 40)\n"
            "plan = batch_plan.plan_batches(lengths, lengths, 80, seed=5)\n"
            "print([plan[i][0].tolist() for i in range(len(plan))])\n"
        )
        lengths = np.arange(1, 40)
        plan = batch_plan.plan_batches(lengths, lengths, 80, seed=5)
        here = [plan[i][0].tolist() for i in range(len(plan))]
        assert run_python(code) == f"{here}\n"

    def test_every_epoch_and_seed_has_its_own(self):
        plans = [
            self.plan(seed=seed, epoch=epoch)
            for seed in (0, 1)
            for epoch in (0, 1)
        ]
        for i, plan in enumerate(plans):
            assert all(plan != other for other in plans[:i])

    def test_other_pairs_meet_in_another_epoch(self):
        first = {frozenset(rows) for rows, _ in self.plan(epoch=0)}
        second = {frozenset(rows) for rows, _ in self.plan(epoch=1)}
        assert len(first & second) < 0.1 * len(first)

    def test_shapes_are_mixed_over_the_epoch(self):
        shapes = [shape for _, shape in self.plan()]
        repeats = np.mean([a == b for a, b in zip(shapes, shapes[1:])])
        assert repeats < 0.3

    def test_unshuffled_ignores_seed_and_epoch(self):
        assert self.plan(shuffle=False) == self.plan(
            shuffle=False, seed=4, epoch=4
        )


class BiggestFirstTest:
    LENGTHS = random_lengths(3000)

    def plan(self, **options):
        return batch_plan.plan_batches(*self.LENGTHS, 1000, **options)

    def test_epoch_0_begins_with_the_shape_of_most_memory(self):
        for seed in range(10):
            plan = self.plan(seed=seed)
            memory = {
                (rows * (input_len + target_len), input_len + target_len)
                for rows, input_len, target_len in plan.shapes
            }
            rows, input_len, target_len = plan[0][1]
            length = input_len + target_len
            assert (rows * length, length) == max(memory)

    def test_other_epochs_begin_anyhow(self):
        first = {self.plan(epoch=epoch)[0][1] for epoch in range(1, 20)}
        assert len(first) > 3

    def test_unshuffled_stays_in_order(self):
        plan = self.plan(shuffle=False)
        shapes = [plan[i][1] for i in range(len(plan))]
        assert list(dict.fromkeys(shapes)) == plan.shapes


class BudgetTest:
    def test_a_sentence_of_the_whole_budget_is_a_batch(self):
        plan = batch_plan.plan_batches([10, 1], [10, 1], 10)
        assert len(plan) > 0

    def test_a_longer_one_is_an_error_with_the_figures(self):
        with pytest.raises(ValueError, match="batch_tokens=10.*=11 tokens"):
            batch_plan.plan_batches([1, 2], [11, 2], 10)

    def test_a_longer_one_may_be_dropped(self):
        plan = batch_plan.plan_batches([1, 2], [11, 2], 10, max_length=10)
        assert plan.num_dropped == 1

    def test_no_pairs_give_no_batches(self):
        plan = batch_plan.plan_batches([], [], 10)
        assert len(plan) == 0
        assert plan.padding_share == 0


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
        saving, low, high = batch_plan._best_cut(cells, every, 100)
        assert sorted([*low, *high]) == every.tolist()
        parts = [cells[:, side] <= at for side in (0, 1) for at in range(1, 12)]
        savings = [
            positions(cells, 100) - sum(positions(c, 100) for c in halves)
            for part in parts
            for halves in [(cells[part], cells[~part])]
            if all(fills_a_batch(half, 100) for half in halves)
        ]
        assert saving == max(savings) > 0

    def test_it_plans_and_pads_100_000_pairs_a_second(self, tmp_path):
        lengths = random_lengths(20_000)
        pairs = token_pairs(tmp_path, lengths)
        start = time.process_time()
        plan = batch_plan.plan_batches(*lengths, 4096)
        for _ in batch_plan.padded_batches(pairs, plan):
            pass
        assert time.process_time() - start < 0.2


def positions(cells, batch_tokens):
    """Positions of one bucket, counted batch by batch."""
    input_len, target_len = cells[:, :2].max(axis=0)
    num_pairs = cells[:, 2].sum()
    most_rows = batch_tokens // max(input_len, target_len)
    num_batches = len(range(0, num_pairs, most_rows))
    rows = next(r for r in range(num_pairs + 1) if r * num_batches >= num_pairs)
    return sum(rows * (input_len + target_len) for _ in range(num_batches))


def fills_a_batch(cells, batch_tokens):
    if not len(cells):
        return False
    return cells[:, 2].sum() * cells[:, :2].max() >= batch_tokens


class PadBatchTest:
    def test_a_batch_holds_its_pairs_and_else_zeros(self, tmp_path):
        lengths = random_lengths(200)
        pairs = token_pairs(tmp_path, lengths)
        plan = batch_plan.plan_batches(*lengths, 300)
        for i in range(len(plan)):
            indices, shape = plan[i]
            inputs, targets = batch_plan.pad_batch(pairs, indices, shape)
            assert inputs.shape == (shape[0], shape[1])
            assert targets.shape == (shape[0], shape[2])
            for row, pair in enumerate(indices):
                for padded, side in ((inputs, 0), (targets, 1)):
                    length = lengths[side][pair] if pair >= 0 else 0
                    expected = 1 + 1000 * pair + np.arange(length)
                    assert padded[row, :length].tolist() == expected.tolist()
                    assert not padded[row, length:].any()

    def test_batches_can_start_anywhere(self, tmp_path):
        lengths = random_lengths(200)
        pairs = token_pairs(tmp_path, lengths)
        plan = batch_plan.plan_batches(*lengths, 300)
        every = list(batch_plan.padded_batches(pairs, plan))
        rest = list(batch_plan.padded_batches(pairs, plan, start=3))
        assert len(every) == len(plan) == len(rest) + 3
        for a, b in zip(every[3:], rest):
            np.testing.assert_array_equal(a[0], b[0])
            np.testing.assert_array_equal(a[1], b[1])


class ImportTest:
    def test_it_needs_no_tensorflow(self):
        code = (
            "import sys\n"
            "import keras_transformer.data.batch_plan\n"
            "import keras_transformer.problem\n"
            "print({'tensorflow', 'keras', 'jax'} & set(sys.modules))\n"
        )
        assert run_python(code) == "set()\n"


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
