import time

import numpy as np
import pytest
from random_pairs import EveryPlanChecks
from random_pairs import batches_of
from random_pairs import random_lengths

from keras_transformer.data.batches import batch_plan
from keras_transformer.data.batches import packing
from keras_transformer.data.generation.token_arrays import TokenArray
from keras_transformer.data.generation.token_arrays import TokenArrayWriter
from keras_transformer.data.generation.token_arrays import TokenPairs


def long_tailed_lengths(num_pairs, seed=0):
    """Returns lengths as of news: 28 tokens on average, a few of 250."""
    generator = np.random.default_rng(seed)
    inputs = np.exp(generator.normal(3.1, 0.65, num_pairs))
    targets = inputs * np.exp(generator.normal(0.08, 0.25, num_pairs))
    return np.clip([inputs, targets], 2, 250).astype(int)


def even_lengths(num_pairs, seed=0):
    generator = np.random.default_rng(seed)
    inputs = generator.integers(5, 46, num_pairs)
    return inputs, np.maximum(inputs + generator.integers(-4, 8, num_pairs), 1)


def sequences_of(lengths, generator):
    """Returns random token ids from 2 on, with the end id 1 at the end."""
    return [[*generator.integers(2, 90, n - 1), 1] for n in lengths]


def token_pairs(directory, lengths):
    generator = np.random.default_rng(0)
    sides = []
    for name, side in zip(("source", "target"), lengths):
        path = str(directory / name)
        with TokenArrayWriter(path, 100) as writer:
            for sequence in sequences_of(side, generator):
                writer.append(sequence)
        sides.append(TokenArray(path))
    return TokenPairs(*sides)


def fills(plan, lengths):
    """Returns the share of positions that hold tokens, for each side."""
    ((rows, *capacity),) = plan.shapes
    return np.sum(lengths, axis=1) / (len(plan) * rows * np.array(capacity))


CASES = [
    (num_pairs, batch_tokens, max_length)
    for num_pairs in (1, 17, 3000)
    for batch_tokens in (70, 150, 100_000)
    for max_length in (None, 20)
]


@pytest.mark.parametrize("case", CASES, ids=str)
class EveryPlanTest(EveryPlanChecks):
    make_plan = staticmethod(packing.plan_packed)

    def test_no_row_is_fuller_than_its_capacity(self, case):
        plan = self.plan(*case)
        for i in range(len(plan)):
            indices, (rows, *capacity) = plan[i]
            assert len(indices) == rows
            for row in indices:
                used = self.lengths[:, row[row >= 0]].sum(axis=1)
                assert np.all(used <= capacity)

    def test_the_pairs_of_a_row_come_first(self, case):
        plan = self.plan(*case)
        for i in range(len(plan)):
            is_pair = plan[i][0] >= 0
            assert not np.any(is_pair[:, 1:] & ~is_pair[:, :-1])

    def test_all_batches_have_one_shape(self, case):
        assert len(self.plan(*case).shapes) == 1


class OrderTest:
    LENGTHS = random_lengths(3000)

    def plan(self, **options):
        return batches_of(packing.plan_packed(*self.LENGTHS, 1000, **options))

    def test_seed_and_epoch_decide_it(self):
        assert self.plan(seed=5, epoch=2) == self.plan(seed=5, epoch=2)
        plans = [
            self.plan(seed=seed, epoch=epoch)
            for seed in (0, 1)
            for epoch in (0, 1)
        ]
        for i, plan in enumerate(plans):
            assert all(plan != other for other in plans[:i])

    def test_other_pairs_share_a_row_in_another_epoch(self):
        first, second = (
            {frozenset(row) for rows, _ in plan for row in rows}
            for plan in (self.plan(epoch=0), self.plan(epoch=1))
        )
        assert len(first & second) < 0.1 * len(first)

    def test_unshuffled_ignores_seed_and_epoch(self):
        assert self.plan(shuffle=False) == self.plan(
            shuffle=False, seed=4, epoch=4
        )


class BudgetTest:
    def test_a_pair_of_the_whole_budget_has_its_row(self):
        plan = packing.plan_packed([10, 1], [10, 1], 10)
        assert plan.shapes == [(1, 10, 10)]
        assert len(plan) == 2

    def test_a_longer_one_is_an_error_with_the_figures(self):
        with pytest.raises(ValueError, match="batch_tokens=10.*=11 tokens"):
            packing.plan_packed([1, 2], [11, 2], 10)

    def test_no_pairs_give_no_batches(self):
        plan = packing.plan_packed([5, 6], [5, 6], 10, max_length=4)
        assert len(plan) == 0
        assert plan.num_dropped == 2
        assert plan.padding_share == 0


class EfficiencyTest:
    @pytest.mark.parametrize(
        "make_lengths", [random_lengths, long_tailed_lengths, even_lengths]
    )
    def test_both_sides_of_the_rows_are_97_percent_full(self, make_lengths):
        lengths = make_lengths(29_000)
        plan = packing.plan_packed(*lengths, 4096)
        assert fills(plan, lengths).max() > 0.975
        assert fills(plan, lengths).min() > 0.96

    def test_both_sides_are_full_where_one_is_much_longer(self):
        inputs, targets = random_lengths(20_000)
        lengths = inputs, 3 * targets
        plan = packing.plan_packed(*lengths, 8192)
        assert fills(plan, lengths).min() > 0.96

    def test_rows_are_no_longer_than_four_pairs_or_the_longest(self):
        inputs, targets = random_lengths(29_000)
        ((_, input_len, target_len),) = packing.plan_packed(
            inputs, targets, 4096, max_length=40
        ).shapes
        assert input_len < 4 * inputs.mean() + 1
        assert target_len < 4 * targets.mean() + 1
        ((_, *capacity),) = packing.plan_packed(inputs, targets, 4096).shapes
        assert max(inputs.max(), targets.max()) in capacity

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "make_lengths", [random_lengths, long_tailed_lengths]
    )
    def test_it_plans_100_000_pairs_a_second(self, make_lengths):
        lengths = make_lengths(100_000)
        start = time.process_time()
        packing.plan_packed(*lengths, 4096)
        assert time.process_time() - start < 1

    @pytest.mark.slow
    def test_lengths_that_hardly_recur_take_no_longer(self):
        inputs, targets = random_lengths(10_000)
        start = time.process_time()
        plan = packing.plan_packed(50 * inputs, 49 * targets + inputs, 50_000)
        assert time.process_time() - start < 1
        assert plan.padding_share < 0.05


class PadBatchTest:
    def test_a_row_holds_its_pairs_one_after_another(self, tmp_path):
        lengths = random_lengths(300)
        pairs = token_pairs(tmp_path, lengths)
        plan = packing.plan_packed(*lengths, 500)
        for indices, padded in zip(
            (plan[i][0] for i in range(len(plan))),
            batch_plan.pad_batches(pairs, plan),
        ):
            for side, ids in zip(pairs, padded):
                assert ids.dtype == np.int32
                for numbers, row in zip(indices, ids, strict=True):
                    expected = [side[n] for n in numbers if n >= 0]
                    tokens = np.concatenate([*expected, np.zeros(0, int)])
                    assert row[: len(tokens)].tolist() == tokens.tolist()
                    assert not row[len(tokens) :].any()

    def test_counting_end_ids_finds_the_pairs_again(self, tmp_path):
        lengths = random_lengths(300)
        pairs = token_pairs(tmp_path, lengths)
        plan = packing.plan_packed(*lengths, 500)
        for i in range(len(plan)):
            inputs, targets = batch_plan.pad_batch(pairs, *plan[i])
            num_pairs = np.sum(plan[i][0] >= 0, axis=1)
            assert np.sum(inputs == 1, axis=1).tolist() == num_pairs.tolist()
            assert np.sum(targets == 1, axis=1).tolist() == num_pairs.tolist()
