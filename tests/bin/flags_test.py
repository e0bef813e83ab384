"""Greet a problem.

Example: kt-flags-test --problem=copy
"""

import configparser
import json
import pathlib
import subprocess
import sys

import pytest

from keras_transformer import hparam
from keras_transformer.bin import flags
from keras_transformer.bin.flag_table import FLAG_TABLE

flags.define("problem", "data_dir", "hparams", "train_steps", "lowercase")
FLAGS = flags.FLAGS
ROOT = pathlib.Path(__file__).parents[2]


def main(argv):
    flags.require("problem")
    hparams = hparam.parse_overrides(hparam.HParams(), FLAGS.hparams)
    print(FLAGS.problem, hparams.d_ff, FLAGS.data_dir)


def break_off(argv):
    raise KeyboardInterrupt


def open_missing(argv):
    open("no/such/file")


def fail_in_a_library(argv):
    json.loads("{")


def run(*arguments, main=main):
    """Exit status of a command that gets these arguments."""
    with pytest.raises(SystemExit) as error:
        flags.run(main, ["kt-flags-test", *arguments])
    return error.value.code or 0


class RunTest:
    def test_main_sees_its_flags(self, capsys):
        assert run("--problem=copy", "--hparams=d_ff=8") == 0
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
            (["--hparms=d_ff=8"], "--hparms. Did you mean --hparams"),
            (["--qqqq"], "`kt-flags-test --help` lists all"),
            (["--train_steps=0"], "--train_steps=0"),
            (["--train_steps=many"], "--train_steps=many"),
            (["--problem"], "--problem"),
            (["copy"], "must be flags. Received: copy"),
            ([], "`--problem` must be given"),
            (["--problem=copy", "--hparams=x=1"], "hparams='x'"),
            (["--problem=copy", "--usr_dir=no/such"], "usr_dir="),
        ],
    )
    def test_bad_input_is_one_line_and_status_2(self, capsys, arguments, words):
        assert run(*arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("kt-flags-test: error: ")
        assert words in err
        assert err.count("\n") == 1

    def test_missing_file_is_one_line_and_status_2(self, capsys):
        assert run(main=open_missing) == 2
        err = capsys.readouterr().err
        assert "No such file or directory. Received: 'no/such/file'" in err
        assert err.count("\n") == 1

    def test_error_of_a_library_keeps_its_traceback(self):
        with pytest.raises(ValueError, match="line 1"):
            flags.run(fail_in_a_library, ["kt-flags-test"])

    def test_interrupt_is_quiet_and_status_130(self, capsys):
        assert run(main=break_off) == 130
        assert capsys.readouterr() == ("", "")

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
        assert out.startswith("Greet a problem.\n")
        assert "  --train_steps\n" in out
        assert "--alsologtostderr" not in out

    def test_help_states_the_default(self, capsys):
        run("--help")
        lines = " ".join(capsys.readouterr().out.split())
        assert "without regard to case. Default: false." in lines

    def test_every_help_text_is_sentences(self):
        for _, _, text in FLAG_TABLE.values():
            assert text[0].isupper() or text.startswith("sacreBLEU")
            assert text.endswith(".")

    def test_no_command_loads_tensorflow_for_help(self):
        config = configparser.ConfigParser()
        config.read(ROOT / "setup.cfg")
        scripts = config["options.entry_points"]["console_scripts"].split("\n")
        names = [line.split(".")[-1].split(":")[0] for line in scripts if line]
        script = (
            "import importlib, sys\n"
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
        lines = subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
        ).stdout.splitlines()
        assert lines.count("status 0") == len(names)
        assert lines[-1] == "set()"


class LoadTensorflowTest:
    def test_nothing_is_written_and_errors_are_again_after_it(self):
        script = (
            "import os, sys\n"
            "os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"
            "from keras_transformer.bin import flags\n"
            "flags.load_backend()\n"
            "import tensorflow as tf\n"
            "tf.ones(2)\n"
            "print('after', file=sys.stderr)\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        assert result.stderr == "after\n"


class DefineTest:
    def test_defining_twice_is_allowed(self):
        flags.define("problem", "data_dir")
        flags.define("problem", "data_dir")
        assert "problem" in FLAGS

    def test_unknown_shared_flag_is_an_error(self):
        with pytest.raises(KeyError):
            flags.define("no_such_flag")
