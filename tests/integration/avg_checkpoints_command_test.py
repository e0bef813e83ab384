"""kt-avg-checkpoints on a run that has learned to copy."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import assert_fails
from commands import call
from processes import environment
from runs import evaluations

from keras_transformer.bin import avg_checkpoints
from keras_transformer.decoding.translator import Translator
from keras_transformer.runs.run_directory import RunDirectory

FROZEN_RUN = Path(__file__).parents[1] / "fixtures" / "v0.1" / "run"
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
            "--noevaluate",
        )
        assert status == 0
        output = capsys.readouterr()
        assert output.out == f"{path}\n"
        assert "updates 750, 1000, which are 250 apart" in output.err
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
            "--noevaluate",
        )
        checkpoints = RunDirectory(trained_run).checkpoints
        parts = [checkpoints.load(step) for step in checkpoints.steps[-2:]]
        for name, mean in RunDirectory(path).checkpoints.load().items():
            expected = sum(part[name].astype("float64") for part in parts) / 2
            np.testing.assert_allclose(mean, expected, rtol=1e-6)

    def test_timed_checkpoints_are_averaged(self, tmp_path, capsys):
        path = shutil.copytree(FROZEN_RUN, tmp_path / "run")
        (path / "checkpoints" / "timed.json").write_text("[1500]")
        flags = (f"--output_dir={path}", "--noevaluate")
        flags += ("--checkpoints=timed", "--num_last_checkpoints=1")
        assert call(avg_checkpoints, *flags) == 0
        assert "the checkpoint of update 1500 alone" in capsys.readouterr().err

    def test_by_default_it_lies_in_the_run(self, trained_run, capsys):
        status = call(
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=1",
            "--noevaluate",
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
            ["num_last_checkpoints=50", "4 checkpoints"],
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=50",
            f"--averaged_dir={tmp_path / 'averaged'}",
        )
        assert os.listdir(tmp_path) == []

    def test_a_run_without_a_start_has_no_share_of_it(self, tmp_path, capsys):
        assert_fails(
            capsys,
            ["start_share=0.5", "did not start from another run"],
            avg_checkpoints,
            f"--output_dir={FROZEN_RUN}",
            "--num_last_checkpoints=2",
            f"--averaged_dir={tmp_path / 'averaged'}",
            "--start_share=0.5",
        )

    @pytest.mark.parametrize("place", ["", "checkpoints/averaged", ".."])
    def test_the_runs_own_files_are_never_replaced(
        self, trained_run, capsys, place
    ):
        before = RunDirectory(trained_run).checkpoints.steps
        path = os.path.join(trained_run, place)
        assert_fails(
            capsys,
            ["averaged_dir", trained_run, "separate directory"],
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=1",
            f"--averaged_dir={path}",
        )
        assert RunDirectory(trained_run).checkpoints.steps == before


class EvaluateTest:
    def test_the_newest_is_measured_as_in_the_training(
        self, trained_run, tmp_path, capsys
    ):
        path = tmp_path / "averaged"
        flags = (f"--output_dir={trained_run}", f"--averaged_dir={path}")
        assert call(avg_checkpoints, *flags, "--num_last_checkpoints=2") == 0
        output = capsys.readouterr()
        assert output.out == f"{path}\n"
        last = evaluations(RunDirectory(trained_run))[-1]
        rows = rows_of(output.err)
        loss, bleu = rows["newest, 1000"]
        assert abs(loss - float(last["dev_loss"])) < 1e-3
        assert abs(bleu - float(last["dev_bleu"])) < 0.01
        record = json.loads((path / "run.json").read_text())
        assert record["training"]["dev_step"] == 1000
        dev = record["training"]["dev"]
        assert rows["average of 2"] == (
            round(dev["loss"], 4),
            round(dev["bleu"], 2),
        )
        card = (path / "README.md").read_text()
        assert f"| BLEU | {dev['bleu']:.4g} |" in card
        assert "when the checkpoints were averaged" in card
        assert "measured during training" not in card

    @pytest.mark.slow
    def test_an_average_with_a_bad_checkpoint_gets_a_warning(
        self, trained_run, tmp_path, capsys
    ):
        path = shutil.copytree(trained_run, tmp_path / "run")
        checkpoints = RunDirectory(str(path)).checkpoints
        good = checkpoints.load(1000)
        # As if the training had gone wrong and stopped between evaluations.
        bad = {n: a * (0.5 if "model/" in n else 1) for n, a in good.items()}
        checkpoints.save(1010, bad)
        flags = (f"--output_dir={path}", "--num_last_checkpoints=2")
        assert call(avg_checkpoints, *flags, "--evaluate") == 0
        messages = capsys.readouterr().err
        best = f"best, {checkpoints.best_step}"
        names = {"newest, 1010", best, "average of 2"}
        assert rows_of(messages).keys() == names
        assert "updates 1000, 1010, which are 10 apart" in messages
        assert "worse than the best checkpoint: bleu" in messages

    def test_absent_data_leave_the_average_unmeasured(self, tmp_path, capsys):
        path = tmp_path / "averaged"
        flags = (f"--output_dir={FROZEN_RUN}", f"--averaged_dir={path}")
        flags += ("--num_last_checkpoints=2", f"--data_dir={tmp_path}")
        assert call(avg_checkpoints, *flags) == 0
        assert "measured on dev. There is no data" in capsys.readouterr().err
        assert RunDirectory.exists(path)
        words = ["There is no data of", str(tmp_path), "--noevaluate"]
        assert_fails(capsys, words, avg_checkpoints, *flags, "--evaluate")

    def test_without_it_no_backend_is_loaded(self, tmp_path):
        flags = [f"--output_dir={FROZEN_RUN}", f"--averaged_dir={tmp_path}/a"]
        flags += ["--num_last_checkpoints=2", "--noevaluate"]
        script = (
            "import sys\n"
            "from keras_transformer.bin import avg_checkpoints\n"
            "try:\n"
            f"    avg_checkpoints.run(['kt-avg-checkpoints', *{flags}])\n"
            "finally:\n"
            "    print({'tensorflow', 'keras', 'jax'} & set(sys.modules))\n"
        )
        output = subprocess.run(
            [sys.executable, "-c", script],
            env=environment(__file__),
            capture_output=True,
            text=True,
        )
        assert output.stdout == f"{tmp_path}/a\nset()\n", output.stderr


def rows_of(messages):
    """Returns loss and BLEU of each row of the table on standard error."""
    rows = re.findall(
        r"^dev  (.*?) +loss +([\d.]+)  bleu +([\d.]+)$", messages, re.MULTILINE
    )
    return {name: (float(loss), float(bleu)) for name, loss, bleu in rows}
