"""Subtitles in the formats SubRip (.srt) and WebVTT (.vtt) as pieces."""

import re

from keras_transformer.documents import html_text
from keras_transformer.documents import markup
from keras_transformer.documents.plain_text import escape
from keras_transformer.errors import UserError

__all__ = ["escape", "parse"]

_TIME = r"(?:\d+:)?\d+:\d+[.,]\d+"
_TIMES = re.compile(
    rf"^(?:\d+[ \t]*\n)?[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}.*$", re.MULTILINE
)
# Tags, such as <v Ann> or <00:01.000>, and {\an8}, a position of SubRip. A
# blank line separates sentences, and so does the dash of a dialogue.
_MARKUP = (
    r"</?[A-Za-z][^<>\n]*>|<\d[^<>\n]*>|\{\\[^{}\n]*\}"
    r"|\n[ \t]*(?=\n|\Z)|(?:\n|(?<=[}>]))[ \t]*[-\u2013\u2014](?=[ \t]*\S)"
)
_TAG = re.compile("<(/?)([A-Za-z]+)")


def parse(text):
    """Returns the pieces of subtitles, and no `Value`.

    The lines of a subtitle are a block, so a sentence can go over them. What is
    outside of subtitles stays: names, styles and notes.
    """
    is_webvtt = text.startswith("WEBVTT")
    times = list(_TIMES.finditer(text))
    if not times and not is_webvtt and text.strip():
        raise UserError(
            "Subtitles must have lines such as 00:00:01,000 --> 00:00:02,500. "
            f"Received: a document without one, {text[:20]!r}... Name its "
            "format, such as text."
        )
    # Only WebVTT has character references, and ends a text at a blank line.
    pattern = f"({_MARKUP}|{html_text.ENTITY.pattern if is_webvtt else '(?!)'})"
    pieces, done = [], 0
    for match, following in zip(times, [*times[1:], None]):
        start, stop = match.end(), following.start() if following else len(text)
        if is_webvtt and (blank := text.find("\n\n", start, stop)) >= 0:
            stop = blank
        pieces.append(markup.Piece(markup.Kind.OUTER, text[done:start]))
        inner = markup.split_pieces(pattern, _read_markup, text[start:stop])
        pieces += [piece._replace(is_html=is_webvtt) for piece in inner]
        done = stop
    pieces.append(markup.Piece(markup.Kind.OUTER, text[done:]))
    return [piece for piece in pieces if piece.raw], []


def _read_markup(raw):
    tag = _TAG.match(raw)
    if raw[0] == "&":
        return html_text.read_reference(raw)
    if raw[0] not in "<{" or (tag and tag[2] == "v"):
        return markup.Piece(markup.Kind.OUTER, raw)
    if not tag:
        return markup.Piece(markup.Kind.ATOM, raw)
    kind = markup.Kind.CLOSE if tag[1] else markup.Kind.OPEN
    return markup.Piece(kind, raw, name=tag[2].lower())
