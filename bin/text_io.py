"""Files and standard input as lines of text."""

import contextlib
import os
import sys

from keras_transformer.data import text_files


class TextInput:
    """Lines of text from a file, a pipe or standard input.

    Attributes:
        is_file: Whether it is a regular file, which can be read twice.

    Args:
        path: Path of the file. None and "-" mean standard input.

    Raises:
        ValueError: If there is no such file.
    """

    def __init__(self, path):
        self.is_file = False
        self._path = path
        if path not in (None, "-"):
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
            ValueError: If a line is not text or is too long.
        """
        if not self.is_file:
            return None
        if checker:
            return checker.check_lengths(self, self._path)
        return sum(1 for _ in self)


def standard_input():
    r"""Yields the lines of standard input, which end in `\n` only.

    Raises:
        ValueError: If standard input is closed, or if a line is not UTF-8; the
            lines before it are yielded.
    """
    # The shell closes it with `<&-`.
    if sys.stdin is None:
        raise ValueError(
            "Standard input must be open. Received: a closed one. Pass text "
            "through a pipe, or name a file with --decode_from_file."
        )
    # The text layer of standard input would end lines at a lone `\r`, too, and
    # could not tell the line of a faulty byte.
    yield from text_files.lines_of(sys.stdin.buffer, "standard input")


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
