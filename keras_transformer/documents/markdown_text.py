"""Markdown as pieces; a parser tells their places in the source."""

import itertools
import re

from keras_transformer.documents import html_text
from keras_transformer.documents.front_matter import read_front_matter
from keras_transformer.documents.markdown_inline import PARSER
from keras_transformer.documents.markdown_inline import escape
from keras_transformer.documents.markdown_inline import read_inline
from keras_transformer.documents.markup import Kind
from keras_transformer.documents.markup import Piece

__all__ = ["escape", "parse"]


def parse(text):
    """Returns the pieces of a Markdown document, and its `Value`s.

    The parser handles CommonMark with tables and strikethrough. It returns the
    lines and the text of each block; the text is then located in these lines,
    so that everything around it stays as it is.
    """
    start, fields = read_front_matter(text)
    lines = _Lines(text, start)
    environment = {}
    tokens = PARSER.parse(text[start:], environment)
    for place, token in enumerate(tokens):
        inner, values = None, []
        if token.type == "inline":
            positions = lines.find_positions(token, tokens[place - 1])
            if positions:
                inner, values = read_inline(token, environment)
        elif token.type == "html_block" and not token.level:
            positions = lines.find_block(token)
            inner, values = html_text.parse(text[positions[0] : positions[-1]])
            inner = [piece._replace(is_html=True) for piece in inner]
        if inner:
            lines.take(inner, values, positions)
    return lines.finish(), [*fields, *lines.values]


class _Lines:
    """The lines of a document, and its pieces so far."""

    def __init__(self, text, start):
        self._text = text
        self._pieces = []
        self.values = []
        self._taken = 0  # everything before it is in the pieces
        ends = [match.start() for match in re.finditer("\n", text[start:])]
        self._starts = [start, *(start + end + 1 for end in ends)]
        self._stops = [*(start + end for end in ends), len(text)]

    def find_positions(self, token, opening):
        """Returns the places of an inline token's characters and its end."""
        # `opening` is the token before it, which opens the block. The result is
        # None if the content is not in the source as it is.
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
            # Indentation that the parser keeps has no width.
            indent = len(line) - len(line.lstrip())
            trailing = len(line.lstrip()) - len(line.strip())
            inside = [start + place for place in places]
            positions += [inside[0]] * indent + inside
            # A line's last position is its line end.
            positions += [inside[-1] + n + 1 for n in range(trailing)]
        return positions

    def find_block(self, token):
        """Returns the places of a block's characters and its end."""
        first, stop = token.map
        stop = min(stop, len(self._starts)) - 1
        return range(self._starts[first], self._stops[stop] + 1)

    def take(self, inner, values, positions):
        """Appends the pieces and values of a token, and the text before it."""
        self._skip_to(positions[0])
        place = 0
        for piece in inner:
            stop = place + len(piece.raw)
            raw = self._text[positions[place] : positions[stop]]
            if piece.raw == piece.text != raw:
                # Bars in a table's cell are escaped, so each character counts.
                edges = itertools.pairwise(positions[place : stop + 1])
                self._pieces += [
                    Piece(Kind.TEXT, self._text[first:last], character)
                    for (first, last), character in zip(edges, piece.text)
                ]
            else:
                self._pieces.append(piece._replace(raw=raw))
            place = stop
        self._taken = positions[-1]
        for value in values:
            start, stop = positions[value.start], positions[value.stop]
            # Not across the signs of a quote, or with escaped bars.
            if stop - start == value.stop - value.start:
                self.values.append(value._replace(start=start, stop=stop))

    def finish(self):
        """Returns the pieces, with the rest of the text as the last one."""
        self._skip_to(len(self._text))
        return [piece for piece in self._pieces if piece.raw]

    def _skip_to(self, place):
        self._pieces.append(Piece(Kind.OUTER, self._text[self._taken : place]))


def _find_places(content, line, is_cell):
    """Returns the places of each character of `content` in a line, or None."""
    # Only the text of a table's cell differs: its bars have a backslash before.
    if is_cell:
        pattern = re.escape(content).replace(r"\|", r"\\?\|")
        match = re.search(pattern, line)
        start = match.start() if match else -1
    else:
        # At the end of the line, or before the `##` that ends a heading.
        start = line.rfind(content)
    if start < 0:
        return None
    places = []
    for character in content:
        places.append(start)
        start += 2 if line[start] != character else 1
    return [*places, start]
