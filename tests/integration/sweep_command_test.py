"""kt-sweep with the process of its rows."""

import os
import signal
import subprocess
import sys
import time

import pytest
from commands import assert_fails
from commands import call
from commands import call_apart
from processes import environment

from keras_transformer import registry
from keras_transformer.bin import sweep
from keras_transformer.problem import Problem

MODEL = "num_layers=1,d_model=16,d_ff=16,num_heads=2,batch_tokens=2048"
SECONDS = 300  # limit for the start of a row


def flags(copy_data, path, steps):
    return [
        "--problem=copy",
        f"--data_dir={copy_data}",
        f"--output_dir={path}",
        "--hparams_set=transformer_tiny",
        f"--hparams={MODEL},beam_size=1,extra_length=1",
        "--grid=dropout=0.0,0.1",
        "--splits=dev",
        f"--train_steps={steps}",
    ]


class RowsTest:
    @pytest.mark.parametrize(
        "flags,names",
        [
            (
                ["--table=3", "--seeds=2", "--splits=dev"],
                ["base", "base_seed1", "a_h1", "a_h1_seed1"],
            ),
            (["--table=3", "--rows=c_n8,big"], ["c_n8", "big"]),
            (["--table=4"], ["treebank_only"]),
            (
                ["--table=4", "--semi_data_dir={semi}"],
                ["treebank_only", "semi_supervised"],
            ),
            (
                ["--hparams_sets=transformer_tiny,transformer_small"],
                ["transformer_tiny", "transformer_small"],
            ),
            (
                ["--hparams_set=transformer_tiny", "--random=1"]
                + ["--ranges=num_layers=2..2"],
                ["num_layers=2"],
            ),
        ],
    )
    def test_flags_name_the_rows_to_train(
        self, flags, names, copy_data, tmp_path, monkeypatch, capsys
    ):
        rows = []

        def fail(command, path, flags):
            rows.append(os.path.basename(path))
            return "It was not started."

        monkeypatch.setattr(sweep, "run_command", fail)
        if "--table=4" in flags:
            monkeypatch.setattr(Problem, "measure", "f1")
        semi = tmp_path / "semi"
        semi.symlink_to(copy_data)
        status = call(
            sweep,
            "--problem=copy",
            f"--data_dir={copy_data}",
            f"--output_dir={tmp_path}",
            *(flag.format(semi=semi) for flag in flags),
        )
        assert status == 1
        assert rows[: len(names)] == names
        table = capsys.readouterr().out
        # The heading is the command, without directories and --rows.
        heading = table.splitlines()[0]
        for flag in flags:
            is_left_out = flag.startswith(("--rows", "--semi_data_dir"))
            assert (flag in heading) != is_left_out
        assert f"{names[0]} failed: It was not started." in table
        # The paper's figure for semi-supervised training is always there.
        assert ("| 92.7 |" in table) == ("--table=4" in flags)

    def test_usr_dir_goes_to_both_commands_and_precision_to_one(
        self, copy_data, tmp_path, monkeypatch
    ):
        package = tmp_path / "mine_of_sweep_test"
        package.mkdir()
        (package / "__init__.py").touch()
        passed_on = {}

        def fail(command, path, flags):
            passed_on[command] = flags
            return None if command == "trainer" else "It was not started."

        monkeypatch.setattr(sweep, "run_command", fail)
        arguments = flags(copy_data, tmp_path / "sweep", 3)
        arguments += [f"--usr_dir={package}", "--precision=bfloat16"]
        assert call(sweep, *arguments) == 1
        for command in ("trainer", "evaluate"):
            assert f"--usr_dir={package}" in passed_on[command]
        assert "--precision=bfloat16" in passed_on["trainer"]
        assert "--precision=bfloat16" not in passed_on["evaluate"]

    def test_splits_that_kt_evaluate_does_not_take_are_refused_first(
        self, copy_data, tmp_path, monkeypatch, capsys
    ):
        copy = type(registry.get_problem("copy"))
        monkeypatch.setattr(copy, "splits", ("train", "dev", "dev2"))
        arguments = flags(copy_data, tmp_path / "sweep", 3)
        words = ["that kt-evaluate takes", "Received: 'dev2'. Use dev."]
        assert_fails(capsys, words, sweep, *arguments, "--splits=dev,dev2")
        assert not os.path.exists(tmp_path / "sweep")

    def test_an_error_names_twenty_of_the_rows(
        self, copy_data, tmp_path, capsys
    ):
        grid = ",".join(str(number) for number in range(1, 31))
        arguments = flags(copy_data, tmp_path / "sweep", 3)
        arguments += [f"--grid=warmup_steps={grid}", "--rows=warmup_steps=0"]
        words = ["must name rows", "or warmup_steps=20, for example."]
        assert_fails(capsys, words, sweep, *arguments)

    def test_a_run_that_no_sweep_made_is_left_alone(
        self, copy_data, tmp_path, capsys
    ):
        path = tmp_path / "dropout=0.1"
        path.mkdir()
        (path / "run.json").touch()
        words = ["must not hold a run of yours", str(path)]
        assert_fails(capsys, words, sweep, *flags(copy_data, tmp_path, 3))
        assert os.listdir(tmp_path) == [path.name]

    def test_a_table_that_no_sweep_wrote_stays(
        self, copy_data, tmp_path, capsys
    ):
        (tmp_path / "table.md").touch()
        words = ["must not hold a table.md that no sweep wrote"]
        assert_fails(capsys, words, sweep, *flags(copy_data, tmp_path, 3))
        assert os.listdir(tmp_path) == ["table.md"]


class RunCommandTest:
    @pytest.mark.parametrize(
        "code, failure",
        [
            ("", None),
            ("raise ValueError", "kt-evaluate ended with status 2. "),
            ("os.kill(os.getpid(), 9)", "kt-evaluate was ended by signal 9. "),
        ],
    )
    def test_a_command_that_fails_is_described(self, code, failure, tmp_path):
        package = tmp_path / "package_of_run_command_test"
        package.mkdir()
        code = f"import os\nprint('pid', os.getpid(), flush=True)\n{code}\n"
        (package / "__init__.py").write_text(code)
        flags = [f"--usr_dir={package}", "--registry_help"]
        line = sweep.run_command("evaluate", str(tmp_path), flags)
        assert line is failure or line.startswith(failure)
        log = (tmp_path / "log.txt").read_text()
        assert log.startswith("pid ")
        assert line is None or line.endswith(log.splitlines()[-1])
        assert log.split()[1] != str(os.getpid())

    def test_the_process_imports_what_its_parent_does(
        self, tmp_path, monkeypatch
    ):
        for name, code in (
            ("library_of_run_command_test.py", "print('imported')"),
            ("mine/__init__.py", "import library_of_run_command_test"),
            ("here/queue.py", "raise ValueError('shadowed')"),
        ):
            path = tmp_path / "python" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code)
        monkeypatch.syspath_prepend(tmp_path / "python")
        monkeypatch.chdir(tmp_path / "python" / "here")
        flags = [f"--usr_dir={tmp_path}/python/mine", "--registry_help"]
        assert sweep.run_command("evaluate", str(tmp_path), flags) is None
        assert "imported" in (tmp_path / "log.txt").read_text()

    def test_a_process_that_writes_nothing_is_described(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(sys, "executable", "false")
        path = str(tmp_path)
        assert sweep.run_command("trainer", path, []) == (
            "kt-trainer ended with status 1."
        )
        # The last line of an earlier command is not its reason.
        (tmp_path / "log.txt").write_text("earlier\n")
        assert sweep.run_command("trainer", path, []) == (
            "kt-trainer ended with status 1."
        )
        assert (tmp_path / "log.txt").read_text() == "earlier\n"


@pytest.mark.slow
class SweepCommandTest:
    def test_a_row_that_failed_is_all_that_is_left_to_do(
        self, copy_data, tmp_path
    ):
        # The checkpoints of the first row find a file in their place.
        obstacle = tmp_path / "dropout=0.0" / "checkpoints"
        obstacle.parent.mkdir()
        obstacle.touch()
        first = call_apart("sweep", *flags(copy_data, tmp_path, 3))
        assert first.returncode == 1
        assert b"dropout=0.0 failed: kt-trainer ended" in first.stderr
        assert self.trained(tmp_path) == ["dropout=0.1"]
        obstacle.unlink()
        second = call_apart("sweep", *flags(copy_data, tmp_path, 3))
        assert second.returncode == 0
        assert b"dropout=0.1" not in second.stderr
        assert len(self.trained(tmp_path)) == 2
        assert second.stdout == (tmp_path / "table.md").read_bytes()

    def test_a_signal_ends_the_row_with_a_checkpoint(self, copy_data, tmp_path):
        process = subprocess.Popen(
            [sys.executable, "-m", "keras_transformer.bin.sweep"]
            + flags(copy_data, tmp_path, 100_000),
            env=environment(__file__),
            stderr=subprocess.PIPE,
        )
        row = tmp_path / "dropout=0.0"
        end = time.monotonic() + SECONDS
        while b"step 1" not in self.log(row) and time.monotonic() < end:
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=SECONDS)
        assert process.returncode == 128 + signal.SIGINT
        assert messages.endswith(b"The same command continues the sweep.\n")
        assert list((row / "checkpoints").glob("*.npz"))

    @staticmethod
    def trained(path):
        lines = (path / "table.md").read_text().splitlines()
        cells = [line.split("|")[1].strip() for line in lines if "|" in line]
        return cells[2:]

    @staticmethod
    def log(row):
        path = row / "log.txt"
        return path.read_bytes() if path.exists() else b""
