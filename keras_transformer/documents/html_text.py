"""HTML as pieces: text, inline tags around words, and everything else."""

import html
import re
from html.parser import HTMLParser

from keras_transformer.documents.markup import Kind
from keras_transformer.documents.markup import Piece
from keras_transformer.documents.markup import text_pieces

# Elements that stand within a sentence. All others separate sentences.
INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite del dfn em font i img ins label mark q "
    "s small span strike strong sub sup tt u wbr".split()
)
# Elements whose content stays as it is, within a sentence or around.
KEPT_INLINE = frozenset(["code", "kbd", "samp", "var"])
IN_SENTENCES = INLINE | KEPT_INLINE
KEPT = frozenset("math pre script style svg template textarea".split())
VOID = frozenset(
    "area base br col embed hr img input link meta param source track "
    "wbr".split()
)
# A start tag of the same name ends these.
SELF_ENDING = frozenset("dd dt li option p td th tr".split())
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def parse(text):
    """Returns the pieces of an HTML document, which may be faulty."""
    reader = _Reader(text)
    reader.feed(text)
    reader.close()
    return reader.make_pieces()


def escape(text, bare=(), following=None):
    """Spells the characters of a translation that would be markup.

    Characters of `bare` stood unescaped in the source sentence.
    """
    return "".join(
        # A bare `<` could become the start of a tag beside another word.
        character
        if character in bare and character != "<"
        else _ENTITIES.get(character, character)
        for character in text
    )


class _Reader(HTMLParser):
    """Notes where each tag and each text begins.

    `HTMLParser` tells the line and column of each event. The raw text of an
    event reaches up to the next one, so nothing is ever lost.
    """

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self._text = text
        # `HTMLParser` counts only line feeds as ends of lines.
        ends = re.finditer("\n", text)
        self._line_starts = [0, *(match.end() for match in ends)]
        self._events = []  # pairs of an offset and a kind of piece
        self._kept = None  # the element whose content is kept
        self._open = []  # the elements within it that have not ended
        self._kept_kind = Kind.OUTER

    def make_pieces(self):
        starts = [start for start, _ in self._events]
        stops = [*starts[1:], len(self._text)]
        pieces = []
        for (start, kind), stop in zip(self._events, stops):
            raw = self._text[start:stop]
            pieces += (
                _make_text_pieces(raw)
                if kind == Kind.TEXT
                else [Piece(kind, raw)]
            )
        return _join_outer(piece for piece in pieces if piece.raw)

    def handle_starttag(self, tag, attributes):
        if self._kept:
            # A list within a list item has items of its own.
            is_nested = set(self._open) - SELF_ENDING - INLINE - VOID
            if tag != self._kept or tag not in SELF_ENDING or is_nested:
                self._open.append(tag)
                return self._note(self._kept_kind)
            self._kept = None
        if tag in VOID:
            return self._note(_choose_kind(tag, Kind.ATOM))
        is_named = tag in KEPT | KEPT_INLINE
        if is_named or _is_untranslated(dict(attributes)):
            self._kept, self._open = tag, []
            self._kept_kind = _choose_kind(tag, Kind.ATOM)
            return self._note(self._kept_kind)
        self._note(_choose_kind(tag, Kind.OPEN))

    def handle_startendtag(self, tag, attributes):
        self._note(_choose_kind(tag, Kind.ATOM))

    def handle_endtag(self, tag):
        # The end of an outer element, such as </ul>, also ends a last <li>.
        is_outer = tag not in (self._kept, *self._open)
        if self._kept in SELF_ENDING and is_outer:
            self._kept = None
        if not self._kept:
            return self._note(_choose_kind(tag, Kind.CLOSE))
        self._note(self._kept_kind)
        if tag in self._open:
            # Elements within it whose end tags are left out end with it.
            while self._open.pop() != tag:
                pass
        elif tag == self._kept:
            self._kept = None

    def handle_data(self, data):
        self._note(Kind.TEXT)

    def handle_entityref(self, name):
        self._note(Kind.TEXT)

    def handle_charref(self, name):
        self._note(Kind.TEXT)

    def handle_comment(self, data):
        self._note(Kind.ATOM)

    def handle_decl(self, declaration):
        self._note(Kind.OUTER)

    def handle_pi(self, data):
        self._note(Kind.OUTER)

    def unknown_decl(self, data):
        self._note(Kind.OUTER)

    def _note(self, kind):
        line, column = self.getpos()
        kind = self._kept_kind if self._kept else kind
        self._events.append((self._line_starts[line - 1] + column, kind))


def _choose_kind(tag, kind_in_sentences):
    return kind_in_sentences if tag in IN_SENTENCES else Kind.OUTER


def _is_untranslated(attributes):
    translate = (attributes.get("translate") or "").lower()
    classes = (attributes.get("class") or "").split()
    return translate == "no" or "notranslate" in classes


def _make_text_pieces(raw):
    """Returns the pieces of text, which may be a character reference."""
    text = html.unescape(raw)
    if text == raw or not raw.startswith("&"):
        return text_pieces(raw)
    return [Piece(Kind.TEXT, raw, text)]


def _join_outer(pieces):
    """Joins neighbouring pieces of the kind `OUTER` into one."""
    result = []
    for piece in pieces:
        if result and piece.kind == result[-1].kind == Kind.OUTER:
            result[-1] = Piece(Kind.OUTER, result[-1].raw + piece.raw)
        else:
            result.append(piece)
    return result
