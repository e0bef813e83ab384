"""The text of a sentence, and the marks of markup between its words."""

import dataclasses
import re

from keras_transformer.documents.pieces import ATOM
from keras_transformer.documents.pieces import BREAK
from keras_transformer.documents.pieces import CLOSE
from keras_transformer.documents.pieces import OPEN
from keras_transformer.documents.pieces import TEXT
from keras_transformer.documents.pieces import Piece

# A number, a word, or a mark of punctuation.
WORD = re.compile(r"\d+(?:[.,:]\d+)+|\w+|[^\w\s]")

# Markup that shows nothing, and may stand within a word.
_WIDTHLESS = re.compile("<!--|<wbr", re.IGNORECASE)


@dataclasses.dataclass
class Mark:
    """A piece of markup, or a pair of tags with the marks between them."""

    piece: Piece  # of a pair, the start tag
    start: int  # how many words of the sentence are before it
    stop: int  # how many are before the end tag of a pair
    space_before: bool  # whether white space is directly before the piece
    space_after: bool
    end: "Mark" = None  # of a pair, the end tag
    inside: list = dataclasses.field(default_factory=list)


def words_of(text):
    """Returns the words of a text. Markup has its place between them.

    Example:

    >>> words_of("Don't go, Tom.")
    ['Don', "'", 't', 'go', ',', 'Tom', '.']
    """
    return WORD.findall(text)


def plain_text(pieces):
    """Returns the text of a sentence without its markup, for a translator.

    Args:
        pieces: List of `Piece`.
    """
    return " ".join("".join(_texts(pieces)).split())


def marks_of(pieces):
    """Returns the marks of a sentence.

    Args:
        pieces: List of `Piece`.

    Returns:
        List of `Mark`. The marks between a pair of tags are `inside` it.
    """
    texts = _texts(pieces)
    words = list(WORD.finditer("".join(texts)))
    partners = pairs_of(pieces)
    marks, outer, offset = [], [], 0
    for number, (piece, text) in enumerate(zip(pieces, texts)):
        if piece.kind != TEXT:
            mark = _mark(pieces, number, _place(piece, offset, words))
            if number not in partners:
                marks.append(mark)
            elif piece.kind == CLOSE:
                marks = outer.pop()
                marks[-1].end, marks[-1].stop = mark, mark.start
            else:
                marks.append(mark)
                outer.append(marks)
                marks = mark.inside
        offset += len(text)
    return marks


def pairs_of(pieces):
    """Returns the places of tags that belong together, a symmetric dictionary.

    Args:
        pieces: List of `Piece`.
    """
    partners, opened = {}, []
    for place, piece in enumerate(pieces):
        if piece.kind == CLOSE and opened:
            partners[place] = opened.pop()
            partners[partners[place]] = place
        elif piece.kind == OPEN:
            opened.append(place)
    return partners


def _mark(pieces, number, place):
    before = pieces[number - 1].raw if number else ""
    after = pieces[number + 1].raw if number + 1 < len(pieces) else ""
    return Mark(
        pieces[number],
        place,
        place,
        before[-1:].isspace(),
        after[:1].isspace(),
    )


def _place(piece, offset, words):
    # Markup within a word moves to its edge.
    if piece.kind == CLOSE:
        return sum(word.start() < offset for word in words)
    return sum(word.end() <= offset for word in words)


def _texts(pieces):
    """Returns what each piece contributes to the text of its sentence."""
    texts = []
    for number, piece in enumerate(pieces):
        text = piece.text
        if piece.kind == BREAK or _separates_words(pieces, number):
            text = " "
        texts.append(text)
    return texts


def _separates_words(pieces, number):
    if pieces[number].kind != ATOM or _WIDTHLESS.match(pieces[number].raw):
        return False
    before = "".join(piece.text for piece in pieces[:number])
    after = "".join(piece.text for piece in pieces[number:])
    return before[-1:].isalnum() and after[:1].isalnum()
