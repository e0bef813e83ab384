"""Scores of a user's problem are finite numbers with names of their own."""

import json

import numpy as np
import pytest

from keras_transformer.scoring.report import check_scores


class CheckedScoresTest:
    @pytest.mark.parametrize(
        "value", [3.5, 3, np.float32(3.5), np.float64(3.5), np.int64(3)]
    )
    def test_real_numbers_become_floats_of_python(self, value):
        scores = check_scores({"bleu": value}, "own")
        assert type(scores["bleu"]) is float
        assert json.loads(json.dumps(scores)) == {"bleu": value}

    @pytest.mark.parametrize(
        "value",
        [
            *(None, True, np.bool_(True), "3.5", [3.5], 1 + 2j),
            *(float("nan"), float("inf"), np.float32("nan"), -np.inf),
        ],
    )
    def test_anything_else_is_refused_with_the_names(self, value):
        with pytest.raises(ValueError, match="problem=own, f1=.*Return") as e:
            check_scores({"bleu": 3.5, "f1": value}, "own")
        assert "\n" not in str(e.value)

    @pytest.mark.parametrize("name", ["accuracy", "loss", "step", "lines"])
    def test_figures_and_entries_of_a_record_keep_their_names(self, name):
        message = f"loss, perplexity.*problem=own.*'{name}'.*another name"
        with pytest.raises(ValueError, match=message):
            check_scores({"bleu": 3.5, name: 2.0}, "own")

    @pytest.mark.parametrize("scores", [None, 3.5, ["bleu"]])
    def test_scores_are_a_dictionary(self, scores):
        with pytest.raises(ValueError, match="dictionary.*problem=own"):
            check_scores(scores, "own")
