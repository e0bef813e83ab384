"""The pieces of Markdown within a block: emphasis, links, code and text."""

import re

from markdown_it.common.utils import normalizeReference
from markdown_it.helpers import parseLinkDestination
from markdown_it.helpers import parseLinkTitle

from keras_transformer.documents import html_text
from keras_transformer.documents.markup import Kind
from keras_transformer.documents.markup import Piece
from keras_transformer.documents.markup import text_pieces

_TITLE = re.compile(r"""\s(["'])((?:(?!\1)[^\\]|\\.)+)\1\s*\)$""", re.DOTALL)
_SPACE = re.compile(r"\s*")
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]", re.DOTALL)
_AUTOLINK = re.compile(r"<[^<>\s]*>")
_BREAKS = {
    "softbreak": re.compile(r"[ \t]*\n[ \t]*"),
    "hardbreak": re.compile(r"(?:[ \t]*|\\)\n[ \t]*"),
}
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^>]*?(/?)>", re.DOTALL)
# Footnotes and the boxes of task lists, which the parser takes for text.
_KEPT = re.compile(r"(\[\^[^\[\]\s]+\]:?|^\[[ xX]\](?=\s))")
_SEPARATING_TAGS = ("br", "hr")


def read_inline(token, labels):
    """Returns the pieces of an inline token, and the places of its values.

    The parser does not tell where its tokens are, so they are located in the
    source. `labels` are the normalised labels of the document's links. The
    pieces are None if the tokens do not fit the source, which stays as it is.
    """
    reader = _Reader(token.content, labels)
    try:
        for child in token.children:
            reader.read(child)
    except _MisfitError:
        return None, []
    if reader.place != len(token.content):
        return None, []
    return _join_kept(reader.pieces), reader.values


def _join_kept(pieces):
    """Joins elements such as `<sup>1</sup>`, which are kept, into atoms."""
    joined, start, name = [], 0, None
    for piece in pieces:
        match = _TAG.fullmatch(piece.raw)
        tag = match[2].lower() if match else None
        if name is None and piece.kind == Kind.OPEN:
            if tag in html_text.KEPT_INLINE:
                start, name = len(joined), tag
        joined.append(piece)
        if name and piece.kind == Kind.CLOSE and tag == name:
            raw = "".join(each.raw for each in joined[start:])
            joined[start:] = [Piece(Kind.ATOM, raw)]
            name = None
    return joined


def _divide_highlights(text):
    """Returns the pieces of a text, where `==` is around marked words."""
    parts = re.split(r"(?<![=])==(?!=)", text)
    if len(parts) % 2 == 0:
        return text_pieces(text)
    pieces = text_pieces(parts[0])
    for number, part in enumerate(parts[1:]):
        kind = Kind.CLOSE if number % 2 else Kind.OPEN
        pieces += [Piece(kind, "=="), *text_pieces(part)]
    return pieces


class _MisfitError(Exception):
    """The source does not match a token."""


class _Reader:
    """Reads the source of an inline token, child by child."""

    def __init__(self, source, labels):
        self._source = source
        self._labels = labels
        self._is_in_autolink = False
        self._link_starts = []
        self.place = 0
        self.pieces = []
        self.values = []

    def read(self, child):
        token_type = child.type
        if self._is_in_autolink:
            self._is_in_autolink = token_type != "link_close"
        elif token_type == "text":
            for number, part in enumerate(_KEPT.split(child.content)):
                if number % 2:
                    self._take(Kind.ATOM, self._after(part))
                elif part:
                    stop = self._after(part)
                    self.pieces += _divide_highlights(part)
                    self.place = stop
        elif token_type == "text_special":
            self._take(Kind.TEXT, self._after(child.markup), child.content)
        elif token_type in _BREAKS:
            # A hard break separates lines on purpose.
            kind = Kind.BREAK if token_type == "softbreak" else Kind.OUTER
            self._take(kind, self._match(_BREAKS[token_type]))
        elif token_type == "code_inline":
            fence = child.markup
            code = re.compile(f"{fence}.*?(?<!`){fence}(?!`)", re.DOTALL)
            self._take(Kind.ATOM, self._match(code))
        elif token_type == "html_inline":
            self._take(
                _choose_tag_kind(child.content), self._after(child.content)
            )
        elif token_type == "link_open" and child.markup == "autolink":
            self._take(Kind.ATOM, self._match(_AUTOLINK))
            self._is_in_autolink = True
        elif token_type == "link_open":
            self._take(Kind.OPEN, self._after("["))
            self._link_starts.append(self.place)
        elif token_type == "link_close":
            self._close_link(self._link_starts.pop())
        elif token_type == "image":
            stop = self._after("![" + child.content)
            self.values.append((stop - len(child.content), stop))
            end = self._find_link_end(stop)
            self._find_title(stop, end)
            self._take(Kind.ATOM, end)
        elif child.nesting:
            kind = Kind.OPEN if child.nesting > 0 else Kind.CLOSE
            self._take(kind, self._after(child.markup))
        else:
            raise _MisfitError

    def _close_link(self, start):
        text = self._source[start : self.place]
        end = self._find_link_end(self.place)
        self._find_title(self.place, end)
        self._take(Kind.CLOSE, end)
        tail = self.pieces[-1]
        # The text is the label of the address, too, and must stay so.
        if tail.raw == "]" or re.fullmatch(r"\]\[\s*\]", tail.raw):
            self.pieces[-1] = tail._replace(new=f"][{text}]")

    def _find_title(self, start, stop):
        if match := _TITLE.search(self._source[start:stop]):
            span = tuple(start + edge for edge in match.span(2))
            self.values.append(span)

    def _take(self, kind, stop, text=""):
        raw = self._source[self.place : stop]
        self.pieces.append(Piece(kind, raw, text))
        self.place = stop

    def _after(self, text):
        if not self._source.startswith(text, self.place):
            raise _MisfitError
        return self.place + len(text)

    def _match(self, pattern):
        match = pattern.match(self._source, self.place)
        if not match:
            raise _MisfitError
        return match.end()

    def _find_link_end(self, place):
        """Returns the end of a link, given the end of its text."""
        source = self._source
        if source[place : place + 1] != "]":
            raise _MisfitError
        place += 1
        if source[place : place + 1] == "(":
            if stop := _find_address_end(source, place + 1):
                return stop
        label = _LABEL.match(source, place)
        if label and (
            not label[1].strip() or normalizeReference(label[1]) in self._labels
        ):
            return label.end()
        return place


def _find_address_end(source, place):
    """Returns the end of `(address "title")`, or None if there is none."""
    size = len(source)
    place = _SPACE.match(source, place).end()
    address = parseLinkDestination(source, place, size)
    if address.ok:
        place = address.pos
    start = place
    place = _SPACE.match(source, place).end()
    title = parseLinkTitle(source, place, size)
    if title.ok and place > start:
        place = _SPACE.match(source, title.pos).end()
    return place + 1 if source[place : place + 1] == ")" else None


def _choose_tag_kind(raw):
    match = _TAG.fullmatch(raw)
    if not match:
        return Kind.ATOM
    is_end, name, is_empty = match.groups()
    if name.lower() in _SEPARATING_TAGS:
        return Kind.OUTER
    if is_empty:
        return Kind.ATOM
    return Kind.CLOSE if is_end else Kind.OPEN
