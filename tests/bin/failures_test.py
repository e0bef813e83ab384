"""The lines that commands print about exceptions."""

import contextlib
import os
import resource

import pytest

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.errors import UserError
from keras_transformer.serving.errors import RequestError


@pytest.fixture
def few_open_files():
    """Allows this process no more than a few further files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = len(os.listdir("/proc/self/fd")) + 3
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc"
)
def test_too_many_open_files_name_the_limit(tmp_path, few_open_files):
    with contextlib.ExitStack() as files:
        with pytest.raises(OSError) as raised:
            for number in range(1_000):
                files.enter_context(open(tmp_path / str(number), "w"))
    line = command.explain(raised.value)
    assert line.startswith("Too many open files. ")
    assert "ulimit -n" in line


@pytest.mark.parametrize(
    "error", [ValueError("not enough values to unpack"), TypeError("x")]
)
def test_errors_of_python_and_of_layers_are_bugs(error):
    assert command.explain(error) is None


@pytest.mark.parametrize(
    "error",
    [
        UserError("A word must be short. Received: along. Cut it."),
        RequestError("NOT_FOUND", "There is no such model."),
        flags.FlagError("`--beam_size` must be an integer."),
    ],
)
def test_what_a_user_can_mend_is_shown(error):
    assert command.explain(error) == str(error)


@pytest.mark.parametrize(
    "error, line",
    [
        (FileNotFoundError(2, "No such file", "a"), "Cannot use a: No such"),
        (OSError(28, "No space left", "a"), "Cannot write a: No space left. M"),
        (OSError(28, "No space left"), "Cannot write to standard output: No s"),
        (MemoryError(), "Out of memory. Use a smaller batch"),
        (MemoryError("4 GB"), "Out of memory: 4 GB. Use a smaller batch"),
    ],
)
def test_events_say_what_to_do(error, line):
    assert command.explain(error).startswith(line)
