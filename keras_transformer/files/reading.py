"""Reading of the files that this package writes, with one form of error."""

import errno
import os

from keras_transformer.errors import UserError

MAX_BYTES = 64 * 2**20  # far more than any file has that is read as a whole


def file_error(path, fault, remedy=None):
    """Returns the `UserError` about a missing, damaged or unsuitable file.

    The `fault` begins with "which" or "where". The `remedy` is a sentence.
    """
    remedy = remedy or "Restore the file from a copy."
    return UserError(f"Cannot use {path}, {fault}. {remedy}")


def read_error(path, error):
    """Returns the `UserError` about a file that an `OSError` keeps unread.

    Its content may be right, so nobody should delete it.
    """
    fault = f"which cannot be read ({error.strerror})"
    return file_error(path, fault, "Check its permissions and its disk.")


def begins_with(path, *beginnings):
    """Returns whether a file of any encoding and size begins with a text."""
    if not os.path.isfile(path):
        return False  # opening a pipe would wait for ever
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(max(map(len, beginnings))).startswith(beginnings)


def check_reachable(path):
    """Checks that each directory on the way to a path may be searched.

    If one may not, it raises a PermissionError, while `os.path.exists` treats
    the path as absent.
    """
    try:
        os.lstat(path)
    except PermissionError:
        raise
    except (OSError, ValueError):
        pass  # absent, or no path at all


def check_file(path, remedy=None):
    """Checks that a path leads to a file, since a pipe would block.

    A file that may not be read is told from one with the wrong content.
    """
    check_reachable(path)
    if os.path.isfile(path):
        if os.access(path, os.R_OK):
            return
        error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        raise read_error(path, error) from error
    fault = "which does not exist"
    if os.path.isdir(path):
        fault = "which is a directory, not a file"
    elif os.path.lexists(path):
        fault = "which is not a file"
    raise file_error(path, fault, remedy)


def check_files(directory):
    """Does the same for all files in a directory and those inside it."""
    for folder, _, names in os.walk(directory):
        for name in names:
            check_file(os.path.join(folder, name))


def read_bytes(path, remedy=None, max_bytes=MAX_BYTES):
    """Reads a whole file of limited size, or raises a `UserError`."""
    check_file(path, remedy)
    try:
        if os.path.getsize(path) > max_bytes:
            fault = f"which has more than {max_bytes:,} bytes"
            raise file_error(path, fault, remedy)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise read_error(path, error) from error


def read_text(path, remedy=None, max_bytes=MAX_BYTES):
    """Reads a whole file of UTF-8 text; the arguments are as above."""
    content = read_bytes(path, remedy, max_bytes)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        fault = f"which is not UTF-8 text at byte {error.start}"
        raise file_error(path, fault, remedy) from error
