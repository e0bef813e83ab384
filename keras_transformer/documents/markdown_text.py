"""Markdown as pieces: its blocks by a parser, each placed in the source."""

import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.helpers import parseLinkDestination
from markdown_it.helpers import parseLinkTitle

from keras_transformer.documents import html_text
from keras_transformer.documents.markup import LINE_END
from keras_transformer.documents.markup import Kind
from keras_transformer.documents.markup import Piece
from keras_transformer.documents.markup import text_pieces

_FRONT_MATTER = re.compile(
    r"\A---[ \t]*(?:\r\n?|\n).*?^(?:---|\.\.\.)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_SPECIAL = re.compile(r"[\\`*_\[\]<>|]")
# What would begin a list, a heading or a quote at the start of a line.
_BLOCK_START = re.compile(r"[-+#=~](?=[-+#=~\s]|$)")
_NUMBER_START = re.compile(r"\d+[.)](?:\s|$)")


def parse(text):
    """Returns the pieces of a Markdown document.

    The parser is that of CommonMark with tables and strikethrough. It tells the
    lines of each block and what its text is; the text is then searched for in
    these lines, so that everything around it stays as it is.
    """
    front_matter = _FRONT_MATTER.match(text)
    start = front_matter.end() if front_matter else 0
    lines = _Lines(text, start)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    # Keeps the spelling of escaped characters apart from the text.
    parser.disable("text_join")
    environment = {}
    tokens = parser.parse(text[start:], environment)
    labels = environment.get("references", {})
    for place, token in enumerate(tokens):
        if token.type == "inline":
            positions = lines.find_positions(token, tokens[place - 1])
            inner = positions and read_inline(token, labels)
            if inner:
                lines.take(inner, positions)
        elif token.type == "html_block" and not token.level:
            lines.take_html(token)
    return lines.finish()


def escape(text, bare=(), following=None):
    """Spells the characters of a translation that would be markup.

    Characters of `bare` stood unescaped in the source sentence. `following` is
    what follows the word if the translation begins with it, otherwise None.
    """
    spelled = _SPECIAL.sub(
        lambda match: match[0] if match[0] in bare else f"\\{match[0]}", text
    )
    if following is None:
        return spelled
    if _NUMBER_START.match(text + following):
        return f"{spelled}\\"  # before the full stop or the bracket
    if _BLOCK_START.match(text + following) and spelled == text:
        return f"\\{spelled}"
    return spelled


class _Lines:
    """The lines of a document, and its pieces so far."""

    def __init__(self, text, start):
        self._text = text
        self._pieces = []
        self._taken = 0  # everything before it is in the pieces
        ends = list(LINE_END.finditer(text, start))
        self._starts = [start, *(match.end() for match in ends)]
        self._stops = [*(match.start() for match in ends), len(text)]

    def find_positions(self, token, opening):
        """Returns the places of an inline token's characters, and of its end.

        `opening` is the token before it, which opens the block. The result is
        None if the content is not in the source as it is.
        """
        positions = []
        first = token.map[0]
        for number, line in enumerate(token.content.split("\n")):
            start = max(self._starts[first + number], self._taken)
            if opening.type == "heading_open" and opening.markup[0] == "#":
                start = self._text.find("#", start) + len(opening.markup)
            stop = self._stops[first + number]
            is_cell = opening.type in ("td_open", "th_open")
            places = _find_places(line.strip(), self._text[start:stop], is_cell)
            if places is None:
                return None
            # What the parser leaves of the indentation has no width.
            indent = len(line) - len(line.lstrip())
            trailing = len(line.lstrip()) - len(line.strip())
            inside = [start + place for place in places]
            positions += [inside[0]] * indent + inside
            # A line's last position is that of its line end.
            positions += [inside[-1] + n + 1 for n in range(trailing)]
        return positions

    def take(self, inner, positions):
        """Appends the pieces of an inline token, and what is before it."""
        self._skip_to(positions[0])
        place = 0
        for piece in inner:
            stop = place + len(piece.raw)
            raw = self._text[positions[place] : positions[stop]]
            if piece.raw == piece.text != raw:
                # Bars in a table's cell are escaped, so each character counts.
                self._pieces += [
                    Piece(
                        Kind.TEXT,
                        self._text[positions[n] : positions[n + 1]],
                        c,
                    )
                    for n, c in enumerate(piece.text, place)
                ]
            else:
                self._pieces.append(piece._replace(raw=raw))
            place = stop
        self._taken = positions[-1]

    def take_html(self, token):
        """Appends the pieces of a block of HTML, and what is before it."""
        first, stop = token.map
        stop = min(stop, len(self._starts)) - 1
        self._skip_to(self._starts[first])
        block = self._text[self._starts[first] : self._stops[stop]]
        self._pieces += [
            piece._replace(is_html=True) for piece in html_text.parse(block)
        ]
        self._taken = self._stops[stop]

    def finish(self):
        """Returns the pieces with what is after the last one."""
        self._skip_to(len(self._text))
        return [piece for piece in self._pieces if piece.raw]

    def _skip_to(self, place):
        self._pieces.append(Piece(Kind.OUTER, self._text[self._taken : place]))


def _find_places(content, line, is_cell):
    r"""Returns the places of each character of `content` in a line, or None.

    Only the text of a table's cell is spelt differently there: its bars have a
    backslash before them.
    """
    if is_cell:
        pattern = "".join(
            r"\\?\|" if character == "|" else re.escape(character)
            for character in content
        )
        match = re.search(pattern, line)
        start = match.start() if match else -1
    else:
        # At the end of the line, perhaps before the `##` of a heading.
        start = line.rfind(content)
    if start < 0:
        return None
    places = []
    for character in content:
        places.append(start)
        start += 2 if line[start] != character else 1
    return [*places, start]


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
    """Returns the pieces of an inline token of markdown-it-py.

    The parser does not tell where its tokens are, so the source is read along
    with them. `labels` are the normalised ones of the document's links. The
    result is None if the tokens do not fit the source, which then has to stay
    as it is.
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
                    self._take(Kind.ATOM, self._after(part))
                elif part:
                    stop = self._after(part)
                    self.pieces += text_pieces(part)
                    self.place = stop
        elif token_type == "text_special":
            self._take(Kind.TEXT, self._after(child.markup), child.content)
        elif token_type in _BREAKS:
            # A hard break separates lines on purpose.
            kind = Kind.BREAK if token_type == "softbreak" else Kind.OUTER
            self._take(kind, self._match(_BREAKS[token_type]))
        elif token_type == "code_inline":
            self._take(Kind.ATOM, self._find_code_end(child.markup))
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
            self._take(Kind.ATOM, self._find_link_end(stop))
        elif child.nesting:
            kind = Kind.OPEN if child.nesting > 0 else Kind.CLOSE
            self._take(kind, self._after(child.markup))
        else:
            raise _MisfitError

    def _close_link(self, start):
        text = self._source[start : self.place]
        self._take(Kind.CLOSE, self._find_link_end(self.place))
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

    def _find_code_end(self, fence):
        start = self._after(fence)
        pattern = re.compile(f"(?<!`){fence}(?!`)")
        match = pattern.search(self._source, start)
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
