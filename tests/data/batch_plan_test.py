import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_pairs import EveryPlanChecks
from random_pairs import batches_of
from random_pairs import random_lengths
from random_pairs import token_pairs

from keras_transformer.data.batches import batch_plan

CASES = [
    (num_pairs, batch_tokens, max_length)
    for num_pairs in (1, 17, 3000)
    for batch_tokens in (150, 100_000)
    for max_length in (None, 20)
]


@pytest.mark.parametrize("case", CASES, ids=str)
class EveryPlanTest(EveryPlanChecks):
    make_plan = staticmethod(batch_plan.plan_batches)

    def test_every_pair_fits_its_batch(self, case):
        plan = self.plan(*case)
        for i in range(len(plan)):
            indices, (rows, input_len, target_len) = plan[i]
            assert indices.shape == (rows,)
            longest = self.lengths[:, indices[indices >= 0]].max(axis=1)
            assert longest[0] <= input_len and longest[1] <= target_len

    def test_shapes_are_few_and_all_used(self, case):
        plan = self.plan(*case)
        assert len(plan.shapes) <= batch_plan.MAX_SHAPES
        assert {plan[i][1] for i in range(len(plan))} == set(plan.shapes)


class OrderTest:
    LENGTHS = random_lengths(3000)

    def plan(self, **options):
        return batches_of(
            batch_plan.plan_batches(*self.LENGTHS, 1000, **options)
        )

    def test_seed_and_epoch_decide_it(self):
        assert self.plan(seed=5, epoch=2) == self.plan(seed=5, epoch=2)

    def test_another_process_gives_the_same_order(self):
        code = (
            "import numpy as np\n"
            "from keras_transformer.data.batches import batch_plan\n"
            "lengths = np.arange(1, 40)\n"
            "plan = batch_plan.plan_batches(lengths, lengths, 80, seed=5)\n"
            "print([plan[i][0].tolist() for i in range(len(plan))])\n"
        )
        lengths = np.arange(1, 40)
        plan = batch_plan.plan_batches(lengths, lengths, 80, seed=5)
        here = [plan[i][0].tolist() for i in range(len(plan))]
        assert run_python(code) == f"{here}\n"

    def test_every_epoch_and_seed_has_its_own_order(self):
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

    def test_other_epochs_begin_with_any_shape(self):
        first = {self.plan(epoch=epoch)[0][1] for epoch in range(1, 20)}
        assert len(first) > 3

    def test_unshuffled_stays_in_order(self):
        plan = self.plan(shuffle=False)
        shapes = [plan[i][1] for i in range(len(plan))]
        assert list(dict.fromkeys(shapes)) == plan.shapes


class FixedShapesTest:
    LENGTHS = random_lengths(3000)

    def plan(self, **options):
        return batch_plan.plan_batches(
            *self.LENGTHS, 1000, fixed_shapes=True, **options
        )

    def test_shapes_are_few_with_round_lengths_and_all_rows(self):
        shapes = self.plan().shapes
        assert 1 < len(shapes) <= batch_plan.FEW_SHAPES
        for rows, *lengths in shapes:
            assert rows == 1000 // max(lengths)
            assert [length % 8 for length in lengths] == [0, 0]

    def test_every_batch_has_one_of_them_in_every_epoch(self):
        for epoch in range(3):
            plan = self.plan(epoch=epoch)
            assert plan.shapes == self.plan().shapes
            for i in range(len(plan)):
                indices, shape = plan[i]
                assert shape in plan.shapes
                assert indices.shape == shape[:1]

    def test_rounding_up_stays_within_the_budget(self):
        plan = batch_plan.plan_batches([10, 1], [9, 1], 10, fixed_shapes=True)
        assert plan.shapes == [(1, 10, 10)]


class AnyPairsTest:
    @given(
        st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50))),
        st.integers(50, 300),
        st.sampled_from([None, 1, 20]),
        st.booleans(),
        st.integers(0, 3),
    )
    def test_each_kept_pair_is_in_one_batch_within_the_budget(
        self, pairs, batch_tokens, max_length, fixed_shapes, epoch
    ):
        lengths = np.array(pairs, int).reshape(-1, 2).T
        plan = batch_plan.plan_batches(
            *lengths,
            batch_tokens,
            max_length,
            fixed_shapes=fixed_shapes,
            epoch=epoch,
        )
        kept = []
        for i in range(len(plan)):
            indices, (rows, *shape) = plan[i]
            assert rows * max(shape) <= batch_tokens
            for pair in indices[indices >= 0]:
                assert np.all(lengths[:, pair] <= shape)
                kept.append(pair)
        longest = lengths.max(axis=0, initial=0)
        is_kept = longest <= (max_length or np.inf)
        assert sorted(kept) == np.flatnonzero(is_kept).tolist()
        assert plan.num_dropped == np.sum(~is_kept)


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


class PadBatchTest:
    def test_a_batch_holds_its_pairs_and_padding(self, tmp_path):
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


class SpeedTest:
    def test_it_plans_and_pads_100_000_pairs_a_second(self, tmp_path):
        lengths = random_lengths(20_000)
        pairs = token_pairs(tmp_path, lengths)
        start = time.process_time()
        plan = batch_plan.plan_batches(*lengths, 4096)
        for _ in batch_plan.pad_batches(pairs, plan):
            pass
        assert time.process_time() - start < 0.2


class ImportTest:
    def test_it_needs_no_tensorflow(self):
        code = (
            "import sys\n"
            "import keras_transformer.data.batches.batch_plan\n"
            "import keras_transformer.problem\n"
            "print({'tensorflow', 'keras', 'jax'} & set(sys.modules))\n"
        )
        assert run_python(code) == "set()\n"


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
