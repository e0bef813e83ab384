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


@contextlib.contextmanager
def silence(descriptor=2):
    """Discards what is written to a descriptor, even by C++ code."""
    saved = os.dup(descriptor)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), descriptor)
        yield
    finally:
        os.dup2(saved, descriptor)
        os.close(saved)
