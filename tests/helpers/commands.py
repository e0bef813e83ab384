"""Functions that call a command in the test's process or in another one."""

import subprocess
import sys

import pytest
from processes import environment


def call(command, *flags):
    """Runs a command in the test's process and returns its exit status."""
    with pytest.raises(SystemExit) as exit:
        command.run([command.__name__, *flags])
    return exit.value.code or 0


def call_apart(name, *flags, **options):
    """Runs a command in its own process and returns the completed process."""
    return subprocess.run(
        [sys.executable, "-m", f"keras_transformer.bin.{name}", *flags],
        capture_output=True,
        env=environment(__file__),
        **options,
    )


def assert_fails(capsys, words, command, *flags):
    """Asserts that a command exits with 2 and one line that has the words."""
    assert call(command, *flags) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    for word in words:
        assert word in output.err
