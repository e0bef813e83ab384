"""The sampler draws each id with its probability."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.search.options import DecodeOptions
from keras_transformer.search.sampling import make_sampler

SHARES = np.array([0.5, 0.25, 0.15, 0.07, 0.03], "float32")
NUM_DRAWS = 20_000


def draw(shares=SHARES, position=3, seeds=None, rows=None, **options):
    """Draws 10 samples of each of 2,000 sentences, `(2,000, 10)`."""
    num_rows = NUM_DRAWS // 10
    seeds = np.arange(num_rows, dtype="int32") if seeds is None else seeds
    rows = np.arange(len(seeds), dtype="int32") if rows is None else rows
    logits = np.broadcast_to(
        np.log(shares) + 7.0, (len(rows), 10, len(shares))
    ).astype("float32")
    sampler = make_sampler(
        DecodeOptions(**{"temperature": 1.0, **options}),
        ops.convert_to_tensor(seeds),
    )
    return ops.convert_to_numpy(
        sampler(ops.convert_to_tensor(logits), position, rows)
    )


def shares_of(draws):
    return np.bincount(draws.ravel(), minlength=5) / draws.size


def check_shares(draws, expected):
    # Four standard deviations; the draws are a function of fixed seeds.
    tolerance = 4 * np.sqrt(expected * (1 - expected) / NUM_DRAWS)
    assert np.all(np.abs(shares_of(draws) - expected) <= tolerance)


class MakeSamplerTest:
    def test_ids_are_drawn_with_their_probability(self):
        check_shares(draw(), SHARES)

    @pytest.mark.parametrize("temperature", [0.5, 2.0])
    def test_temperature_sharpens_or_flattens(self, temperature):
        expected = SHARES ** (1 / temperature)
        draws = draw(temperature=temperature)
        check_shares(draws, expected / expected.sum())

    def test_only_the_likeliest_are_drawn(self):
        expected = np.array([0.5, 0.25, 0.0, 0.0, 0.0]) / 0.75
        check_shares(draw(top_k=2), expected)
        check_shares(draw(top_k=9), SHARES)

    @pytest.mark.parametrize(
        "top_p, number", [(0.4, 1), (0.6, 2), (0.75, 2), (0.8, 3), (1.0, 5)]
    )
    def test_only_the_nucleus_is_drawn(self, top_p, number):
        expected = np.where(np.arange(5) < number, SHARES, 0.0)
        # At 0.75 rounding decides whether the nucleus has a third id.
        shares = shares_of(draw(top_p=top_p))
        assert np.count_nonzero(shares) in (
            (number, number + 1) if top_p == 0.75 else (number,)
        )
        if top_p != 0.75:
            check_shares(draw(top_p=top_p), expected / expected.sum())

    def test_impossible_ids_are_never_drawn(self):
        shares = np.array([0.0, 0.5, 0.5, 0.0], "float32")
        with np.errstate(divide="ignore"):
            assert set(draw(shares).ravel()) == {1, 2}

    def test_draws_depend_only_on_seed_and_position(self):
        whole = draw()
        np.testing.assert_array_equal(
            draw(rows=np.array([17, 3])), whole[[17, 3]]
        )
        moved = draw(position=4)
        assert 0.3 < np.mean(moved == whole) < 0.4  # the sum of squares is 0.34
        other = draw(seeds=np.arange(2000, 4000, dtype="int32"))
        assert 0.3 < np.mean(other == whole) < 0.4

    def test_samples_of_a_sentence_are_independent(self):
        draws = draw()
        assert 0.3 < np.mean(draws[:, 0] == draws[:, 1]) < 0.4
        assert 0.3 < np.mean(draws[1:] == draws[:-1]) < 0.4
