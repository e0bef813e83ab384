"""Waiting for what other threads do."""

import time


def wait_until(condition, seconds=60):
    """Waits until a function returns true, and fails if it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
