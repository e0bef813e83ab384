"""Evaluations without an improvement end a training."""

import itertools

import pytest
from runs import evaluations
from runs import train

from keras_transformer.problem import Problem

TINY = {"d_model": 16, "d_ff": 32, "num_heads": 2, "batch_tokens": 512}
TINY |= {"extra_length": 4}


class EarlyStoppingTest:
    # At this rate an update changes no weight.
    STUCK = {**TINY, "learning_rate": 1e-30}

    @pytest.mark.parametrize(
        "metric", ["bleu", pytest.param("loss", marks=pytest.mark.slow)]
    )
    def test_training_stops_without_an_improvement(self, make_run, metric):
        run = make_run(**self.STUCK)
        options = {"early_stopping_metric": metric, "eval_frequency": 5}
        options["early_stopping_patience"] = 2
        trainer, results = train(run, 100, **options)
        assert trainer.step == 15
        assert [int(row["step"]) for row in evaluations(run)] == [5, 10, 15]
        assert results["dev_loss"] == float(evaluations(run)[0]["dev_loss"])
        # The same command does not resume a training that is over.
        trainer, again = train(run, 100, **options)
        assert (trainer.step, again) == (15, results)

    def test_the_best_checkpoint_is_that_of_the_recorded_measure(
        self, make_run, capsys
    ):
        run = make_run(**TINY)
        run.record["measure"] = "ter"
        options = {"early_stopping_metric": "measure", "eval_frequency": 10}
        train(run, 30, **options)
        ters = {
            int(row["step"]): float(row["dev_ter"]) for row in evaluations(run)
        }
        scores = {e.step: -e.score for e in run.checkpoints.evaluations}
        assert scores == ters
        assert ters[run.checkpoints.best_step] == min(ters.values())
        _, chosen, signatures, *_ = capsys.readouterr().err.splitlines()
        assert chosen == "The best checkpoint is chosen by ter on dev."
        assert signatures.startswith("Signatures: BLEU|")
        assert "; TER|" in signatures

    def test_training_without_evaluations_writes_all_checkpoints(
        self, make_run
    ):
        run = make_run(**TINY)
        options = {"eval_steps": 0, "eval_frequency": 2}
        assert train(run, 6, **options)[1] == {}
        assert evaluations(run) == []
        assert run.checkpoints.steps == [2, 4, 6]
        assert run.checkpoints.best_step is None
        # A later call evaluates what the last one left out.
        assert train(run, 6)[1]["dev_loss"] > 0
        with pytest.raises(ValueError, match="must be none for a run without"):
            train(run, 8, **options, early_stopping_metric="loss")

    @pytest.mark.slow
    def test_the_loss_decides_for_a_problem_without_its_measure(
        self, make_run, monkeypatch
    ):
        monkeypatch.setattr(Problem, "score", lambda *texts: {"length": 3.0})
        run = make_run(**self.STUCK)
        options = {"early_stopping_metric": "measure", "eval_frequency": 5}
        options["early_stopping_patience"] = 2
        assert train(run, 100, **options)[0].step == 15

    @pytest.mark.slow
    def test_the_measure_decides_after_a_resume_too(
        self, make_run, monkeypatch
    ):
        bleu = itertools.count(1)
        monkeypatch.setattr(Problem, "score", lambda *_: {"bleu": next(bleu)})
        run = make_run(**self.STUCK)
        options = {"early_stopping_metric": "measure", "eval_frequency": 5}
        options["early_stopping_patience"] = 2
        for step in (20, 30):
            assert train(run, step, **options)[0].step == step

    @pytest.mark.slow
    def test_training_continues_while_the_loss_falls(self, make_run):
        run = make_run(**TINY)
        trainer, _ = train(
            run,
            30,
            early_stopping_metric="loss",
            early_stopping_patience=1,
            eval_frequency=10,
        )
        assert trainer.step == 30
