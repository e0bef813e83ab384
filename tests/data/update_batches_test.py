import time
import types

import numpy as np
import pytest
from random_pairs import random_lengths
from random_pairs import token_pairs

from keras_transformer.data.batches import batch_plan
from keras_transformer.data.batches import packing
from keras_transformer.data.batches.update_batches import Layout
from keras_transformer.data.batches.update_batches import UpdateBatches

LENGTHS = random_lengths(300)
LAYOUTS = [
    Layout(rounds, replicas, 0, replicas)
    for rounds, replicas in ((1, 1), (2, 1), (1, 4), (2, 2), (3, 2))
]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return token_pairs(tmp_path_factory.mktemp("ids"), LENGTHS)


@pytest.fixture(params=["bucketed", "packed"])
def plan(request):
    make_plan = {
        "bucketed": batch_plan.plan_batches,
        "packed": packing.plan_packed,
    }[request.param]
    return make_plan(*LENGTHS, 800, seed=2, epoch=1)


def batches(pairs, plan, layout=Layout(), seed=2, epoch=1):
    return UpdateBatches(pairs, plan, layout, seed, epoch)


def rows_of(array):
    """Returns all rows of `(num_rounds, replicas, rows, ...)` in order."""
    return array.reshape(-1, *array.shape[3:])


class LayoutTest:
    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    def test_every_layout_holds_the_rows_of_the_plan_in_order(
        self, pairs, plan, layout
    ):
        updates = batches(pairs, plan, layout)
        assert len(updates) == len(plan)
        for i, update in enumerate(updates):
            inputs, targets = batch_plan.pad_batch(pairs, *plan[i])
            for name, expected in (("inputs", inputs), ("targets", targets)):
                rows = rows_of(update[name])
                np.testing.assert_array_equal(rows[: len(expected)], expected)
                assert not rows[len(expected) :].any()
                assert rows.dtype == np.int32

    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    def test_every_layout_gives_a_row_the_same_seed(self, pairs, plan, layout):
        for whole, parts in zip(
            batches(pairs, plan), batches(pairs, plan, layout)
        ):
            expected, seeds = rows_of(whole["seeds"]), rows_of(parts["seeds"])
            assert seeds[: len(expected)].tolist() == expected.tolist()
            assert not seeds[len(expected) :].any()
            assert seeds.dtype == np.int32

    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    def test_parts_are_equal_and_as_small_as_possible(
        self, pairs, plan, layout
    ):
        num_parts = layout.num_rounds * layout.num_replicas
        for i, update in enumerate(batches(pairs, plan, layout)):
            rows, input_len, target_len = plan[i][1]
            shape = (*layout[:2], -(-rows // num_parts))
            assert update["inputs"].shape == (*shape, input_len)
            assert update["targets"].shape == (*shape, target_len)
            assert update["seeds"].shape == shape

    def test_the_parts_of_all_workers_are_the_whole(self, pairs, plan):
        whole = batches(pairs, plan, Layout(2, 3, 0, 3))
        first = batches(pairs, plan, Layout(2, 3, 0, 2))
        second = batches(pairs, plan, Layout(2, 3, 2, 1))
        for every, *parts in zip(whole, first, second, strict=True):
            for name in ("inputs", "targets", "seeds"):
                joined = np.concatenate([part[name] for part in parts], axis=1)
                np.testing.assert_array_equal(joined, every[name])
            for part in parts:
                assert part["num_tokens"] == every["num_tokens"]

    def test_size_is_that_of_all_workers(self, pairs, plan):
        updates = batches(pairs, plan, Layout(1, 4, 3, 1))
        for number, whole in enumerate(batches(pairs, plan)):
            size, part = updates.size(number), updates[number]
            num_sources, num_targets = size.lengths.sum(axis=0)
            assert num_sources == np.sum(whole["inputs"] > 0)
            assert num_targets == np.sum(whole["targets"] > 0)
            assert part["num_tokens"] == num_targets
            assert part["num_tokens"].dtype == np.float32
            _, _, rows, input_len = part["inputs"].shape
            target_len = part["targets"].shape[-1]
            assert size[1:] == (4 * rows, input_len, target_len)

    def test_more_parts_than_rows_leave_some_empty(self, pairs):
        plan = batch_plan.plan_batches(*LENGTHS, 100)
        rows = plan.shapes[0][0]
        update = batches(pairs, plan, Layout(1, rows + 2, 0, rows + 2))[0]
        assert update["inputs"].shape[:3] == (1, rows + 2, 1)
        assert not update["targets"][0, -2:].any()


class RowNumbers:
    """Guidance that shows for which rows and in which shape it was read."""

    def read(self, token_pairs, rows, shape):
        return np.tile(rows[:, None, None], (1, shape[2], 2)).astype("int32")


class GuidanceTest:
    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    def test_each_row_has_that_of_its_pair(self, pairs, layout):
        plan = batch_plan.plan_batches(*LENGTHS, 800)
        updates = UpdateBatches(pairs, plan, layout, guidance=RowNumbers())
        for update in updates:
            shape = *update["targets"].shape, 2
            assert update["guidance"].shape == shape
            for row, ids in zip(
                rows_of(update["guidance"]), rows_of(update["targets"])
            ):
                # An empty row has no pair.
                number = row[0, 0]
                expected = pairs.targets[number] if number >= 0 else []
                assert ids[ids > 0].tolist() == list(expected)
                assert (row == number).all()

    def test_a_worker_reads_that_of_its_parts(self, pairs):
        plan = batch_plan.plan_batches(*LENGTHS, 800)
        whole, part = (
            UpdateBatches(pairs, plan, layout, guidance=RowNumbers())[0]
            for layout in (Layout(2, 3, 0, 3), Layout(2, 3, 2, 1))
        )
        np.testing.assert_array_equal(
            part["guidance"], whole["guidance"][:, 2:]
        )

    def test_without_it_there_is_none(self, pairs, plan):
        assert "guidance" not in batches(pairs, plan)[0]


class SeedsTest:
    def seeds(self, pairs, plan, **options):
        updates = batches(pairs, plan, **options)
        return np.concatenate([rows_of(update["seeds"]) for update in updates])

    def test_an_empty_row_has_seed_0_and_no_other_row_has(self, pairs, plan):
        for i, update in enumerate(batches(pairs, plan, Layout(1, 2, 0, 2))):
            is_empty = rows_of(update["inputs"]).max(axis=1) == 0
            assert np.array_equal(rows_of(update["seeds"]) == 0, is_empty)

    def test_seed_epoch_and_batch_decide_them(self, pairs, plan):
        seeds = self.seeds(pairs, plan)
        assert np.array_equal(seeds, self.seeds(pairs, plan))
        of_pairs = seeds[seeds != 0]
        assert len(set(of_pairs)) == len(of_pairs)
        for options in ({"seed": 3}, {"epoch": 0}):
            others = self.seeds(pairs, plan, **options)
            assert not set(of_pairs) & set(others)

    def test_they_use_all_32_bits(self, pairs, plan):
        seeds = self.seeds(pairs, plan)
        assert np.abs(np.mean(seeds < 0) - 0.5) < 0.2
        assert seeds.max() > 2**30 and seeds.min() < -(2**30)


class NumRoundsTest:
    def layout(self, plan, batch_tokens, num_replicas):
        engine = types.SimpleNamespace(
            num_replicas=num_replicas,
            first_replica=0,
            local_replicas=num_replicas,
        )
        return Layout.from_plan(plan, batch_tokens, engine)

    def tokens_at_once(self, plan, num_parts):
        """Returns the most positions per side of a part of a batch."""
        return max(
            -(-rows // num_parts) * max(lengths)
            for rows, *lengths in plan.shapes
        )

    @pytest.mark.parametrize("batch_tokens", [130, 250, 400, 799])
    @pytest.mark.parametrize("replicas", [1, 2, 3])
    def test_there_are_as_few_rounds_as_the_device_allows(
        self, plan, batch_tokens, replicas
    ):
        layout = self.layout(plan, batch_tokens, replicas)
        assert layout[1:] == (replicas, 0, replicas)
        num_parts = layout.num_rounds * replicas
        assert self.tokens_at_once(plan, num_parts) <= batch_tokens
        if layout.num_rounds > 1:
            num_parts -= replicas
            assert self.tokens_at_once(plan, num_parts) > batch_tokens

    @pytest.mark.parametrize("batch_tokens", [800, 801, 10_000_000])
    def test_a_device_that_takes_an_update_at_once_has_one_round(
        self, plan, batch_tokens
    ):
        for replicas in (1, 8):
            assert self.layout(plan, batch_tokens, replicas).num_rounds == 1

    def test_a_device_takes_at_least_one_row(self, plan):
        max_rows = max(rows for rows, *_ in plan.shapes)
        assert self.layout(plan, 1, 1).num_rounds == max_rows


class SpeedTest:
    def test_it_gives_100_000_pairs_a_second(self, tmp_path):
        lengths = random_lengths(20_000)
        pairs = token_pairs(tmp_path, lengths)
        for make_plan in (batch_plan.plan_batches, packing.plan_packed):
            plan = make_plan(*lengths, 4096)
            start = time.process_time()
            for _ in UpdateBatches(pairs, plan):
                pass
            assert time.process_time() - start < 0.2
