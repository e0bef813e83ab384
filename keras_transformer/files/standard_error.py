"""Standard error without what libraries log to it."""

import contextlib
import os


@contextlib.contextmanager
def silence_stderr():
    """Discards what is written to standard error, by C++ code too.

    That code writes to descriptor 2, so this leads to /dev/null in the block.
    """
    saved = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
