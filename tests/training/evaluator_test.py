import json

import numpy as np
import pytest
from number_problem import Numbers

from keras_transformer.engines.make_engine import make_engine
from keras_transformer.hparam import HParams
from keras_transformer.training.evaluation_scores import checked_scores
from keras_transformer.training.evaluator import Evaluator

HPARAMS = HParams(num_layers=1, d_model=8, d_ff=8, num_heads=2, extra_length=1)


class Similar(Numbers):
    """Numbers with a score of its own."""

    similarity = {"similarity": np.float32(3.5)}

    def score(self, hypotheses, references):
        return self.similarity


class EvaluatorTest:
    def test_scores_of_the_problem_are_checked(self, tmp_path):
        problem = Similar(data_dir=str(tmp_path))
        problem.generate(None)
        engine = make_engine(HPARAMS, num_devices=1)
        engine.build(problem.vocabulary.vocab_size)
        evaluate = Evaluator(problem, engine, HPARAMS)
        figures, _ = evaluate()
        assert json.loads(json.dumps(figures)) == figures
        assert figures["dev_similarity"] == 3.5
        problem.similarity = {"accuracy": 3.5}
        with pytest.raises(ValueError, match="problem=numbers.*'accuracy'"):
            evaluate()


class CheckedScoresTest:
    @pytest.mark.parametrize(
        "value", [3.5, 3, np.float32(3.5), np.float64(3.5), np.int64(3)]
    )
    def test_real_numbers_become_floats_of_python(self, value):
        scores = checked_scores(Numbers(), {"bleu": value})
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
        with pytest.raises(
            ValueError, match="problem=numbers, f1=.*Return"
        ) as e:
            checked_scores(Numbers(), {"bleu": 3.5, "f1": value})
        assert "\n" not in str(e.value)

    @pytest.mark.parametrize("name", ["accuracy", "loss", "perplexity"])
    def test_figures_of_the_model_keep_their_names(self, name):
        message = f"loss, perplexity.*problem=numbers.*'{name}'.*another name"
        with pytest.raises(ValueError, match=message):
            checked_scores(Numbers(), {"bleu": 3.5, name: 2.0})

    @pytest.mark.parametrize("scores", [None, 3.5, ["bleu"]])
    def test_scores_are_a_dictionary(self, scores):
        with pytest.raises(ValueError, match="dictionary.*problem=numbers"):
            checked_scores(Numbers(), scores)
