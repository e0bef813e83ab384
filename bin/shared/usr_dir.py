"""The code in a user's directories: its import, and what it raises."""

import contextlib
import dataclasses
import os
import sys
import traceback

from keras_transformer import registry
from keras_transformer.bin.shared.model_flags import directories


class UserCodeError(Exception):
    """An error of the user's code: a line about it, then its traceback."""


def load(value):
    """Imports a user's directories, as `registry.import_usr_dir` does.

    Standard output is for results, so what the code prints goes to standard
    error. Whatever the code raises becomes a `UserCodeError`.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            for path in directories(value):
                registry.import_usr_dir(path)
    except BaseException as error:
        if user_error := explain(error, value):
            raise user_error from error
        raise


def explain(error, value):
    """Returns the `UserCodeError` for an exception of a user's code, or None.

    Even `sys.exit(0)` is an error there, because the command has not done its
    work. The value of the flag is None if there is no such code.
    """
    if isinstance(error, UserCodeError):
        return error
    places = (
        _first_frame(error, path) for path in directories(value or "") if path
    )
    place, trace = next(filter(any, places), (None, None))
    if not place:
        return None
    reason = traceback.format_exception_only(error)[-1].strip()
    advice = "Correct it"
    if isinstance(error, dataclasses.FrozenInstanceError):
        advice = "Use dataclasses.replace, and a subclass of HParams for "
        advice += "fields of your own, as docs/problems.md shows"
    lines = traceback.format_exception(type(error), error, trace)
    return UserCodeError(
        f"The code in `--usr_dir` fails: {reason}, from {place}. {advice}; "
        "its traceback follows.",
        "".join(lines),
    )


def _first_frame(error, path):
    """Returns where an exception passed a directory first, and its frames."""
    folder = os.path.join(os.path.realpath(path), "")
    # The frames before it belong to the command and to the import.
    trace = error.__traceback__
    while trace:
        file = trace.tb_frame.f_code.co_filename
        if os.path.realpath(file).startswith(folder):
            return f"{file}, line {trace.tb_lineno}", trace
        trace = trace.tb_next
    # Code that Python cannot even parse has no frame.
    file = getattr(error, "filename", None)
    is_syntax = isinstance(error, SyntaxError) and file
    if is_syntax and os.path.realpath(file).startswith(folder):
        return f"{file}, line {error.lineno}", None
    # The error about a zero byte in the code names no file.
    if isinstance(error, SyntaxError) and not file:
        return f"{folder}__init__.py", None
    return None, None
