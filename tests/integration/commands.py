"""Commands, called within the tests' process or apart from it."""

import subprocess
import sys

import pytest


def call(command, *flags):
    """Runs a command within this process; returns its exit status."""
    with pytest.raises(SystemExit) as exit:
        command.run([command.__name__, *flags])
    return exit.value.code or 0


def call_apart(name, *flags, **options):
    return subprocess.run(
        [sys.executable, "-m", f"keras_transformer.bin.{name}", *flags],
        capture_output=True,
        **options,
    )


def assert_fails(capsys, words, command, *flags):
    """Asserts one line on standard error that holds the words, status 2."""
    assert call(command, *flags) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    for word in words:
        assert word in output.err
