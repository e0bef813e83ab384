"""The evaluator gives the figures of the model and the problem's scores."""

import json

import numpy as np
import pytest
from number_problem import Numbers

from keras_transformer.hparam import HParams
from keras_transformer.training.backends.make_backend import make_backend
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
        backend = make_backend(HPARAMS, num_devices=1)
        backend.build(problem.vocabulary.vocab_size)
        evaluate = Evaluator(problem, backend, HPARAMS)
        figures, _ = evaluate()
        assert json.loads(json.dumps(figures)) == figures
        assert figures["dev_similarity"] == 3.5
        problem.similarity = {"accuracy": 3.5}
        with pytest.raises(ValueError, match="problem=numbers.*'accuracy'"):
            evaluate()
