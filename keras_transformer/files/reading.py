"""Reading of the files that this package writes, with one form of error."""

import os

from keras_transformer.errors import UserError

MAX_BYTES = 64 * 2**20  # far more than any file has that is read as a whole


def file_error(path, fault, remedy=None):
    """Returns the `UserError` about a file that is not as it was written.

    Args:
        path: Path of the file.
        fault: What is wrong with it, beginning with "which" or "where".
        remedy: Sentence that says what the user can do. Defaults to one that
            asks to restore the file.
    """
    remedy = remedy or "Restore the file from a copy."
    return UserError(f"Cannot use {path}, {fault}. {remedy}")


def check_reachable(path):
    """Checks that each directory on the way to a path may be searched.

    `os.path.exists` takes whatever lies in a closed directory for absent.

    Raises:
        PermissionError: If one of them may not be searched.
    """
    try:
        os.lstat(path)
    except PermissionError:
        raise
    except (OSError, ValueError):
        pass  # absent, or no path at all


def check_file(path, remedy=None):
    """Checks that a path leads to a file.

    Opening a pipe would wait for ever.

    Args:
        path, remedy: As for `file_error`.

    Raises:
        UserError: If it leads to nothing or to something else.
        PermissionError: If a directory on the way may not be searched.
    """
    check_reachable(path)
    if os.path.isfile(path):
        return
    fault = "which does not exist"
    if os.path.isdir(path):
        fault = "which is a directory, not a file"
    elif os.path.lexists(path):
        fault = "which is not a file"
    raise file_error(path, fault, remedy)


def read_bytes(path, remedy=None, max_bytes=MAX_BYTES):
    """Reads a whole file.

    Args:
        path, remedy: As for `file_error`.
        max_bytes: Largest size of the file. Defaults to `MAX_BYTES`.

    Raises:
        UserError: If the path leads to no file, or if the file is larger or
            cannot be read.
    """
    check_file(path, remedy)
    try:
        if os.path.getsize(path) > max_bytes:
            fault = f"which has more than {max_bytes:,} bytes"
            raise file_error(path, fault, remedy)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        fault = f"which cannot be read ({error.strerror})"
        raise file_error(path, fault, remedy) from error


def read_text(path, remedy=None, max_bytes=MAX_BYTES):
    """Reads a whole file of UTF-8 text; the arguments are as above."""
    content = read_bytes(path, remedy, max_bytes)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        fault = f"which is not UTF-8 text at byte {error.start}"
        raise file_error(path, fault, remedy) from error
