"""The sampler draws each id with its probability."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.search import beams
from keras_transformer.search.beams import make_sampler
from keras_transformer.search.options import DecodeOptions

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


def compute_shares(draws):
    return np.bincount(draws.ravel(), minlength=5) / draws.size


def check_shares(draws, expected):
    # Four standard deviations; the draws are a function of fixed seeds.
    tolerance = 4 * np.sqrt(expected * (1 - expected) / NUM_DRAWS)
    assert np.all(np.abs(compute_shares(draws) - expected) <= tolerance)


def many_draws(logits, number, **options):
    """Draws this many ids with the same logits, `(number,)`."""
    rows, samples = 4, 50
    sampler = make_sampler(
        DecodeOptions(**{"temperature": 1.0, **options}),
        np.arange(number // samples, dtype="int32"),
    )
    logits = ops.convert_to_tensor(
        np.broadcast_to(logits, (rows, samples, len(logits)))
    )
    draws = [
        ops.convert_to_numpy(sampler(logits, 0, first + np.arange(rows)))
        for first in range(0, number // samples, rows)
    ]
    return np.concatenate(draws).ravel()


def zipf(vocab_size):
    """Returns logits with which id n is drawn in proportion to 1 / (n + 5)."""
    return -np.log(np.arange(vocab_size, dtype="float32") + 5.0)


def check_chi_square(draws, shares):
    """Checks that draws deviate from their shares only as chance allows."""
    counts = np.bincount(draws, minlength=len(shares))
    expected = shares / np.sum(shares, dtype="float64") * len(draws)
    chi_square = np.sum((counts - expected) ** 2 / expected)
    freedom = len(shares) - 1
    # Four standard deviations of the chi-square distribution.
    assert abs(chi_square - freedom) < 4 * np.sqrt(2 * freedom)


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
        shares = compute_shares(draw(top_p=top_p))
        assert np.count_nonzero(shares) in (
            (number, number + 1) if top_p == 0.75 else (number,)
        )
        if top_p != 0.75:
            check_shares(draw(top_p=top_p), expected / expected.sum())

    def test_impossible_ids_are_never_drawn(self):
        shares = np.array([0.0, 0.5, 0.5, 0.0], "float32")
        with np.errstate(divide="ignore"):
            assert set(draw(shares).ravel()) == {1, 2}

    def test_equal_logits_do_not_add_ids_to_the_likeliest(self):
        # Logits in bfloat16 are often equal.
        assert set(draw(np.full(5, 0.2, "float32"), top_k=2).ravel()) == {0, 1}
        assert not draw(np.full(5, 0.2, "float32"), top_p=0.15).any()

    @pytest.mark.parametrize(
        "options", [{}, {"top_k": 2}, {"top_p": 0.9}], ids=str
    )
    def test_forbidden_ids_are_never_drawn(self, options):
        sampler = make_sampler(
            DecodeOptions(temperature=1.0, **options),
            np.arange(200, dtype="int32"),
            forbidden=(0, 2),
        )
        logits = np.broadcast_to(np.log(SHARES), (200, 50, 5))
        draws = ops.convert_to_numpy(sampler(logits, 3, np.arange(200)))
        assert set(draws.ravel()) == ({1, 3} if options else {1, 3, 4})

    @pytest.mark.parametrize("temperature", [0.001, 1000.0])
    def test_extreme_temperatures_are_greedy_or_uniform(self, temperature):
        draws = draw(temperature=temperature)
        expected = np.eye(5)[0] if temperature < 1 else np.full(5, 0.2)
        check_shares(draws, expected)

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


class LargeVocabularyTest:
    def test_improbable_ids_are_not_drawn(self):
        logits = np.full(50_000, -20.0, "float32")
        logits[:10] = 0.0
        draws = many_draws(logits, 600)
        assert np.all(draws < 10)
        assert len(set(draws)) == 10

    @pytest.mark.slow
    def test_ids_are_drawn_with_their_probability(self):
        logits = zipf(50_000)
        draws = many_draws(logits, 1_000_000)
        check_chi_square(draws, np.exp(logits))

    @pytest.mark.slow
    def test_only_the_likeliest_of_many_are_drawn(self):
        logits = zipf(50_000)
        order = np.random.default_rng(0).permutation(50_000)
        draws = many_draws(logits[order], 10_000_000, top_k=100)
        ranks = order[draws]
        assert ranks.max() == 99
        check_chi_square(ranks, np.exp(logits[:100]))


class GumbelTest:
    """The noise of each of the 2^32 random numbers."""

    def noise(self, bits):
        bits = ops.convert_to_tensor(np.asarray(bits, "uint32"))
        return ops.convert_to_numpy(beams._gumbel(bits))

    def test_noise_is_that_of_the_distribution_at_both_ends(self):
        first = np.arange(2**14)
        between = np.random.default_rng(0).integers(2**32, size=2**14)
        bits = np.unique(np.concatenate([first, between, 2**32 - 1 - first]))
        noise = self.noise(bits)
        assert np.all(np.isfinite(noise))
        assert np.all(np.diff(noise) <= 4e-6)
        # The bits are a uniform number, whose logarithm is exponential.
        exact = -np.log(-np.log1p(-(bits + 0.5) / 2.0**32))
        for part, tolerance in (
            (bits < 2**31, 3e-6),
            (bits < 2**32 - 2**14, 3e-5),
            (bits >= 2**32 - 2**14, 0.4),
        ):
            np.testing.assert_allclose(
                noise[part], exact[part], rtol=0, atol=tolerance
            )
        assert len(set(noise[: 2**14])) == 2**14

    @pytest.mark.slow
    def test_noise_of_all_numbers_is_finite_and_in_order(self):
        size, last = 2**24, np.inf
        for start in range(0, 2**32, size):
            noise = self.noise(np.arange(start, start + size))
            assert np.all(np.isfinite(noise))
            assert noise[0] <= last and np.all(np.diff(noise) <= 4e-6)
            last = noise[-1]
