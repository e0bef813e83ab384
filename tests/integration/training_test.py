import dataclasses
import functools
import glob
import itertools
import json
import math
import os
import resource
import shutil
import signal
import types

import numpy as np
import pytest
from commands import call
from runs import evaluations
from runs import metrics
from runs import run_trainer
from runs import train

from keras_transformer.bin import trainer
from keras_transformer.optimizers import find_peak
from keras_transformer.runs.model import load_model
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.backends.tensorflow_backend import (
    TensorflowBackend,
)

TINY = {"d_model": 16, "d_ff": 32, "num_heads": 2, "batch_tokens": 512}
TINY |= {"extra_length": 4}
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def steps_of(rows):
    return [int(row["step"]) for row in rows]


def weights_of(model):
    return read_variables(model_variables(model))


def changed(run, **changes):
    """Returns the same run with other hparams, without a check."""
    run = RunDirectory(run.path)
    run.hparams = dataclasses.replace(run.hparams, **changes)
    return run


class StoppedInEvaluation(TensorflowBackend):
    """Sends SIGTERM to its own process in the first evaluation."""

    was_stopped = False

    def evaluate(self, inputs, targets):
        if not self.was_stopped:
            self.was_stopped = True
            signal.raise_signal(signal.SIGTERM)
        return super().evaluate(inputs, targets)


class ActsInUpdate(TensorflowBackend):
    """Calls a function before its first update."""

    def __init__(self, hparams, act):
        super().__init__(hparams)
        self.acts = [act]

    def update(self, batch, *signals):
        if self.acts:
            self.acts.pop()()
        return super().update(batch, *signals)


class TrainerTest:
    def test_learns_to_copy(self, trained_run):
        run = RunDirectory(trained_run)
        assert float(evaluations(run)[-1]["dev_bleu"]) > 95

    def test_perplexity_falls(self, trained_run):
        rows = evaluations(RunDirectory(trained_run))
        perplexities = [float(row["dev_perplexity"]) for row in rows]
        assert 1 < perplexities[-1] < min(1.2, perplexities[0])

    def test_each_evaluation_has_a_checkpoint(self, trained_run):
        steps = RunDirectory(trained_run).checkpoints.steps
        assert steps == [250, 500, 750, 1000]

    def test_leaves_curve_samples_and_tensorboard(self, trained_run):
        names = os.listdir(trained_run)
        assert {"learning_curve.png", "samples", "tensorboard"} <= set(names)
        path = os.path.join(trained_run, "samples", "step-1000.txt")
        with open(path, encoding="utf-8") as file:
            assert file.read().count("translation ") == 5

    def test_rows_after_the_checkpoint_are_written_once(self, make_run):
        run = make_run(**TINY)
        train(run, 40, eval_frequency=20)
        os.remove(run.checkpoints.path(40))
        train(run, 40, eval_frequency=20)
        assert steps_of(evaluations(run)) == [20, 40]

    @pytest.mark.slow
    def test_updates_of_a_run_of_version_0_1_keep_their_positions(
        self, make_run
    ):
        run = make_run(**TINY, effective_batch_tokens=300)
        trainer, _ = train(run, 1)
        assert trainer.progress["positions"] > 300
        # That version recorded none and counted no source tokens.
        arrays = run.checkpoints.load()
        for name in ("progress/positions", "log/source_tokens"):
            del arrays[name]
        run.checkpoints.save(1, arrays)
        for step in (2, 3):
            trainer, _ = train(run, step)
            assert trainer.progress["positions"] == 300

    @pytest.mark.slow
    def test_a_cosine_of_an_earlier_run_goes_on_as_it_began(self, make_run):
        run = make_run(**TINY, warmup_steps=10, decay_steps=20)
        train(run, 3)
        arrays = run.checkpoints.load()
        assert arrays.pop("progress/rules") == 1
        run.checkpoints.save(3, arrays)
        # Steps count from 0 from the fourth update on.
        for step in (4, 5):
            trainer, _ = train(run, step)
            assert trainer.progress["rules"] == 0
        peak = find_peak(run.hparams)
        rates = [
            float(row["learning_rate"]) / peak
            for row in metrics(run)
            if row["learning_rate"]
        ]
        np.testing.assert_allclose(rates, [0.3, 0.3, 0.4], rtol=1e-6)

    @pytest.mark.slow
    def test_minutes_end_a_resumed_run_at_rate_0(self, make_run, monkeypatch):
        run = make_run(**TINY, warmup_steps=5, train_minutes=0.2)
        # The machine is three times slower in the second half.
        ticks = itertools.chain([0.02] * 300, itertools.repeat(0.06))
        clock = types.SimpleNamespace(
            perf_counter=itertools.accumulate(ticks).__next__
        )
        monkeypatch.setattr("keras_transformer.training.trainer.time", clock)
        train(run, 60)
        trainer, results = train(run, math.inf)
        assert 12 <= trainer.progress["seconds"] < 12.3
        # Four calls of the clock are an update.
        assert 100 < trainer.step < 150
        last = [row for row in metrics(run) if row["learning_rate"]][-1]
        assert int(last["step"]) == trainer.step
        assert 0 < float(last["learning_rate"]) < 0.001 * find_peak(run.hparams)
        assert steps_of(evaluations(run)) == [60, trainer.step]
        assert results["dev_loss"] > 0
        again, repeated = train(run, math.inf)
        assert again.step == trainer.step
        assert repeated.keys() == results.keys()

    def test_error_of_an_infinite_loss_names_step_and_batch(self, make_run):
        run = make_run(**TINY)
        train(run, 20)
        trainer, _ = train(run, 20, save_checkpoints_secs=0.0)
        # The logits of such weights do not fit into float32.
        weights = trainer.backend.model.embedding.embeddings
        weights.assign(1e30 * weights)
        expected = "diverged.* at step 21, epoch 0, batch 20. Start anot"
        with pytest.raises(ValueError, match=expected):
            trainer.train(60)
        for step in run.checkpoints.steps:
            for name, array in run.checkpoints.load(step).items():
                # The sustained FLOP/s of a processor are unknown.
                is_unknown = name == "progress/device_flops"
                assert is_unknown or np.isfinite(array).all()
        assert run.checkpoints.steps[0] == 20

    def test_infinite_gradient_reaches_no_checkpoint(self, make_run):
        run = make_run(**TINY)
        trainer, _ = train(run, 0, save_checkpoints_secs=0.0)
        # A float32 holds the logits of such vectors, and gradients of their
        # size, but not the sum of the squares of these gradients.
        *_, scale, _ = trainer.backend.model.trainable_variables
        assert scale.path.endswith("feed_forward_residual/norm/gamma")
        scale.assign(1e20 * scale)
        expected = "gradient_norm=inf at step 1,.*batch 0. Run the command"
        with pytest.raises(ValueError, match=expected):
            trainer.train(10)
        assert run.checkpoints.steps == []

    def test_extreme_perplexity_is_finite(self, make_run):
        trainer, _ = train(make_run(**TINY), 0)
        trainer.backend.model.embedding.embeddings.assign(
            1e6 * trainer.backend.model.embedding.embeddings
        )
        results, _ = trainer.evaluate()
        assert results["dev_loss"] > 1000
        assert np.isfinite(results["dev_perplexity"])

    @pytest.mark.slow
    def test_hourly_checkpoints_are_kept_beside_the_newest(self, make_run):
        few, many = make_run(**TINY), make_run(**TINY)
        # BLEU is always 0, so the first checkpoint is the best.
        options = {"eval_frequency": 5, "keep_checkpoint_max": 1}
        train(few, 15, **options)
        train(many, 15, keep_checkpoint_every_n_hours=1e-7, **options)
        assert few.checkpoints.steps == [5, 15]
        assert many.checkpoints.steps == [5, 10, 15]

    @pytest.mark.parametrize(
        "last, until",
        [(8, 10), pytest.param(9, 9, marks=pytest.mark.slow)],
    )
    def test_profile_is_where_tensorboard_looks(self, make_run, last, until):
        run = make_run(**TINY)
        train(run, until, profile_steps=(7, last))
        folder = run.file("tensorboard", "plugins", "profile", "*")
        (path,) = glob.glob(os.path.join(folder, "*.xplane.pb"))
        assert os.path.getsize(path) > 0


class MovingAverageTest:
    @pytest.fixture(scope="class")
    def run(self, make_run):
        run = make_run(**TINY, ema_decay=0.9)
        train(run, 30)
        return run

    def test_decoding_uses_the_averages(self, run):
        arrays = run.checkpoints.load()
        for name, weight in weights_of(load_model(run)).items():
            average = arrays[name.replace("model/", "average/")]
            np.testing.assert_array_equal(weight, average)
            assert not np.array_equal(weight, arrays[name])

    def test_evaluation_measures_the_averages(self, run, make_run):
        from_averages = make_run(**TINY)
        trainer, _ = train(from_averages, 0, warm_start_from=run.path)
        results, _ = trainer.evaluate()
        (row,) = evaluations(run)
        assert float(row["dev_loss"]) == results["dev_loss"]

    def test_training_continues_from_its_own_weights(self, run):
        trainer, _ = train(run, 30)
        before = weights_of(trainer.backend.model)
        trainer.evaluate()
        for name, value in weights_of(trainer.backend.model).items():
            np.testing.assert_array_equal(value, before[name])


class WarmStartTest:
    def test_new_run_starts_with_the_weights_of_the_other(
        self, make_run, trained_run, capsys
    ):
        run = make_run()
        trainer, _ = train(run, 0, warm_start_from=trained_run)
        assert f"of step 1000 of {trained_run}." in capsys.readouterr().err
        assert trainer.step == int(trainer.backend.optimizer.iterations) == 0
        theirs = load_model(RunDirectory(trained_run))
        for name, value in weights_of(theirs).items():
            weight = weights_of(trainer.backend.model)[name]
            np.testing.assert_array_equal(weight, value)

    def test_resumed_run_is_not_warm_started_again(self, make_run, trained_run):
        run = make_run()
        for _ in range(2):
            trainer, _ = train(run, 3, warm_start_from=trained_run)
        arrays = run.checkpoints.load()
        for name, value in weights_of(trainer.backend.model).items():
            np.testing.assert_array_equal(arrays[name], value)


class InterruptedEvaluationTest:
    @pytest.mark.slow
    def test_signal_ends_it_and_the_next_process_repeats_it(self, make_run):
        run, whole = make_run(**TINY), make_run(**TINY)
        backend = StoppedInEvaluation(run.hparams)
        trainer, results = train(run, 20, backend, eval_frequency=10)
        assert (trainer.step, results) == (10, {})
        assert run.checkpoints.steps == [10]
        assert evaluations(run) == []
        for each in (run, whole):
            train(each, 20, eval_frequency=10)
        columns = ("step", "dev_loss", "dev_bleu")
        rows, expected = (
            [[row[name] for name in columns] for row in evaluations(each)]
            for each in (run, whole)
        )
        assert rows == expected
        assert run.checkpoints.evaluations[0].score is not None


class FullDiskTest:
    @pytest.mark.slow
    def test_training_stops_and_continues_when_there_is_room(
        self, make_run, limit_files
    ):
        run = make_run(**TINY)
        options = {"eval_frequency": 1000}
        train(run, 2, **options)
        handlers = [signal.getsignal(number) for number in SIGNALS]
        # The small files fit; the next checkpoint does not.
        limit_files(os.path.getsize(run.checkpoints.path(2)) // 2)
        with pytest.raises(OSError, match="Cannot write .*ckpt-3.npz"):
            train(run, 4, **options, save_checkpoints_secs=0.0)
        assert [signal.getsignal(number) for number in SIGNALS] == handlers
        assert run.checkpoints.steps == [2]
        limit_files(resource.RLIM_INFINITY)
        train(run, 3, **options)
        assert run.checkpoints.steps == [2, 3]


class MovedRunTest:
    def test_nothing_is_written_to_its_earlier_place(self, make_run):
        run = make_run(**TINY)
        move = functools.partial(os.rename, run.path, f"{run.path}_moved")
        with pytest.raises(ValueError, match="was moved or removed"):
            train(run, 2, ActsInUpdate(run.hparams, move))
        assert not os.path.exists(run.path)


class FirstUpdateTest:
    def test_signal_during_the_first_compilation_saves_update_1(self, make_run):
        run = make_run(**TINY)
        stop = functools.partial(signal.raise_signal, signal.SIGHUP)
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        trainer, results = train(run, 20, ActsInUpdate(run.hparams, stop))
        signal.signal(signal.SIGHUP, before)
        assert (trainer.step, results) == (1, {})
        assert run.checkpoints.steps == [1]
        assert trainer.stop_signal == signal.SIGHUP
        # A further call goes on.
        assert "dev_loss" in trainer.train(2)
        assert (trainer.step, trainer.stop_signal) == (2, None)


class TrainerCommandTest:
    def test_same_command_resumes_and_output_dir_suffices(
        self, trained_run, tmp_path, capsys
    ):
        path = shutil.copytree(trained_run, tmp_path / "run")
        flags = f"--output_dir={path}", "--train_steps=1002"
        assert call(trainer, *flags) == 0
        out, messages = capsys.readouterr()
        assert "Resuming from step 1000" in messages
        assert json.loads(out)["step"] == 1002

    @pytest.mark.slow
    def test_run_keeps_the_batch_that_auto_chose(self, copy_data, tmp_path):
        command = (
            "--problem=copy",
            f"--data_dir={copy_data}",
            f"--output_dir={tmp_path}",
            "--hparams_set=transformer_tiny",
            "--hparams=num_layers=1,d_model=16,d_ff=32,max_length=50",
            "--precision=bfloat16",
            "--batch_tokens=auto",
            "--effective_batch_tokens=600",
            "--train_steps=1",
        )
        status, out, messages = run_trainer(*command)
        assert status == 0, messages
        assert json.loads(out)["step"] == 1
        run = RunDirectory(str(tmp_path))
        # An update of 600 real tokens has more positions.
        positions = run.checkpoints.load()["progress/positions"]
        assert 600 < positions < 700
        assert 50 <= run.hparams.batch_tokens <= positions
        assert run.record["precision"] == "bfloat16"
        status, _, messages = run_trainer(*command)
        assert status == 0, messages
