"""kt-avg-checkpoints on a run that has learned to copy."""

import os

import numpy as np
from commands import assert_fails
from commands import call

from keras_transformer.bin import avg_checkpoints
from keras_transformer.decoding.translator import Translator
from keras_transformer.runs.run_directory import RunDirectory

LINES = ["a b c d", "", "q w e r t y", "   ", "h u k"]
COPIED = [line.strip() for line in LINES]


class AverageCheckpointsTest:
    def test_the_average_is_a_run_that_translates(
        self, trained_run, tmp_path, capsys
    ):
        path = tmp_path / "averaged"
        status = call(
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=2",
            f"--averaged_dir={path}",
        )
        assert status == 0
        assert capsys.readouterr().out == f"{path}\n"
        assert Translator.load(path)(LINES) == COPIED

    def test_the_weights_are_the_mean_of_the_last(
        self, trained_run, tmp_path, capsys
    ):
        path = tmp_path / "averaged"
        call(
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=2",
            f"--averaged_dir={path}",
        )
        checkpoints = RunDirectory(trained_run).checkpoints
        parts = [checkpoints.load(step) for step in checkpoints.steps[-2:]]
        for name, mean in RunDirectory(path).checkpoints.load().items():
            expected = sum(part[name].astype("float64") for part in parts) / 2
            np.testing.assert_allclose(mean, expected, rtol=1e-6)

    def test_by_default_it_lies_in_the_run(self, trained_run, capsys):
        status = call(
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=1",
        )
        assert status == 0
        path = os.path.join(trained_run, "averaged")
        assert capsys.readouterr().out == path + "\n"
        assert RunDirectory.exists(path)

    def test_too_few_checkpoints_are_one_line(
        self, trained_run, tmp_path, capsys
    ):
        assert_fails(
            capsys,
            ["num_last_checkpoints=50", "3 checkpoints"],
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=50",
            f"--averaged_dir={tmp_path / 'averaged'}",
        )
        assert os.listdir(tmp_path) == []

    def test_a_training_run_is_never_replaced(self, trained_run, capsys):
        before = RunDirectory(trained_run).checkpoints.steps
        assert_fails(
            capsys,
            ["averaged_dir", trained_run],
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=1",
            f"--averaged_dir={trained_run}",
        )
        assert RunDirectory(trained_run).checkpoints.steps == before
