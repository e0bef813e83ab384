"""Tags of a text without a format, and their places in its translation."""

import dataclasses
import re

from keras_transformer.documents.markup import Kind
from keras_transformer.documents.markup import Mark
from keras_transformer.documents.markup import Piece
from keras_transformer.documents.markup import arrange_marks
from keras_transformer.documents.markup import nest_marks
from keras_transformer.documents.markup import pair_tags

# A start, end or empty tag of XML or HTML, a comment, or an entity.
TAG = re.compile(
    r"</?[A-Za-z][\w:.-]*(?:\s+[^<>\s=]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'"
    r"|[^\s<>\"']+))?)*\s*/?>|<!--.*?-->"
)
_NAME = re.compile(r"</?([\w:.-]+)")


def make_mark(raw, place, before="", after=""):
    """Returns the `Mark` of something, such as "<b>", that a text lost.

    `place` is the number of characters before it in the text without it;
    `before` and `after` are the characters around it in the text with it.
    """
    kind, name = Kind.ATOM, ""
    if TAG.fullmatch(raw) and not raw.startswith("<!"):
        name = _NAME.match(raw)[1]
        if raw.startswith("</"):
            kind = Kind.CLOSE
        elif not raw.endswith("/>"):
            kind = Kind.OPEN
    return Mark(Piece(kind, raw, name=name), place, place, before, after)


def insert_marks(text, marks, find_span):
    """Inserts marks, in the order of the source, into a translation.

    `find_span` maps the start and stop of a part of the source to those of the
    part of the translation that belongs to it. A start tag belongs to the next
    end tag of its name on its level. A tag without a partner stands alone, at
    the start of its part. Nested elements stay nested; others never overlap.
    """

    def find_mark_span(mark):
        start, stop = find_span(mark.start, mark.stop)
        if mark.start == mark.stop:
            return start, start
        # Where the words of an inner pair went, the outer pair must reach.
        spans = [(start, stop), *map(find_mark_span, mark.inside)]
        starts, stops = zip(*spans)
        return min(starts), max(stops)

    partners = pair_tags([mark.piece for mark in marks])
    marks = [
        mark
        if number in partners
        else dataclasses.replace(
            mark, piece=mark.piece._replace(kind=Kind.ATOM)
        )
        for number, mark in enumerate(marks)
    ]
    placed = arrange_marks(
        nest_marks(marks),
        find_mark_span,
        first=0,
        last=len(text),
        # Marks at one place keep the order of the source.
        key=lambda span: span[0],
    )
    return _write(text, placed, 0, len(text), "")


def _write(text, placed, start, limit, written):
    """Appends a part of the text with its marks to what is written."""
    for mark, first, last, inside in placed:
        written += text[start:first]
        # Around words the spaces of the translation are there already.
        is_empty = first == last
        if is_empty and _needs_space(mark, written[-1:], at_end=False):
            written += " "
        written += mark.piece.raw
        if mark.end:
            written = _write(text, inside, first, last, written)
            written += mark.end.piece.raw
        start = last
        following = text[start:limit]
        if is_empty and _needs_space(mark, following[:1], at_end=True):
            written += " "
    return written + text[start:limit]


def _needs_space(mark, neighbour, at_end):
    """Returns whether a mark without words needs a space beside it.

    The `neighbour` is the character beside it in the translation, or none; it
    is after the mark if `at_end`, otherwise before it.
    """
    after = (mark.end or mark).after
    if not neighbour.strip():
        return False
    if TAG.fullmatch(mark.piece.raw):
        return not mark.before.strip() and not after.strip()
    # Letters directly beside an address would become a part of it.
    in_source = after if at_end else mark.before
    joins = neighbour.isalnum() and not in_source.isalnum()
    return joins or not in_source.strip()
