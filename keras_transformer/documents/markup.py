"""Markup between the words of a text, and its places in a translation."""

import bisect
import collections
import dataclasses
import enum
import itertools
import re
import typing
from typing import NamedTuple

from keras_transformer.documents import stand_ins


class Kind(enum.Enum):
    """The kind of a piece of a document."""

    OUTER = "outer"  # stands between two blocks of text, or is left untouched
    TEXT = "text"
    BREAK = "break"  # white space with a line end, inside a block
    OPEN = "open"  # the start of inline markup around words
    CLOSE = "close"  # its end
    ATOM = "atom"  # inline markup without words to translate, such as code


_MAX_DEPTH = 200  # of tags within tags
INLINE_MARKUP = {Kind.OPEN, Kind.CLOSE, Kind.ATOM}

# Pieces without text; a group has the name of its kind. The lookbehinds keep a
# search linear: without them, it would be tried again at each character of a
# run. An address must be copied to the translation. Punctuation at its end is
# not part of it, but brackets in pairs are: https://example.org/Mercury_(planet).
_NO_TEXT = re.compile(
    r"(?P<BREAK>(?<![^\S\n])[^\S\n]*\n\s*)"
    r"|(?P<ATOM>(?:(?:https?|ftp)://|(?<![\w.@/-])[Ww]{3}\.(?=\w))"
    r"(?:\([^\s<>\"()]*\)|[^\s<>\"()])*"
    r"(?:\([^\s<>\"()]*\)|[^\s<>\".,;:!?'()\[\]*_])"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    rf"|{stand_ins.ATOM}+|{stand_ins.TAIL}+)|(?P<OUTER>{stand_ins.WALL}+)"
)


class Piece(NamedTuple):
    """A part of a document; the `raw` texts of all parts make it up."""

    kind: Kind
    raw: str  # as the document spells it
    text: str = ""  # as a reader sees it; only a `TEXT` has it
    new: str = ""  # its spelling around changed text, if that differs
    is_html: bool = False  # whether it is in a block of HTML, in Markdown
    name: str = ""  # of its element, if only tags of one name make a pair


class Value(NamedTuple):
    """A text inside markup, such as the description of an image."""

    start: int  # its place in the document
    stop: int
    parse: typing.Callable  # returns the pieces of its text
    escape: typing.Callable  # see `html_text.escape`
    finish: typing.Callable = str  # puts a changed text into quotation marks


_JOINERS = re.compile("[-+/\u2013]+")
_MAX_JOINED = 1000  # characters; keeps the joining linear


def join_atoms(pieces):
    """Joins atoms with a sign between them, such as two keys with a plus."""
    joined = []
    for piece in pieces:
        kinds = [each.kind for each in (*joined[-2:], piece)]
        if (
            kinds == [Kind.ATOM, Kind.TEXT, Kind.ATOM]
            and _JOINERS.fullmatch(joined[-1].text)
            and len(joined[-2].raw) < _MAX_JOINED
        ):
            raw = joined[-2].raw + joined[-1].raw + piece.raw
            joined[-2:] = [piece._replace(raw=raw)]
        else:
            joined.append(piece)
    return joined


def text_pieces(raw):
    """Returns the pieces of plain characters within a block.

    >>> pieces = text_pieces("See https://a.org\\n  now.")
    >>> [piece.kind.value for piece in pieces]
    ['text', 'atom', 'break', 'text']
    """
    pieces, done = [], 0
    for match in _NO_TEXT.finditer(raw):
        text = raw[done : match.start()]
        pieces.append(Piece(Kind.TEXT, text, text))
        pieces.append(Piece(Kind[match.lastgroup], match[0]))
        done = match.end()
    pieces.append(Piece(Kind.TEXT, raw[done:], raw[done:]))
    return [piece for piece in pieces if piece.raw]


def split_pieces(pattern, read, raw):
    """Returns the pieces of a text; `read` makes one of each match.

    The pattern has one group, around all of it.
    """
    return [
        piece
        for number, part in enumerate(re.split(pattern, raw))
        for piece in ([read(part)] if number % 2 else text_pieces(part))
    ]


def pair_tags(pieces):
    """Returns the places of tags that belong together, a symmetric dictionary.

    An end tag ends the nearest open element of its name. Elements within it
    that are still open have no partner. No tag has one if more are open at once
    than a person would write, since each pair takes a level of recursion.
    """
    partners, open_places = {}, []
    num_open = collections.Counter()  # by the names of elements
    for place, piece in enumerate(pieces):
        if piece.kind == Kind.OPEN:
            open_places.append(place)
            num_open[piece.name] += 1
            if len(open_places) > _MAX_DEPTH:
                return {}
        elif piece.kind == Kind.CLOSE and num_open[piece.name]:
            name = None
            while name != piece.name:
                start = open_places.pop()
                name = pieces[start].name
                num_open[name] -= 1
            partners |= {place: start, start: place}
    return partners


# A placeholder such as {name}, ${name} or %s, a number, a word, or punctuation.
WORD = re.compile(
    r"[#$%@]?\{{1,3}[^{}\s]*\}{1,3}|%(?:\(\w+\)[a-zA-Z]|[sdifgxu]\b)|\d+(?:[.,:]\d+)+|\w+|[^\w\s]"
)

# Markup that shows nothing, or the mark of a footnote beside a word.
WIDTHLESS = re.compile(
    r"<!--|<(?:wbr|rt|rp|rtc|sub|sup)\b|\[\^|\^|~|<a\b[^>]*(?:noteref|footnote)",
    re.IGNORECASE,
)


@dataclasses.dataclass
class Mark:
    """A piece of markup, or a pair of tags with the marks between them.

    A place counts words of a document, or characters of text with inline tags.
    """

    piece: Piece  # the start tag of a pair
    start: int  # the place of the piece in the source
    stop: int  # the place of the end tag of a pair, or else `start`
    before: str = ""  # the character before the piece, none at the start
    after: str = ""  # the character after it, none at the end
    end: "Mark | None" = None  # the end tag of a pair
    inside: list = dataclasses.field(default_factory=list)
    num_words: int = 0  # that a pair needs in a translation


class PlacedMark(typing.NamedTuple):
    """A mark and its range of places in a translation."""

    mark: Mark
    start: int
    stop: int
    inside: list  # of `PlacedMark`, those between a pair of tags


def nest_marks(marks):
    """Returns new marks in which a pair of tags holds the marks between them.

    There is one for each tag, in order. A tag without a partner stands alone.
    """
    partners = pair_tags([mark.piece for mark in marks])
    siblings, outer = [], []
    for number, mark in enumerate(marks):
        if number not in partners:
            siblings.append(mark)
        elif mark.piece.kind == Kind.OPEN:
            siblings.append(dataclasses.replace(mark, inside=[]))
            outer.append(siblings)
            siblings = siblings[-1].inside
        else:
            siblings = outer.pop()
            pair = siblings[-1]
            pair.end, pair.stop = mark, mark.start
            needs = sum(inner.num_words for inner in pair.inside)
            pair.num_words = max(needs, pair.start < pair.stop)
    return siblings


def arrange_marks(marks, find_span, first, last, key=None, fit_span=None):
    """Returns the `PlacedMark`s of a translation, in its order.

    Each mark goes where its words went, the range of `find_span`. Marks between
    the same tags go from left to right, each in what its left neighbours and
    the enclosing pair, `first` to `last`, leave free. So pairs never overlap
    and keep their content. Marks are sorted by `key` of their range; by default
    by the range itself, unless one of them is a tag without a partner, which
    must stay between its neighbours. `fit_span` takes a mark, the places of
    atoms on its level, its range, `first`, `last`, and the number of words that
    later marks need; it returns the new range, or None to leave the mark out.
    """
    # From left to right, each mark takes its span as far as it is still free.
    # Clipping, unlike a search, keeps the tags well nested in linear time, even
    # where an alignment crosses.
    spans = [find_span(mark) for mark in marks]
    order = range(len(marks))
    if key or all(
        mark.end or mark.piece.kind in (Kind.ATOM, Kind.BREAK) for mark in marks
    ):
        ranks = list(map(key, spans)) if key else spans
        order = sorted(order, key=ranks.__getitem__)
    atoms = {mark.start for mark in marks if mark.piece.kind == Kind.ATOM}
    num_needed = sum(mark.num_words for mark in marks)
    placed = []
    for number in order:
        start = min(max(spans[number][0], first), last)
        stop = min(max(spans[number][1], start), last)
        mark = marks[number]
        if fit_span:
            num_needed -= mark.num_words
            span = fit_span(mark, atoms, start, stop, first, last, num_needed)
            if not span:
                continue
            start, stop = span
        inside = arrange_marks(
            mark.inside, find_span, start, stop, key, fit_span
        )
        placed.append(PlacedMark(mark, start, stop, inside))
        first = max(first, stop)
    return placed


def find_words(text):
    """Returns the words of a text. Markup has its place between them.

    >>> find_words("Don't go, Tom.")
    ['Don', "'", 't', 'go', ',', 'Tom', '.']
    """
    return WORD.findall(text)


def plain_text(pieces, normalize=str):
    """Returns the text of a sentence without its markup, for a translator.

    `normalize` is a method of its codec, which decides what the words are.
    """
    return " ".join("".join(_texts(pieces, normalize)).split())


def find_marks(pieces, normalize=str):
    """Returns the nested marks of a sentence, with places between its words."""
    texts = _texts(pieces, normalize)
    words = list(WORD.finditer("".join(texts)))
    starts = [word.start() for word in words]
    ends = [word.end() for word in words]
    raws = ["", *(piece.raw for piece in pieces), ""]
    marks, offset = [], 0
    for number, (piece, text) in enumerate(zip(pieces, texts)):
        if piece.kind != Kind.TEXT:
            # Markup within a word moves to its edge, since alignments link
            # whole words and the translated word is another one.
            if piece.kind == Kind.CLOSE:
                place = bisect.bisect_left(starts, offset)
            else:
                place = bisect.bisect_right(ends, offset)
            before, after = raws[number][-1:], raws[number + 2][:1]
            marks.append(Mark(piece, place, place, before, after))
        offset += len(text)
    return nest_marks(marks)


def _texts(pieces, normalize):
    """Returns the part of each piece in the text of its sentence."""
    # The nearest characters of text before each piece, and from it on.
    before = itertools.accumulate(
        (piece.text[-1:] for piece in pieces), _choose_last, initial=""
    )
    after = itertools.accumulate(
        (piece.text[:1] for piece in reversed(pieces)), _choose_last
    )
    return [
        " "
        if piece.kind == Kind.BREAK
        or (_is_atom_with_width(piece) and left.isalnum() and right.isalnum())
        else normalize(piece.text)
        for piece, left, right in zip(pieces, before, list(after)[::-1])
    ]


def _choose_last(character, next_character):
    return next_character or character


def _is_atom_with_width(piece):
    return piece.kind == Kind.ATOM and not WIDTHLESS.match(piece.raw)
