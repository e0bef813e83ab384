"""Files that are there whole or not at all."""

import contextlib
import errno
import os

# What the system says of a disk that takes no more: full, over a user's quota,
# over the limit on a file's size, broken.
CANNOT_WRITE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


@contextlib.contextmanager
def written_aside(path, mode="w"):
    """Opens a file that appears under its name once it is complete.

    Until then it is `path.incomplete`; an error, a kill or a loss of power
    leaves what stood under the name before. Text is UTF-8 with `\\n` as line
    ends.

    Args:
        path: file to write or to replace.
        mode: "w" for text, "wb" for bytes.

    Raises:
        ValueError: if `path` is there and no file.
        OSError: if the disk takes no more; in words for the user.

    Example:

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "greeting.txt")
    >>> with written_aside(path) as file:
    ...     _ = file.write("Guten Tag")
    >>> open(path).read()
    'Guten Tag'
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(
            "An output must be a file. Received: "
            f"{path}, which is a directory or a device. Name a file."
        )
    aside = path + ".incomplete"
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        with open(aside, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
        _synchronise(os.path.dirname(path) or os.curdir)
    except OSError as error:
        if error.errno not in CANNOT_WRITE:
            raise
        raise OSError(
            f"A file must fit on its disk. Received: {path} ({error.strerror})."
            " Make room or choose another disk, then start again; what was "
            "complete before is so still."
        ) from error
    finally:
        if os.path.exists(aside):
            os.remove(aside)


def _synchronise(directory):
    """Puts the names in a directory on the disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot, and do it by themselves.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
