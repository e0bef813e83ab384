import csv
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from keras_transformer import registry
from keras_transformer.run_directory import RunDirectory


def run_trainer(*flags, **options):
    return subprocess.run(
        [sys.executable, "-m", "keras_transformer.bin.trainer", *flags],
        capture_output=True,
        text=True,
        **options,
    )


def read_metrics(path):
    file = os.path.join(path, "metrics.csv")
    with open(file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def train(make_run, data_dir, *until, **changes):
    """Trains to each of `until` in turn, with a new Trainer each time."""
    run = make_run(**changes)
    for step in until:
        resume(run, data_dir, step)
    return run


def resume(run, data_dir, step):
    from keras_transformer.training import Trainer

    problem = registry.get_problem("copy", data_dir)
    Trainer(problem, run, eval_frequency=20).train(step)


class TrainerTest:
    def test_learns_to_copy(self, trained_run):
        assert float(read_metrics(trained_run)[-1]["dev_bleu"]) > 95

    def test_learns_what_perplexity_measures(self, trained_run):
        perplexities = [
            float(row["dev_perplexity"])
            for row in read_metrics(trained_run)
            if row["dev_perplexity"]
        ]
        assert perplexities[-1] < 1.2 < perplexities[0]

    def test_checkpoint_for_each_evaluation(self, trained_run):
        steps = RunDirectory(trained_run).checkpoints.steps
        assert steps == [300, 600, 900]

    def test_leaves_curve_samples_and_tensorboard(self, trained_run):
        names = os.listdir(trained_run)
        assert {"learning_curve.png", "samples", "tensorboard"} <= set(names)
        path = os.path.join(trained_run, "samples", "step-900.txt")
        with open(path, encoding="utf-8") as file:
            assert file.read().count("translation ") == 5

    def test_resumed_run_equals_an_uninterrupted_one(self, make_run, copy_data):
        whole = train(make_run, copy_data, 60, dropout=0.3)
        parts = train(make_run, copy_data, 17, 60, dropout=0.3)
        expected, resumed = (r.checkpoints.load(60) for r in (whole, parts))
        assert expected.keys() == resumed.keys()
        for name in expected.keys() - {"progress/seconds"}:
            np.testing.assert_array_equal(resumed[name], expected[name], name)

    def test_rows_after_the_checkpoint_are_written_once(
        self, make_run, copy_data
    ):
        run = train(make_run, copy_data, 40)
        os.remove(run.checkpoints.path(40))
        resume(run, copy_data, 40)
        steps = [
            row["step"] for row in read_metrics(run.path) if row["dev_loss"]
        ]
        assert steps == ["20", "40"]

    def test_loss_that_is_not_finite_stops_with_step_and_batch(
        self, make_run, copy_data
    ):
        with pytest.raises(ValueError, match="finite.*step .*batch"):
            train(make_run, copy_data, 60, learning_rate=1e30)


class TrainerCommandTest:
    def test_same_command_resumes_and_output_dir_suffices(
        self, make_run, copy_data
    ):
        run = train(make_run, copy_data, 20)
        done = run_trainer(f"--output_dir={run.path}", "--train_steps=30")
        assert done.returncode == 0, done.stderr
        assert "Resuming from step 20" in done.stderr
        assert json.loads(done.stdout)["step"] == 30

    def test_contradiction_is_one_line_with_both_values(
        self, trained_run, copy_data
    ):
        done = run_trainer(
            f"--output_dir={trained_run}",
            f"--data_dir={copy_data}",
            "--problem=copy_rev",
        )
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "'copy_rev'" in done.stderr
        assert "begun with 'copy'" in done.stderr

    def test_budget_below_the_longest_sentence_is_one_line(
        self, copy_data, tmp_path
    ):
        done = run_trainer(
            "--problem=copy",
            f"--data_dir={copy_data}",
            f"--output_dir={tmp_path / 'run'}",
            "--hparams_set=transformer_tiny",
            "--hparams=batch_tokens=5",
        )
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "batch_tokens" in done.stderr
        assert not os.path.exists(tmp_path / "run")

    def test_missing_data_names_the_command_to_run(self, tmp_path):
        done = run_trainer(
            "--problem=copy",
            f"--data_dir={tmp_path}",
            f"--output_dir={tmp_path / 'run'}",
            "--hparams_set=transformer_tiny",
        )
        assert done.returncode == 2
        assert "kt-datagen --problem=copy" in done.stderr
        assert not os.path.exists(tmp_path / "run")

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_signal_saves_and_stops(self, make_run, number):
        run = make_run()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "keras_transformer.bin.trainer",
                f"--output_dir={run.path}",
                "--train_steps=100000",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in process.stderr:
            if line.startswith("step 100/"):
                break
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode == 128 + number
        (step,) = run.checkpoints.steps
        assert step >= 100
