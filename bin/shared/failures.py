"""The line that a command prints about an exception."""

import errno
import os

from keras_transformer.errors import UserError
from keras_transformer.errors import is_out_of_memory
from keras_transformer.files.writing import CANNOT_WRITE

TOO_MANY_FILES = {errno.EMFILE, errno.ENFILE}


def explain(error):
    """Returns the line about an exception, or None if it is a bug.

    Bad input is a `UserError`, an `OSError`, or a lack of memory.
    """
    if isinstance(error, OSError):
        if error.errno in TOO_MANY_FILES:
            return (
                f"{error.strerror}. Raise the limit, for example with "
                "`ulimit -n 4096`."
            )
        return _about_path(error)
    if isinstance(error, UserError):
        return str(error)
    if is_out_of_memory(error):
        reason = " ".join(str(error).split())
        reason = f": {reason[:200]}" if reason else ""
        return f"Out of memory{reason}. Use a smaller batch or a smaller model."
    return None


def notes(error):
    """Returns the notes of an exception, each after a space."""
    return "".join(f" {note}" for note in getattr(error, "__notes__", ()))


def _about_path(error):
    if error.filename is None:
        return str(error) if error.errno is None else _about_stream(error)
    path = os.fspath(error.filename)
    if error.errno in CANNOT_WRITE:
        return (
            f"Cannot write {path}: {error.strerror}. Make room or choose "
            "another disk, then start again."
        )
    return (
        f"Cannot use {path}: {error.strerror}. Check the path and its "
        "permissions."
    )


def _about_stream(error):
    if error.errno in CANNOT_WRITE:
        return f"Cannot write to standard output: {error.strerror}."
    return (
        f"Cannot read or write: {error.strerror}. Check the paths, the "
        "streams and the disk."
    )
