import types

import numpy as np
import pytest
from random_pairs import random_lengths

from keras_transformer.data.batches import batch_plan
from keras_transformer.data.batches import packing
from keras_transformer.data.batches.update_batches import update_positions
from keras_transformer.data.generation.token_arrays import TokenPairs
from keras_transformer.hparam import HParams

PLANNERS = {False: batch_plan.plan_batches, True: packing.plan_packed}


def wmt_lengths(num_pairs, seed):
    """Returns lengths as of WMT's subwords: mean 28, some beyond 256."""
    generator = np.random.default_rng(seed)
    inputs = np.exp(generator.normal(3.08, 0.72, num_pairs))
    targets = inputs * np.exp(generator.normal(0.05, 0.2, num_pairs))
    return inputs.astype(int) + 1, targets.astype(int) + 1


def positions_of(lengths, pair_numbers=None, **options):
    pairs = TokenPairs(*(types.SimpleNamespace(lengths=x) for x in lengths))
    return update_positions(HParams(**options), pairs, pair_numbers)


def mean_tokens(lengths, positions, packed, **options):
    """Counts the tokens of each update, batch by batch; returns the means."""
    plan = PLANNERS[packed](*lengths, positions, 256, **options)
    pairs = [plan[i][0] for i in range(len(plan))]
    counts = [
        [side[of_batch[of_batch >= 0]].sum() for side in lengths]
        for of_batch in pairs
    ]
    return np.mean(counts, axis=0)


CASES = [
    (make_lengths, num_pairs, tokens, packed, seed)
    for make_lengths, num_pairs, tokens in (
        (wmt_lengths, 100_000, 25_000),
        (random_lengths, 29_000, 2_048),
        (random_lengths, 29_000, 4_096),
    )
    for packed in (False, True)
    for seed in range(2)
]


class UpdatePositionsTest:
    @pytest.mark.parametrize(
        "make,num_pairs,tokens,packed,seed",
        [
            pytest.param(*case, marks=pytest.mark.slow if case[-1] else ())
            for case in CASES
        ],
    )
    def test_updates_see_as_many_real_tokens_as_the_recipe_says(
        self, make, num_pairs, tokens, packed, seed
    ):
        lengths = make(num_pairs, seed)
        options = {"effective_batch_tokens": tokens, "packed": packed}
        positions = positions_of(lengths, **options)
        for epoch in (0, 5):
            means = mean_tokens(
                lengths, positions, packed, seed=seed, epoch=epoch
            )
            assert means.max() == pytest.approx(tokens, rel=0.02)
            assert means.min() < means.max()

    @pytest.mark.parametrize("packed", [False, True])
    def test_neither_order_nor_direction_nor_device_matters(self, packed):
        lengths = np.stack(random_lengths(5_000))
        options = {"effective_batch_tokens": 1000, "packed": packed}
        expected = positions_of(lengths, **options)
        shuffled = np.random.default_rng(1).permutation(lengths.T).T
        assert positions_of(shuffled, **options) == expected
        assert positions_of(lengths, batch_tokens=64, **options) == expected
        if not packed:
            assert positions_of(lengths[::-1], **options) == expected

    def test_pairs_that_are_dropped_do_not_count(self):
        inputs, targets = random_lengths(5_000)
        longer = np.append(inputs, 300), np.append(targets, 2)
        expected = positions_of((inputs, targets), effective_batch_tokens=900)
        assert positions_of(longer, effective_batch_tokens=900) == expected

    @pytest.mark.parametrize("packed", [False, True])
    def test_little_text_is_one_update(self, packed):
        lengths = random_lengths(50)
        positions = positions_of(
            lengths, effective_batch_tokens=10**9, packed=packed
        )
        assert len(PLANNERS[packed](*lengths, positions)) == 1

    def test_without_a_number_of_tokens_an_update_is_a_batch(self):
        assert positions_of(random_lengths(9), batch_tokens=77) == 77

    def test_error_names_the_hparam_and_the_longest_sentence(self):
        with pytest.raises(
            ValueError, match="`effective_batch_tokens` .*=9 tokens"
        ):
            positions_of(([9, 3], [8, 1]), effective_batch_tokens=8)

    @pytest.mark.parametrize("name", ["batch_tokens", "effective_batch_tokens"])
    def test_a_long_pair_of_a_later_epoch_is_an_error_at_the_start(self, name):
        lengths, pair_numbers = ([3, 9], [3, 2]), np.array([0])
        with pytest.raises(ValueError, match=f"^`{name}` .*=8, .*=9 tokens"):
            positions_of(lengths, pair_numbers, **{name: 8})
        assert positions_of(lengths, pair_numbers, **{name: 9}) == 9

    @pytest.mark.parametrize("packed", [False, True])
    def test_a_short_first_epoch_leaves_room_for_later_ones(self, packed):
        lengths, pair_numbers = ([3, 90], [3, 2]), np.array([0])
        options = {"effective_batch_tokens": 100, "packed": packed}
        positions = positions_of(lengths, pair_numbers, **options)
        later = PLANNERS[packed](
            *lengths, positions, pair_numbers=np.array([1])
        )
        assert len(later) == 1
