"""The pieces of Markdown within a block: emphasis, links, code and text."""

import functools
import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.helpers import parseLinkDestination
from markdown_it.helpers import parseLinkTitle

from keras_transformer.documents import html_text
from keras_transformer.documents import stand_ins
from keras_transformer.documents.markup import Kind
from keras_transformer.documents.markup import Piece
from keras_transformer.documents.markup import Value
from keras_transformer.documents.markup import split_pieces
from keras_transformer.documents.markup import text_pieces

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
# Keeps the spelling of escaped characters apart from the text.
PARSER.disable("text_join")

_TITLE = re.compile(
    r"""\s(?:(["'])((?:(?!\1)[^\\]|\\.)+)\1|(\()((?:[^()\\]|\\.)+)\))\s*\)$""",
    re.DOTALL,
)
_ESCAPE = re.compile(rf"(\\[!-/:-@\[-`{{-~]|{html_text.ENTITY.pattern})")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
# What would begin a list, a heading or a quote at the start of a line.
_BLOCK_START = re.compile(r">|[-+#=~*:](?=[-+#=~*\s]|$)")
_HEADING_END = re.compile(r"\s#+$")  # which a heading would not show
_NUMBER_START = re.compile(r"\d+[.)](?:\s|$)")
_SPACE = re.compile(r"\s*")
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]", re.DOTALL)
# After a text that is the label of the address, too, and must stay so.
_IS_LABEL = re.compile(r"\](?:\[\s*\])?")
_AUTOLINK = re.compile(r"<[^<>\s]*>")
_BREAKS = {
    "softbreak": re.compile(r"[ \t]*\n[ \t]*"),
    "hardbreak": re.compile(r"(?:[ \t]*|\\)\n[ \t]*"),
}
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^>]*?(/?)>", re.DOTALL)
_BOX = re.compile(r"^\[[ xX]\](?=\s)")  # of a task list
_SEPARATING_TAGS = ("br", "hr")


def escape(word, spellings, begins_line=False, quotes=""):
    """Spells a word of a translation, whose characters may be markup.

    `word` is a match of `markup.WORD` in the translation. `spellings` has the
    characters of the source sentence and how they are spelled there. The
    characters of `quotes` are always escaped.
    """
    text, start = word.string, word.start()
    spelled = _PUNCTUATION.sub(
        lambda match: _spell(text, start + match.start(), spellings, quotes),
        word[0],
    )
    if begins_line and _NUMBER_START.match(text, start):
        return f"{spelled}\\"  # before the full stop or the bracket
    if begins_line and _BLOCK_START.match(text, start):
        return f"\\{word[0]}"
    return spelled


def _spell(text, place, spellings, quotes):
    character, after = text[place], text[place + 1 : place + 2]
    before = text[max(0, place - 1) : place]
    source = spellings.get(character)
    if source not in (None, character):
        return source
    if character == "&":
        return "&amp;" if html_text.is_entity(text, place) else "&"
    if character == "#" and _HEADING_END.match(text, place - 1):
        return "\\#"
    is_alone = not (before.strip() or after.strip())
    is_bare = {
        "*": is_alone,
        "~": is_alone,
        "_": before.isalnum() and after.isalnum(),
        "<": not after.strip(),
        "\\": not _PUNCTUATION.match(after),
        "`": False,
    }.get(character, True)
    is_special = character in "\\`*_[]<>|{}~"
    if character in quotes or (is_special and not (source and is_bare)):
        return f"\\{character}"
    return character


def read_inline(token, environment):
    """Returns the pieces of an inline token, and the places of its values.

    The parser does not tell where its tokens are, so they are located in the
    source. The `environment` of the parser has the labels of links. The pieces
    are None if the tokens do not fit the source, which stays as it is.
    """
    reader = _Reader(token.content, environment)
    try:
        for child in token.children:
            reader.read(child)
    except _MisfitError:
        return None, []
    if reader.place != len(token.content):
        return None, []
    return _join_kept(reader.pieces), reader.values


def _join_kept(pieces):
    """Joins kept elements, such as `<sup>1</sup>`, and tags and attributes."""
    joined, start, name = [], 0, None
    for piece in pieces:
        is_tail = piece.raw[0] == stand_ins.TAIL and joined
        if is_tail and joined[-1].kind == Kind.CLOSE and not joined[-1].new:
            tag = joined.pop()
            piece = tag._replace(raw=tag.raw + piece.raw)
        match = _TAG.fullmatch(piece.raw)
        tag = match[2].lower() if match else None
        if name is None and tag and piece.kind == Kind.OPEN:
            attributes = html_text.read_attributes(piece.raw)
            if tag in html_text.KEPT_INLINE or html_text.is_untranslated(
                tag, attributes
            ):
                start, name = len(joined), tag
        joined.append(piece)
        if name and piece.kind == Kind.CLOSE and tag == name:
            raw = "".join(each.raw for each in joined[start:])
            joined[start:] = [Piece(Kind.ATOM, raw)]
            name = None
    return joined


def _parse_description(environment, raw):
    (token,) = PARSER.parseInline(raw, environment)
    pieces, _ = read_inline(token, environment)
    return [Piece(Kind.ATOM, raw)] if pieces is None else pieces


def _read_escape(raw):
    if raw[0] == "&":
        return html_text.read_reference(raw)
    return Piece(Kind.TEXT, raw, raw[1:])


class _MisfitError(Exception):
    """The source does not match a token."""


class _Reader:
    """Reads the source of an inline token, child by child."""

    def __init__(self, source, environment):
        self._source = source
        self._environment = environment
        self._labels = environment.get("references", {})
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
            stop = self._after(child.content)
            if box := _BOX.match(child.content):
                self._take(Kind.ATOM, self.place + box.end())
            self.pieces += text_pieces(self._source[self.place : stop])
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
            end = self._find_link_end(stop)
            if not _IS_LABEL.fullmatch(self._source, stop, end):
                parse = functools.partial(_parse_description, self._environment)
                start = stop - len(child.content)
                self.values.append(Value(start, stop, parse, escape))
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
        if _IS_LABEL.fullmatch(tail.raw):
            if stand_ins.HIDDEN.search(text):
                raise _MisfitError
            self.pieces[-1] = tail._replace(new=f"][{text}]")

    def _find_title(self, start, stop):
        if match := _TITLE.search(self._source[start:stop]):
            quote = match[1] or "()"
            edges = match.span(2 if match[1] else 4)
            span = (start + edge for edge in edges)
            parse = functools.partial(split_pieces, _ESCAPE, _read_escape)
            spell = functools.partial(escape, quotes=quote)
            self.values.append(Value(*span, parse, spell))

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
