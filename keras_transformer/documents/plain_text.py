"""Plain text as pieces: paragraphs, and lines that are wrapped or not."""

import itertools
import re

from keras_transformer.documents import markup

# Shorter lines than these are rarely wrapped: poems, lists and addresses.
MIN_WIDTH = 50
_ITEM = re.compile(r"\s*(?:[-*+•–]|\d+[.)])\s+")


def parse(text):
    """Returns the pieces of a plain text, and no `Value`.

    A blank line ends a paragraph. So does the end of a line that had room for
    the first word of the next line, because wrapping the paragraph would have
    put the word there.
    """
    pieces, block = [], ""
    for line, end, is_wrapped in _lines(text):
        marker = None if block else _ITEM.match(line)
        if marker:
            pieces.append(markup.Piece(markup.Kind.OUTER, marker[0]))
            line = line.removeprefix(marker[0])
        block += line
        if is_wrapped:
            block += end
            continue
        pieces += markup.text_pieces(block)
        pieces.append(markup.Piece(markup.Kind.OUTER, end))
        block = ""
    return [piece for piece in pieces if piece.raw], []


def escape(word, spellings, begins_line=False):
    """Returns a word of a translation as it is: plain text has no markup."""
    return word[0]


def _lines(text):
    """Yields each line, its end, and whether the next one continues it."""
    lines = text.split("\n")
    ends = ["\n"] * (len(lines) - 1) + [""]
    widths = _widths(lines)
    following = [*lines[1:], ""]
    for line, end, next_line, width in zip(lines, ends, following, widths):
        words = next_line.split(maxsplit=1)
        is_wrapped = (
            bool(line.strip() and words)
            and width >= MIN_WIDTH
            and len(line) + 1 + len(words[0]) > width
            and not _ITEM.match(next_line)
        )
        yield line, end, is_wrapped


def _widths(lines):
    """Returns for each line the length of its paragraph's longest line."""
    widths = []
    for _, paragraph in itertools.groupby(lines, lambda one: not one.strip()):
        lengths = [len(line) for line in paragraph]
        widths += [max(lengths)] * len(lengths)
    return widths
