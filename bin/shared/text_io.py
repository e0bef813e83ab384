"""Files and standard input as lines of text."""

import contextlib
import os
import sys

from keras_transformer.data import text_files
from keras_transformer.errors import UserError


class TextInput:
    """Lines of text from a file, a pipe or standard input.

    Attributes:
        is_file: Whether it is a regular file, which can be read twice.

    Args:
        path: Path of the file. None and "-" mean standard input.

    Raises:
        UserError: If there is no such file, or if standard input is closed.
    """

    def __init__(self, path):
        self.is_file = False
        self._path = path
        if path in (None, "-"):
            check_standard_input()
        else:
            text_files.check_exists(path)
            self.is_file = os.path.isfile(path)

    def __iter__(self):
        if self._path in (None, "-"):
            return standard_input()
        return text_files.read_lines(self._path)

    def count(self, checker=None):
        """Returns the number of lines; None if they can be read only once.

        All faults of the text appear here, before any other work.

        Args:
            checker: What `loading.load_checker` returned. It checks the lengths
                of the lines, too. Defaults to None.

        Raises:
            UserError: If a line is not text or is too long.
        """
        if not self.is_file:
            return None
        if checker:
            return checker.check_lengths(self, self._path)
        return sum(1 for _ in self)


def standard_input():
    r"""Returns an iterator of the lines, which end in `\n` only.

    Raises:
        UserError: If standard input is closed. The iterator raises it if a
            line is not UTF-8, after it has yielded the lines before it.
    """
    check_standard_input()
    # The text layer of standard input would end lines at a lone `\r`, too, and
    # could not tell the line of a faulty byte.
    return text_files.lines_of(sys.stdin.buffer, "standard input")


def check_standard_input():
    """Raises a `UserError` if standard input is closed."""
    # The shell closes it with `<&-`.
    if sys.stdin is None:
        raise UserError(
            "Standard input is closed. Pass text through a pipe, or in a flag."
        )


class StandardOutput:
    """Standard output with the methods of `partial.PartialFile`."""

    num_lines = 0  # there are no lines of an earlier process

    def __init__(self):
        self.num_written = 0

    def follow(self, name, lines):
        return iter(lines)

    def writelines(self, lines):
        sys.stdout.writelines(lines)
        sys.stdout.flush()
        self.num_written += len(lines)

    def isatty(self):
        return sys.stdout.isatty()


@contextlib.contextmanager
def standard_output():
    """Yields a `StandardOutput`, and notes on an interrupt what is written."""
    output = StandardOutput()
    try:
        yield output
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(
            f"{output.num_written:,} lines were written to standard output."
        )
        raise
