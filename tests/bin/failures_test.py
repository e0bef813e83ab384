"""The line that a command prints about an exception."""

import errno
import os

import numpy as np
import pytest

from keras_transformer import fields
from keras_transformer.bin import failures


class ResourceExhaustedError(Exception):
    """Stands for TensorFlow's, whose import takes seconds."""


def caught(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return error
    raise AssertionError("no exception")


class ExplainTest:
    def test_our_value_error_is_its_message(self):
        error = caught(fields.parse_integer, "1_28")
        assert failures.explain(error) == str(error)

    @pytest.mark.parametrize(
        "function, argument", [(np.dtype, "nope"), (int.from_bytes, "text")]
    )
    def test_other_errors_of_libraries_are_bugs(self, function, argument):
        assert failures.explain(caught(function, argument)) is None

    def test_a_path_is_named(self):
        line = failures.explain(caught(open, "no/such"))
        assert line.startswith("No such file or directory. Received: 'no/such'")

    def test_a_stream_without_a_path_has_a_rule(self):
        error = OSError(errno.EIO, os.strerror(errno.EIO))
        line = failures.explain(error)
        assert "must be readable and writable. Received: Input/output" in line

    @pytest.mark.parametrize(
        "error",
        [
            MemoryError(),
            ResourceExhaustedError("OOM when allocating\na tensor"),
            RuntimeError("RESOURCE_EXHAUSTED: Out of memory"),
        ],
    )
    def test_too_little_memory_is_a_line(self, error):
        line = failures.explain(error)
        assert line.startswith("The work must fit into memory. Received: ")
        assert "\n" not in line
