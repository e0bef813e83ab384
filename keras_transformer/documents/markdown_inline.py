"""The text of a Markdown paragraph as pieces, by the parser's own tokens."""

import re

from markdown_it.common.utils import normalizeReference
from markdown_it.helpers import parseLinkDestination
from markdown_it.helpers import parseLinkTitle

from keras_transformer.documents.pieces import ATOM
from keras_transformer.documents.pieces import BREAK
from keras_transformer.documents.pieces import CLOSE
from keras_transformer.documents.pieces import OPEN
from keras_transformer.documents.pieces import OUTER
from keras_transformer.documents.pieces import TEXT
from keras_transformer.documents.pieces import Piece
from keras_transformer.documents.pieces import text_pieces

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


def inline_pieces(token, labels):
    """Returns the pieces of an inline token of markdown-it-py.

    The parser does not tell where its tokens are. This function reads the
    source along with them.

    Args:
        token: An inline token with its children.
        labels: Collection of the normalised labels of the document's links.

    Returns:
        List of `Piece` whose raw texts are `token.content` when joined. None if
        the tokens do not fit the source, so that it has to stay as it is.
    """
    reader = _Reader(token.content, labels)
    try:
        for child in token.children:
            reader.read(child)
    except _MisfitError:
        return None
    if reader.place != len(token.content):
        return None
    return reader.pieces


class _MisfitError(Exception):
    """The source is not what a token says."""


class _Reader:
    """Reads the source of an inline token, child by child."""

    def __init__(self, source, labels):
        self._source = source
        self._labels = labels
        self._is_in_autolink = False
        self._link_starts = []
        self.place = 0
        self.pieces = []

    def read(self, child):
        token_type = child.type
        if self._is_in_autolink:
            self._is_in_autolink = token_type != "link_close"
        elif token_type == "text":
            for number, part in enumerate(_KEPT.split(child.content)):
                if number % 2:
                    self._take(ATOM, self._after(part))
                elif part:
                    stop = self._after(part)
                    self.pieces += text_pieces(part)
                    self.place = stop
        elif token_type == "text_special":
            self._take(TEXT, self._after(child.markup), child.content)
        elif token_type in _BREAKS:
            # A hard break separates lines on purpose.
            kind = BREAK if token_type == "softbreak" else OUTER
            self._take(kind, self._match(_BREAKS[token_type]))
        elif token_type == "code_inline":
            self._take(ATOM, self._code_end(child.markup))
        elif token_type == "html_inline":
            self._take(_tag_kind(child.content), self._after(child.content))
        elif token_type == "link_open" and child.markup == "autolink":
            self._take(ATOM, self._match(_AUTOLINK))
            self._is_in_autolink = True
        elif token_type == "link_open":
            self._take(OPEN, self._after("["))
            self._link_starts.append(self.place)
        elif token_type == "link_close":
            self._close_link(self._link_starts.pop())
        elif token_type == "image":
            stop = self._after("![" + child.content)
            self._take(ATOM, self._link_end(stop))
        elif child.nesting:
            kind = OPEN if child.nesting > 0 else CLOSE
            self._take(kind, self._after(child.markup))
        else:
            raise _MisfitError

    def _close_link(self, start):
        text = self._source[start : self.place]
        self._take(CLOSE, self._link_end(self.place))
        tail = self.pieces[-1]
        # The text is the label of the address, too, and must stay so.
        if tail.raw == "]" or re.fullmatch(r"\]\[\s*\]", tail.raw):
            self.pieces[-1] = tail._replace(new=f"][{text}]")

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

    def _code_end(self, fence):
        start = self._after(fence)
        pattern = re.compile(f"(?<!`){fence}(?!`)")
        match = pattern.search(self._source, start)
        if not match:
            raise _MisfitError
        return match.end()

    def _link_end(self, place):
        """Returns the end of a link, given the end of its text."""
        source = self._source
        if source[place : place + 1] != "]":
            raise _MisfitError
        place += 1
        if source[place : place + 1] == "(":
            if stop := _address_end(source, place + 1):
                return stop
        label = _LABEL.match(source, place)
        if label and (
            not label[1].strip() or normalizeReference(label[1]) in self._labels
        ):
            return label.end()
        return place


def _address_end(source, place):
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


def _tag_kind(raw):
    match = _TAG.fullmatch(raw)
    if not match:
        return ATOM
    is_end, name, is_empty = match.groups()
    if name.lower() in _SEPARATING_TAGS:
        return OUTER
    if is_empty:
        return ATOM
    return CLOSE if is_end else OPEN
