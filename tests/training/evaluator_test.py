"""The evaluator gives the figures of the model and the problem's scores."""

import dataclasses
import json

import numpy as np
import pytest
from number_problem import Numbers
from number_problem import generated
from number_problem import numbers
from number_problem import with_pairs

from keras_transformer.hparam import HParams
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.backends.make_backend import make_backend
from keras_transformer.training.evaluator import Evaluator
from keras_transformer.training.trainer import Trainer

HPARAMS = HParams(num_layers=1, d_model=8, d_ff=8, num_heads=2, extra_length=1)


class Similar(Numbers):
    """Numbers with a score of its own."""

    similarity = {"similarity": np.float32(3.5)}

    def score(self, hypotheses, references):
        return self.similarity


class EvaluatorTest:
    @pytest.mark.parametrize(
        "number", [pytest.param(1, marks=pytest.mark.slow), 2, 5]
    )
    def test_a_number_of_batches_has_all_lengths(self, tmp_path, number):
        problem = with_pairs(tmp_path, dev=list(numbers(60)))
        problem.generate(None)
        hparams = dataclasses.replace(HPARAMS, batch_tokens=64)
        backend = make_backend(hparams, num_devices=1)
        backend.build(problem.vocabulary.vocab_size)
        lengths, num_tokens, measured = [], [], []

        def count(inputs, targets):
            lengths.append(inputs.shape[1] + targets.shape[1])
            num_tokens.append((targets != 0).sum())
            measured.extend(problem.vocabulary.decode(inputs))
            return 1.0, 0.0, num_tokens[-1]

        backend.evaluate = count
        Evaluator(problem, backend, hparams)()
        every = sorted(lengths)
        assert len(every) == 17
        del lengths[:], num_tokens[:], measured[:]
        evaluate = Evaluator(problem, backend, hparams, num_batches=number)
        figures, samples = evaluate()
        assert figures["dev_loss"] == number / sum(num_tokens)
        parts = np.array_split(every, number)
        for length, part in zip(lengths, parts, strict=True):
            assert part[0] <= length <= part[-1]
        pairs = [p for p in problem.pairs["dev"] if p[0] in measured]
        assert [sample[:2] for sample in samples] == pairs[:5]

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

    def test_new_data_do_not_change_a_run_in_progress(self, tmp_path):
        problem = generated(tmp_path)
        backend = make_backend(HPARAMS, num_devices=1)
        backend.build(problem.vocabulary.vocab_size)
        evaluate = Evaluator(problem, backend, HPARAMS)
        other = with_pairs(tmp_path, dev=problem.pairs["test"])
        other.vocab_size += 1
        other.generate(None)
        _, samples = evaluate()
        assert [pair[:2] for pair in samples] == problem.pairs["dev"][:5]

    def test_a_run_without_evaluations_needs_no_dev_split(self, tmp_path):
        problem = with_pairs(tmp_path)
        problem.splits = ("train",)
        problem.generate(None)
        record = {"problem": "numbers", "random_seed": 0}
        model_bytes = problem.vocabulary.model_bytes
        path = str(tmp_path / "run")
        run = RunDirectory.create(path, record, HPARAMS, model_bytes)
        trainer = Trainer(problem, run, eval_steps=0)
        assert trainer.train(1) == {}
        assert run.checkpoints.steps == [1]
        with pytest.raises(ValueError, match="split=dev, problem=numbers"):
            Trainer(problem, run)
