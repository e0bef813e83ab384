"""Standard input as lines of text."""

import sys


def standard_input():
    r"""Yields the lines of standard input, which end in `\n` only.

    Raises:
        ValueError: If a line is not UTF-8; the lines before it are yielded.
    """
    # The text layer of standard input would end lines at a lone `\r`, too, and
    # could not tell the line of a faulty byte.
    for number, line in enumerate(sys.stdin.buffer, 1):
        # Line by line, so that a pipe gets answers while it is still open.
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                "Text must be UTF-8. Received: standard input, line "
                f"{number}, where byte {error.start + 1} is "
                f"0x{error.object[error.start]:02x}. Convert the text, for "
                "example with iconv -t UTF-8."
            ) from error
