import pytest

from keras_transformer.hparam import parse_overrides
from keras_transformer.registry import get_hparams
from keras_transformer.training.train import RECIPES
from keras_transformer.training.train import recommend


class RecommendTest:
    @pytest.mark.parametrize("num_pairs", [1, 10_000, 10**6, 10**9])
    def test_a_recommended_set_needs_no_recommendation(self, num_pairs):
        flags = next(f for limit, f in RECIPES.items() if num_pairs <= limit)
        values = dict(flag.split("=", 1) for flag in flags.split())
        hparams = get_hparams(values["--hparams_set"])
        hparams = parse_overrides(hparams, values.get("--hparams", ""))
        assert recommend(num_pairs, hparams.d_model) is None

    @pytest.mark.parametrize(
        "num_pairs, d_model", [(30_000, 512), (400_000, 1024), (10**7, 128)]
    )
    def test_it_names_both_sizes_and_the_flags_of_a_set(
        self, num_pairs, d_model
    ):
        advice = recommend(num_pairs, d_model)
        assert f"{num_pairs:,} pairs" in advice
        assert str(d_model) in advice
        named = [flags for flags in RECIPES.values() if f"{flags};" in advice]
        assert len(named) == 1
