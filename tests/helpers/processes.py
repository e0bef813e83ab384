"""The environment of Python processes that tests start."""

import os
import pathlib

TESTS = pathlib.Path(__file__).parents[1]


def environment(test_file, **variables):
    """Returns the environment of a process that can import what a test can.

    Args:
        test_file: `__file__` of the test module.
        **variables: Environment variables to add.
    """
    folders = [
        TESTS.parent,
        TESTS.parent / "benchmarks",
        TESTS / "helpers",
        pathlib.Path(test_file).parent,
    ]
    path = os.pathsep.join(map(str, folders))
    return {**os.environ, "PYTHONPATH": path, **variables}
