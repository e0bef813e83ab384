"""Reading of the files that this package writes, with one form of error."""

import os

MAX_BYTES = 64 * 2**20  # far more than any file has that is read as a whole


def faulty(path, fault, writer="kt-trainer", remedy=None):
    """Returns the error about a file that is not as it was written.

    Args:
        path: Path of the file.
        fault: What is wrong with it, beginning with "which" or "where".
        writer: Name of the command that writes such files. Defaults to
            "kt-trainer".
        remedy: Sentence that says what the user can do. Defaults to one that
            asks to restore the file.

    Returns:
        A `ValueError`.
    """
    return ValueError(
        f"`{os.path.basename(path)}` must be as {writer} wrote it. Received: "
        f"{path}, {fault}. {remedy or 'Restore the file from a copy.'}"
    )


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


def check_file(path, writer="kt-trainer", remedy=None):
    """Checks that a path leads to a file.

    Opening a pipe would wait for ever.

    Args:
        path, writer, remedy: As for `faulty`.

    Raises:
        ValueError: If it leads to nothing or to something else.
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
    raise faulty(path, fault, writer, remedy)


def read_bytes(path, writer="kt-trainer", remedy=None, max_bytes=MAX_BYTES):
    """Reads a whole file.

    Args:
        path, writer, remedy: As for `faulty`.
        max_bytes: Largest size of the file. Defaults to `MAX_BYTES`.

    Raises:
        ValueError: If the path leads to no file, or if the file is larger or
            cannot be read.
    """
    check_file(path, writer, remedy)
    try:
        if os.path.getsize(path) > max_bytes:
            fault = f"which has more than {max_bytes:,} bytes"
            raise faulty(path, fault, writer, remedy)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        fault = f"which cannot be read ({error.strerror})"
        raise faulty(path, fault, writer, remedy) from error


def read_text(path, writer="kt-trainer", remedy=None, max_bytes=MAX_BYTES):
    """Reads a whole file of UTF-8 text; the arguments are as above."""
    content = read_bytes(path, writer, remedy, max_bytes)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        fault = f"which is not UTF-8 text at byte {error.start}"
        raise faulty(path, fault, writer, remedy) from error
