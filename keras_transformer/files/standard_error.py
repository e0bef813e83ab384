"""Standard error without what libraries log to it."""

import contextlib
import os


@contextlib.contextmanager
def silence_stderr():
    """Discards what is written to descriptor 2, by C++ code too."""
    saved = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
