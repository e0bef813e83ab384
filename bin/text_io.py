"""Standard input as lines of text."""

import sys

from keras_transformer.data.text_files import lines_of


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
    yield from lines_of(sys.stdin.buffer, "standard input")
