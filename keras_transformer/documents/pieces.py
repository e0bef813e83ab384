"""The pieces of a document: text to translate, and markup to keep."""

import re
from typing import NamedTuple

OUTER = "outer"  # stands between two blocks of text, or is left untouched
TEXT = "text"
BREAK = "break"  # white space with a line end, inside a block
OPEN = "open"  # the start of inline markup around words
CLOSE = "close"  # its end
ATOM = "atom"  # inline markup without words to translate, such as code
INLINE_MARKUP = (OPEN, CLOSE, ATOM)

LINE_END = re.compile(r"\r\n?|\n")
_BREAK = re.compile(r"([^\S\r\n]*(?:\r\n?|\n)\s*)")
# An address must reach the translation as it is. Punctuation at its end is not
# part of it, but brackets in pairs are: https://example.org/Mercury_(planet).
_ADDRESS = re.compile(
    r"((?:https?|ftp)://(?:\([^\s<>\"()]*\)|[^\s<>\"()])*"
    r"(?:\([^\s<>\"()]*\)|[^\s<>\".,;:!?'()\[\]*_])"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
)


class Piece(NamedTuple):
    """A part of a document.

    The `raw` texts of all pieces, joined, are the document.
    """

    kind: str  # one of the constants above
    raw: str  # as the document spells it
    text: str = ""  # what it says to a reader; only `TEXT` has it
    new: str = ""  # its spelling around changed text, if that differs
    is_html: bool = False  # whether it is in a block of HTML, in Markdown
    name: str = ""  # of its element, if only tags of one name make a pair


def text_pieces(raw):
    """Returns the pieces of plain characters within a block.

    Example:

    >>> [piece.kind for piece in text_pieces("See https://a.org\\n  now.")]
    ['text', 'atom', 'break', 'text']
    """
    pieces = []
    for number, line in enumerate(_BREAK.split(raw)):
        if number % 2:
            pieces.append(Piece(BREAK, line))
            continue
        for place, part in enumerate(_ADDRESS.split(line)):
            if part and place % 2:
                pieces.append(Piece(ATOM, part))
            elif part:
                pieces.append(Piece(TEXT, part, part))
    return pieces


def pair_tags(pieces):
    """Returns the places of tags that belong together, a symmetric dictionary.

    An end tag ends the nearest open element of its name. Elements within it
    that are still open have no partner.

    Args:
        pieces: List of `Piece`.
    """
    partners, open_places = {}, []
    for place, piece in enumerate(pieces):
        if piece.kind == OPEN:
            open_places.append(place)
        elif piece.kind == CLOSE:
            names = [pieces[start].name for start in open_places]
            if piece.name in names:
                while pieces[start := open_places.pop()].name != piece.name:
                    pass
                partners |= {place: start, start: place}
    return partners
