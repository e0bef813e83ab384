"""Prints a word."""

import errno
import os
import subprocess
import sys

import pytest
from processes import environment

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import process

FLAGS = flags.define("  word (text, default word): Word to print.")
ARGUMENTS = ["--help", "--registry_help", "--word=x", "--word=" + "x" * 10**5]
FULL = "No space left on device"


def main(argv):
    print("message", file=sys.stderr)
    print(FLAGS.word)


def run(*arguments):
    with pytest.raises(SystemExit) as error:
        command.run(main, FLAGS, ["x", *arguments])
    return error.value.code or 0


@pytest.fixture
def replace(monkeypatch):
    """Puts a file, or another descriptor, in place of a standard stream."""

    def replace(name, file):
        monkeypatch.setattr(sys, name, open(file, "w"))

    return replace


def closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


class OutputTest:
    @pytest.mark.parametrize("argument", ARGUMENTS)
    def test_a_full_disk_is_one_line_and_status_2(
        self, capsys, replace, argument
    ):
        replace("stdout", "/dev/full")
        assert run(argument) == 2
        *_, line = capsys.readouterr().err.splitlines()
        assert f"Cannot write to standard output: {FULL}" in line
        sys.stdout.flush()  # nothing is left that could fail at the exit

    @pytest.mark.parametrize("argument", ARGUMENTS)
    def test_a_reader_that_has_seen_enough_gets_status_1(
        self, capsys, replace, argument
    ):
        replace("stdout", closed_pipe())
        assert run(argument) == 1
        assert "error" not in capsys.readouterr().err
        sys.stdout.flush()

    @pytest.mark.parametrize("argument", ["--help", "--word=x"])
    def test_a_closed_one_is_refused(self, capsys, monkeypatch, argument):
        monkeypatch.setattr(sys, "stdout", None)
        assert run(argument) == 2
        err = capsys.readouterr().err
        assert "Standard output is closed. Redirect" in err
        assert err.count("\n") == 1

    def test_a_path_that_is_not_utf8_keeps_its_bytes(self, capfdbinary):
        streams_before = sys.stdout
        with pytest.raises(SystemExit):
            sys.stdout = open(os.dup(1), "w", encoding="ascii")
            try:
                command.run(lambda argv: print("\udcffé"), FLAGS, ["x"])
            finally:
                sys.stdout = streams_before
        assert capfdbinary.readouterr().out == b"\xff\xc3\xa9\n"


class ErrorsTest:
    @pytest.mark.parametrize("kind", ["full", "closed pipe", "closed"])
    def test_messages_that_nobody_takes_are_lost(
        self, capsys, monkeypatch, replace, kind
    ):
        if kind == "closed":
            monkeypatch.setattr(sys, "stderr", None)
        else:
            replace("stderr", "/dev/full" if kind == "full" else closed_pipe())
        assert run() == 0
        assert capsys.readouterr().out == "word\n"

    def test_a_refusal_keeps_its_status(self, replace):
        replace("stderr", "/dev/full")
        assert run("--no_such_flag") == 2


class GuardedTest:
    def test_streams_are_as_before_afterwards(self):
        before = sys.stdout, sys.stderr
        with process.guard_streams():
            assert sys.stdout is not before[0]
        assert (sys.stdout, sys.stderr) == before

    def test_no_file_takes_the_place_of_a_closed_descriptor(self, tmp_path):
        script = (
            "import os\n"
            "from keras_transformer.bin.shared import process\n"
            "with process.guard_streams():\n"
            f"    file = open({str(tmp_path / 'file')!r}, 'w')\n"
            "    os._exit(file.fileno())\n"
        )
        status = subprocess.run(
            f'exec "{sys.executable}" -c "$SCRIPT" <&- >&- 2>&-',
            shell=True,
            env=environment(__file__, SCRIPT=script),
        ).returncode
        assert status > 2

    def test_an_error_of_standard_output_is_no_error_of_a_file(self):
        error = process.OutputError(OSError(errno.ENOSPC, FULL))
        assert not isinstance(error, OSError)
        assert not error.is_closed_pipe
