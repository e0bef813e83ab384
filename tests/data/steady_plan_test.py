import numpy as np
import pytest
from random_pairs import random_lengths

from keras_transformer.data.batches.batch_plan import MAX_SHAPES
from keras_transformer.data.batches.batch_plan import make_reference
from keras_transformer.data.batches.batch_plan import plan_batches
from keras_transformer.data.batches.packing import plan_packed

STORED = np.stack(random_lengths(3000), axis=1)


def grow(seed, longest):
    """Returns lengths that are about a third longer, differently each time."""
    growth = np.random.default_rng(seed).gamma(9, 1 / 27, STORED.shape)
    grown = np.round(STORED * (1 + growth)).astype(int)
    return np.where((grown > longest).any(axis=1)[:, None], STORED, grown)


class SteadyPlanTest:
    @pytest.mark.parametrize("batch_tokens", [200, 1000, 20_000])
    @pytest.mark.parametrize("max_length", [20, 100])
    def test_epochs_of_other_lengths_share_their_shapes(
        self, batch_tokens, max_length
    ):
        reference = make_reference(STORED, 1.33, max_length)
        longest = reference[-1]
        assert (longest <= max_length).all()
        is_kept = STORED.max(axis=1) <= max_length
        for epoch in range(3):
            lengths = grow(epoch, longest)
            plan = plan_batches(
                *lengths.T,
                batch_tokens,
                max_length,
                5,
                epoch,
                reference=reference,
            )
            if epoch == 0:
                shapes = plan.shapes
            assert plan.shapes == shapes
            assert len(shapes) <= MAX_SHAPES
            pairs = []
            for indices, shape in plan:
                assert shape in shapes and len(indices) == shape[0]
                assert shape[0] * max(shape[1:]) <= batch_tokens
                used = indices[indices >= 0]
                assert (lengths[used] <= shape[1:]).all()
                pairs += used.tolist()
            assert sorted(pairs) == np.flatnonzero(is_kept).tolist()
            # Only the last batches of the largest shape have empty rows.
            partial = {s for rows, s in plan if (rows < 0).any()}
            assert partial <= {shapes[-1]}

    def test_the_tail_is_the_limit_of_the_largest_shape(self):
        reference = make_reference(STORED, 1.33, 1000)
        assert (reference[-1] >= 1.7 * STORED.max(axis=0)).all()
        plan = plan_batches(*STORED.T, 10_000, reference=reference)
        assert plan.shapes[-1][1:] == tuple(reference[-1])

    def test_without_pairs_there_are_no_batches(self):
        reference = make_reference(STORED, 1.0, 1)
        plan = plan_batches(*STORED.T, 100, max_length=1, reference=reference)
        assert len(plan) == 0 and plan.num_dropped == len(STORED)

    @pytest.mark.parametrize("make_plan", [plan_batches, plan_packed])
    def test_a_pair_that_only_a_later_epoch_chooses_has_its_place(
        self, make_plan
    ):
        # The first epoch has the short half of a corpus of weight 0.5.
        by_length = np.argsort(STORED.max(axis=1))
        halves = np.split(by_length, 2)
        reference = make_reference(STORED, 1.0, 1000, halves[0])
        for epoch, half in enumerate(halves):
            plan = make_plan(
                *STORED.T,
                1000,
                epoch=epoch,
                pair_numbers=half,
                reference=reference,
            )
            pairs = np.concatenate([rows.ravel() for rows, _ in plan])
            assert sorted(pairs[pairs >= 0]) == sorted(half)
            for rows, shape in plan:
                is_pair = np.expand_dims(rows.reshape(len(rows), -1) >= 0, 2)
                lengths = STORED[rows.reshape(len(rows), -1)] * is_pair
                assert (lengths.sum(axis=1) <= shape[1:]).all()
