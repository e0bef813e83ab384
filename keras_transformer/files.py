"""Files that are there whole or not at all."""

import contextlib
import os


@contextlib.contextmanager
def written_aside(path, mode="w"):
    """Opens a file that appears under its name once it is complete.

    Until then it is `path.incomplete`; an error or a kill leaves what stood
    under the name before. Text is UTF-8 with `\\n` as line ends.

    Args:
        path: file to write or to replace.
        mode: "w" for text, "wb" for bytes.

    Raises:
        ValueError: if `path` is there and no file.

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
    finally:
        if os.path.exists(aside):
            os.remove(aside)
