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
    for path in filter(None, directories(value or "")):
        folder = os.path.join(os.path.realpath(path), "")
        place, trace = _find_place(error, folder)
        if not place:
            continue
        reason = traceback.format_exception_only(error)[-1].strip()
        advice = "Correct it"
        if isinstance(error, dataclasses.FrozenInstanceError):
            advice = "Use dataclasses.replace, and a subclass of HParams for "
            advice += "fields of your own, as docs/problems.md shows"
        return UserCodeError(
            f"The code in `--usr_dir` fails: {reason}, from {place}. {advice}; "
            "its traceback follows.",
            "".join(traceback.format_exception(type(error), error, trace)),
        )
    return None


def _find_place(error, folder):
    """Returns where an exception passed a folder first, and its frames."""
    # The frames before it belong to the command and to the import.
    trace = error.__traceback__
    while trace:
        file = trace.tb_frame.f_code.co_filename
        if os.path.realpath(file).startswith(folder):
            return f"{file}, line {trace.tb_lineno}", trace
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        # Code that Python cannot even parse has no frame, and the error about a
        # zero byte in it names no file.
        if not error.filename:
            return f"{folder}__init__.py", None
        if os.path.realpath(error.filename).startswith(folder):
            return f"{error.filename}, line {error.lineno}", None
    return None, None
