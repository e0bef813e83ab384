"""HTML as pieces: text, inline tags around words, and everything else."""

import collections
import functools
import html
import re
from html.parser import HTMLParser

from keras_transformer.documents import markup

# Elements that stand within a sentence. All others separate sentences.
INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img ins label "
    "mark q rb ruby s small span strike strong time tt u wbr".split()
)
# Elements whose content stays as it is, within a sentence or around one: code,
# and marks above, below or beside a word that are not a part of it.
KEPT_INLINE = frozenset("code kbd math rp rt rtc samp sub sup svg var".split())
IN_SENTENCES = INLINE | KEPT_INLINE
KEPT = frozenset("pre script style template textarea".split())
VOID = frozenset(
    "area base br col embed hr img input link meta param source track "
    "wbr".split()
)
# A start tag of the same name ends these.
SELF_ENDING = frozenset("dd dt li option p td th tr".split())
ENTITY = re.compile(r"&(?:#\w+|\w+);?")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# The sections that `HTMLParser` knows, such as <![if !IE]> and <![CDATA[...]]>.
_SECTION = re.compile(
    r"<!\[(?:if|else|endif|temp|cdata|ignore|include|rcdata)(?![-.\w])", re.I
)
_ATTRIBUTE = re.compile(
    r"""([^\s"'<>/=]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+)"""
)
_UNQUOTED = re.compile(r"[^\s\"'=<>`]+")
# Attributes and descriptions of a page that a reader sees or hears.
_READ = frozenset(
    "alt aria-description aria-label aria-placeholder placeholder summary "
    "title".split()
)
_DESCRIPTIONS = frozenset(
    "description og:description og:image:alt og:title twitter:description "
    "twitter:image:alt twitter:title".split()
)
_BUTTONS = frozenset(["button", "reset", "submit"])
_WITH_LABEL = frozenset(["optgroup", "option", "track"])


def parse(text):
    """Returns the pieces and the `Value`s of HTML, which may be faulty."""
    reader = _Reader(text)
    reader.feed(text)
    reader.finish()
    return reader.make_pieces(), reader.values


def escape(word, spellings, begins_line=False):
    """Spells a word of a translation, whose characters may be markup.

    `word` is a match of `markup.WORD` in the translation. `spellings` has the
    characters of the source sentence and how they are spelled there.
    """
    if is_entity(word.string, word.start()):
        spellings = {}
    return "".join(
        # A bare `<` could become the start of a tag beside another word.
        spellings.get(c, _ENTITIES[c]).replace("<", "&lt;")
        if c in _ENTITIES
        else c
        for c in word[0]
    )


def is_entity(text, place):
    """Returns whether a character reference is at a place of a text."""
    match = ENTITY.match(text, place)
    return bool(match) and html.unescape(match[0]) != match[0]


class _Reader(HTMLParser):
    """Notes where each tag and each text begins.

    `HTMLParser` tells the line and column of each event. The raw text of an
    event reaches up to the next one, so nothing is ever lost.
    """

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self._text = text
        ends = re.finditer("\n", text)
        self._line_starts = [0, *(match.end() for match in ends)]
        # Pairs of an offset and a kind of piece. `HTMLParser` tells nothing of
        # an end tag without a name, which may be at the start.
        self._events = [(0, markup.Kind.OUTER)]
        self._kept = None  # the element whose content is kept
        self._open = []  # the elements within it that have not ended
        self._num_open = collections.Counter()  # by their names
        self._num_nested = 0  # how many of them can hold other lists
        self.values = []

    def finish(self):
        """Ends with a tag or a comment that the document does not end."""
        # Browsers show neither it nor anything after it. `HTMLParser.close`
        # would look for its end again after each of its characters.
        if re.match(r"<[A-Za-z/!?]", self.rawdata):
            self._note(markup.Kind.OUTER)
        else:
            self.close()

    def make_pieces(self):
        starts = [start for start, _ in self._events]
        stops = [*starts[1:], len(self._text)]
        pieces = []
        for (start, kind), stop in zip(self._events, stops):
            raw = self._text[start:stop]
            if kind != markup.Kind.TEXT:
                pieces.append(markup.Piece(kind, raw))
            elif raw.startswith("&") and html.unescape(raw) != raw:
                pieces.append(read_reference(raw))
            else:
                pieces += markup.text_pieces(raw)
        return [piece for piece in pieces if piece.raw]

    def parse_marked_section(self, i, report=1):
        # `HTMLParser` fails at other ones, which browsers take for comments.
        if _SECTION.match(self.rawdata, i):
            return super().parse_marked_section(i, report)
        return self.parse_bogus_comment(i)

    def handle_starttag(self, tag, attributes):
        if self._kept:
            # A list within a list item has further items.
            if (
                tag != self._kept
                or tag not in SELF_ENDING
                or self._num_nested > 0
            ):
                self._open.append(tag)
                self._count_open(tag, 1)
                return
            self._kept = None
        attributes = dict(attributes)
        is_kept = is_untranslated(tag, attributes)
        if not is_kept:
            self._note_values(tag, attributes)
        if tag in VOID:
            self._note_tag(tag, markup.Kind.ATOM)
        elif is_kept or tag in KEPT | KEPT_INLINE:
            self._note_tag(tag, markup.Kind.ATOM)
            self._kept, self._open = tag, []
            self._num_open.clear()
            self._num_nested = 0
        else:
            self._note_tag(tag, markup.Kind.OPEN)

    def handle_startendtag(self, tag, attributes):
        if not (self._kept or is_untranslated(tag, dict(attributes))):
            self._note_values(tag, dict(attributes))
        self._note_tag(tag, markup.Kind.ATOM)

    def handle_endtag(self, tag):
        # The end of an outer element, such as </ul>, also ends a last <li>.
        is_outer = tag != self._kept and not self._num_open[tag]
        if self._kept in SELF_ENDING and is_outer:
            self._kept = None
        if not self._kept:
            return self._note_tag(tag, markup.Kind.CLOSE)
        if self._num_open[tag]:
            # Elements within it without an end tag end with it.
            ended = None
            while ended != tag:
                ended = self._open.pop()
                self._count_open(ended, -1)
        elif tag == self._kept:
            self._kept = None

    def _count_open(self, tag, change):
        self._num_open[tag] += change
        if tag not in SELF_ENDING | INLINE | VOID:
            self._num_nested += change

    def handle_data(self, data):
        self._note(markup.Kind.TEXT)

    handle_entityref = handle_charref = handle_data

    def handle_comment(self, data):
        self._note(markup.Kind.ATOM)

    def handle_decl(self, declaration):
        self._note(markup.Kind.OUTER)

    handle_pi = unknown_decl = handle_decl

    def _note_tag(self, tag, kind_in_sentences):
        is_inline = tag in IN_SENTENCES
        self._note(kind_in_sentences if is_inline else markup.Kind.OUTER)

    def _note(self, kind):
        # An element that is kept is a single piece.
        if not self._kept:
            self._events.append((self._find_place(), kind))

    def _find_place(self):
        line, column = self.getpos()
        return self._line_starts[line - 1] + column

    def _note_values(self, tag, attributes):
        place = self._find_place()
        for match in _ATTRIBUTE.finditer(self.get_starttag_text()):
            if not _is_read(tag, match[1].lower(), attributes):
                continue
            start, stop = (place + edge for edge in match.span(2))
            is_quoted = match[2][0] in "\"'"
            quote = match[2][0] if is_quoted else '"'
            value = markup.Value(
                start + is_quoted,
                stop - is_quoted,
                _parse_value,
                functools.partial(_escape_attribute, quote),
                str if is_quoted else _quote_value,
            )
            self.values.append(value)


def _parse_value(raw):
    return markup.split_pieces(f"({ENTITY.pattern})", read_reference, raw)


def _quote_value(spelling):
    return spelling if _UNQUOTED.fullmatch(spelling) else f'"{spelling}"'


def read_attributes(tag):
    """Returns the attributes of a start tag, a dictionary of str."""
    pairs = _ATTRIBUTE.findall(tag)
    return {name.lower(): value.strip("\"'") for name, value in pairs}


def is_untranslated(tag, attributes):
    """Returns whether an element is to be kept, given its attributes."""
    translate = (attributes.get("translate") or "").lower()
    classes = (attributes.get("class") or "").lower().split()
    # The mark of a footnote is not a part of the word before it.
    is_note = tag == "a" and (
        attributes.get("role") == "doc-noteref"
        or "noteref" in (attributes.get("epub:type") or "").split()
        or any("footnote" in name or "noteref" in name for name in classes)
    )
    return translate == "no" or "notranslate" in classes or is_note


def _is_read(tag, name, attributes):
    if name == "content":
        kind = attributes.get("name") or attributes.get("property") or ""
        return tag == "meta" and kind.lower() in _DESCRIPTIONS
    if name == "value":
        kind = attributes.get("type") or ""
        return tag == "input" and kind.lower() in _BUTTONS
    if name == "label":
        return tag in _WITH_LABEL
    return name in _READ and tag != "link"


def read_reference(raw):
    """Returns the piece of a character reference."""
    return markup.Piece(markup.Kind.TEXT, raw, html.unescape(raw))


def _escape_attribute(quote, word, spellings, begins_line=False):
    entity = "&quot;" if quote == '"' else "&#39;"
    return escape(word, spellings).replace(quote, entity)
