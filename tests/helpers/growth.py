"""Checks that time grows with the size of an input, not with its square."""

import time


def assert_linear(function, size):
    """Asserts that four times the size takes about four times as long.

    The time is that of the CPU, so that other processes do not count, and the
    bound is generous: a square would take sixteen times as long.
    """
    small, large = _measure(function, size), _measure(function, 4 * size)
    assert large < 9 * small + 0.3


def _measure(function, size):
    begin = time.process_time()
    function(size)
    return time.process_time() - begin
