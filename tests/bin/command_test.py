"""Greets a problem.

Example: kt-command-test --problem=copy
"""

import configparser
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import pytest
from commands import call_apart
from processes import environment

from keras_transformer import hparam
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend

FLAGS = flags.define(
    """
  problem (text): Name of the problem.
  data_dir
  hparams
  train_steps (count): Number of updates.
Scoring:
  lowercase (switch): Score without regard to case.
  alpha (amount, default 600.0): Exponent of the length penalty.
"""
)
ROOT = pathlib.Path(__file__).parents[2]


def main(argv):
    flags.require(FLAGS, "problem")
    hparams = hparam.parse_overrides(hparam.HParams(), FLAGS.hparams)
    print(FLAGS.problem, hparams.d_ff, FLAGS.data_dir)


def interrupt(argv):
    raise KeyboardInterrupt


def open_missing(argv):
    open("no/such/file")


def fail_in_a_library(argv):
    json.loads("{")


def run(*arguments, main=main):
    """Runs a command with these arguments; returns its exit status."""
    with pytest.raises(SystemExit) as error:
        command.run(main, FLAGS, ["kt-command-test", *arguments])
    return error.value.code or 0


def run_python(script):
    """Runs a script in a process of its own and returns what it did."""
    return subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        env=environment(__file__),
    )


class RunTest:
    def test_main_sees_its_flags(self, capsys):
        assert run("--problem=copy", "--hparams=d_ff=8") == 0
        assert capsys.readouterr().out == "copy 8 None\n"

    def test_pairs_of_a_repeated_flag_add_up(self, capsys):
        run("--problem=copy", "--hparams=d_ff=8", "--hparams=dropout=0.2")
        assert capsys.readouterr().out == "copy 8 None\n"

    def test_second_run_starts_from_the_defaults(self, capsys):
        run("--problem=copy", "--data_dir=here")
        run("--problem=copy")
        assert capsys.readouterr().out.endswith("copy 2048 None\n")

    def test_home_directory_is_expanded(self, capsys):
        run("--problem=copy", "--data_dir=~/data")
        path = capsys.readouterr().out.split()[-1]
        assert path == str(pathlib.Path.home() / "data")

    @pytest.mark.parametrize(
        "arguments, words",
        [
            (["--hparms=d_ff=8"], "--hparms. Did you mean: --hparams"),
            (["--qqqq"], "`kt-command-test --help` lists all flags"),
            (
                ["--train_steps=0"],
                "from 1 to 1,000,000,000. Received: --train_steps=0",
            ),
            (["--train_steps=many"], "Received: --train_steps=many"),
            (["--lowercase=so"], "must be true or false. Received"),
            (["--problem=\udcff"], "UTF-8 text. Received: --problem=\\udcff"),
            (["--problem"], "read the flags: Missing value for"),
            (["--nolowercase=true"], "read the flags: --nolower"),
            (["--flagfile=no/such"], "read the flags: Un"),
            (["copy"], "must be flags. Received: 'copy'"),
            ([""], "must be flags. Received: ''"),
            (["\n"], "must be flags. Received: '\\n'"),
            ([], "`--problem` must be given"),
            (["--problem=copy", "--hparams=x=1"], "hparams='x'"),
            (
                ["--problem=copy", "--hparams=d_ff=8", "--hparams=d_ff=9"],
                "once. Received: d_ff=8 and d_ff=9",
            ),
            (["--problem=copy", "--usr_dir=no/such"], "usr_dir="),
        ],
    )
    def test_bad_input_is_one_line_and_status_2(self, capsys, arguments, words):
        assert run(*arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("kt-command-test: error: ")
        assert words in err
        assert err.count("\n") == 1

    def test_missing_file_is_one_line_and_status_2(self, capsys):
        assert run(main=open_missing) == 2
        err = capsys.readouterr().err
        assert "Cannot use no/such/file: No such file or directory." in err
        assert err.count("\n") == 1

    def test_error_of_a_library_keeps_its_traceback(self):
        with pytest.raises(ValueError, match="line 1"):
            command.run(fail_in_a_library, FLAGS, ["kt-command-test"])

    def test_interrupt_is_quiet_and_status_130(self, capsys):
        assert run(main=interrupt) == 130
        assert capsys.readouterr() == ("", "")

    @pytest.mark.parametrize(
        "number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
    )
    def test_a_signal_ends_with_its_status_and_the_notes(
        self, capsys, number, status
    ):
        handler = signal.getsignal(signal.SIGTERM)

        def stop(argv):
            try:
                signal.raise_signal(number)
            except KeyboardInterrupt as interrupt:
                interrupt.add_note("Two lines are kept.")
                raise

        assert run(main=stop) == status
        line = "kt-command-test: stopped. Two lines are kept.\n"
        assert capsys.readouterr().err == line
        assert signal.getsignal(signal.SIGTERM) is handler

    def test_notes_of_an_error_follow_its_message(self, capsys):
        def fail(argv):
            try:
                open("no/such/file")
            except OSError as error:
                error.add_note("Two lines are kept.")
                raise

        assert run(main=fail) == 2
        err = capsys.readouterr().err
        assert err.endswith("permissions. Two lines are kept.\n")
        assert err.count("\n") == 1

    def test_registry_help_lists_problems_and_sets(self, capsys):
        assert run("--registry_help") == 0
        out = capsys.readouterr().out
        assert "\n  transformer_base " in out
        assert "\n  copy " in out


class HelpTest:
    @pytest.mark.parametrize("argument", ["--help", "-h", "--helpfull"])
    def test_help_is_the_manual_and_the_flags(self, capsys, argument):
        assert run(argument) == 0
        out = capsys.readouterr().out
        assert out.startswith("Greets a problem.\n")
        assert "  --train_steps\n" in out
        assert "--alsologtostderr" not in out

    def test_help_states_the_default(self, capsys):
        run("--help")
        lines = " ".join(capsys.readouterr().out.split())
        assert "without regard to case. Default: false." in lines
        assert "length penalty. Default: 600." in lines

    def test_help_shows_groups_under_their_titles(self, capsys):
        run("--help")
        out = capsys.readouterr().out
        titles = re.findall(r"^(\S.*):$", out, re.MULTILINE)
        assert titles == ["Flags", "Scoring", "Flags of every command"]
        assert out.index("Scoring:") < out.index("--lowercase")

    def test_help_needs_neither_tensorflow_nor_a_temporary_directory(self):
        config = configparser.ConfigParser()
        config.read(ROOT / "setup.cfg")
        scripts = config["options.entry_points"]["console_scripts"].split("\n")
        names = [line.split(".")[-1].split(":")[0] for line in scripts if line]
        script = (
            "import importlib, sys, tempfile\n"
            "tempfile._candidate_tempdir_list = lambda: ['/dev/null/no']\n"
            f"for name in {names}:\n"
            "    module = importlib.import_module(\n"
            "        f'keras_transformer.bin.{name}')\n"
            "    sys.argv = ['x', '--help']\n"
            "    try:\n"
            "        module.run()\n"
            "    except SystemExit as error:\n"
            "        print('status', error.code)\n"
            "print({'tensorflow', 'keras', 'jax'} & set(sys.modules))\n"
        )
        lines = run_python(script).stdout.splitlines()
        assert lines.count("status 0") == len(names)
        assert lines[-1] == "set()"

    def test_without_a_temporary_directory_only_its_use_is_an_error(
        self, capsys, monkeypatch
    ):
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.setattr(
            tempfile, "_candidate_tempdir_list", lambda: ["/dev/null/no"]
        )
        assert run(main=lambda argv: print(tempfile.gettempdir())) == 0
        assert run(main=lambda argv: tempfile.mkdtemp()) == 2
        err = capsys.readouterr().err
        assert "No temporary directory can be written. Set TMPDIR" in err
        assert err.count("\n") == 1

    @pytest.mark.parametrize(
        "name",
        [
            "decoder",
            pytest.param("evaluate", marks=pytest.mark.slow),
            pytest.param("avg_checkpoints", marks=pytest.mark.slow),
        ],
    )
    def test_help_of_a_process_is_the_manual_and_nothing_else(self, name):
        result = call_apart(name, "--help", text=True)
        assert result.returncode == 0
        assert "--output_dir=run" in result.stdout
        assert result.stderr == ""


class LoadBackendTest:
    @pytest.mark.parametrize("backend", ["nope", "torch", "TensorFlow"])
    def test_a_backend_that_we_do_not_support_is_refused(
        self, capsys, monkeypatch, backend
    ):
        monkeypatch.setenv("KERAS_BACKEND", backend)
        assert run(main=lambda argv: load_backend()) == 2
        err = capsys.readouterr().err
        assert "`KERAS_BACKEND` must be one of tensorflow, jax. " in err
        assert f"Received: KERAS_BACKEND={backend}. " in err
        assert err.count("\n") == 1

    def test_the_process_is_as_before_but_for_keras(self):
        script = (
            "import gc, os, sys\n"
            "os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"
            "from keras_transformer.bin.shared.backend import load_backend\n"
            "load_backend()\n"
            "assert gc.isenabled()\n"
            "assert 'matplotlib' not in sys.modules\n"
            "import tensorflow as tf\n"
            "tf.ones(2)\n"
            "import matplotlib.pyplot\n"
            "print('after', file=sys.stderr)\n"
        )
        assert run_python(script).stderr == "after\n"
