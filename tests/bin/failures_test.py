"""The lines that commands print about exceptions."""

import contextlib
import os
import resource

import pytest

from keras_transformer.bin.shared import failures
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
    line = failures.explain(raised.value)
    assert line.startswith("Too many open files. ")
    assert "ulimit -n" in line


def raised(statement):
    """Returns the ValueError of a statement in a module of the package."""
    names = {
        "__name__": "keras_transformer.module",
        "RequestError": RequestError,
    }
    with pytest.raises(ValueError) as raised:
        exec(statement, names)
    return raised.value


@pytest.mark.parametrize(
    "statement", ["(one,) = ()", "int('one')", "'\xe4'.encode('ascii')"]
)
def test_errors_of_python_itself_are_bugs(statement):
    assert failures.explain(raised(statement)) is None


@pytest.mark.parametrize(
    "error",
    [
        "ValueError('A word must be short. Received: along. Cut it.')",
        "RequestError('NOT_FOUND', 'There is no such model.')",
    ],
)
def test_errors_of_the_package_are_shown(error):
    error = raised(f"raise {error}")
    assert failures.explain(error) == str(error)
