"""Keeps libraries from needless logging and importing."""

import contextlib
import os
import sys


@contextlib.contextmanager
def hide_module(name):
    """Makes a module appear not to be installed, unless it is loaded.

    None in `sys.modules` is Python's documented way to make an import fail.
    """
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None
    try:
        yield
    finally:
        del sys.modules[name]


def silence_stderr():
    """Discards everything written to descriptor 2, even by C++ code."""
    return _silence(2)


def silence_stdout():
    """Discards everything written to descriptor 1, even by C++ code."""
    return _silence(1)


@contextlib.contextmanager
def _silence(descriptor):
    saved = os.dup(descriptor)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), descriptor)
        yield
    finally:
        os.dup2(saved, descriptor)
        os.close(saved)
