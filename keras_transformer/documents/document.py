"""A document whose sentences can be replaced by translations."""

import bisect
import itertools
import os
import re

from keras_transformer.documents import html_text
from keras_transformer.documents import markup
from keras_transformer.documents import plain_text
from keras_transformer.documents import stand_ins
from keras_transformer.documents import subtitles
from keras_transformer.documents.placing import place_markup
from keras_transformer.errors import UserError
from keras_transformer.errors import require_package

BYTE_ORDER_MARK = "\ufeff"
FORMATS = ("text", "markdown", "html", "srt", "vtt")
SUFFIXES = {
    "markdown": "md markdown mdx qmd rmd".split(),
    "html": "html htm xhtml".split(),
    "srt": ["srt"],
    "vtt": ["vtt"],
}
# Suffixes of files that are not plain text.
OTHER_SUFFIXES = (
    "adoc arb asciidoc ass csv dfxp dita doc docbook docx ejs epub erb fb2 "
    "ipynb j2 jinja json jsonl latex lrc mediawiki odp ods odt opml org pdf "
    "php plist po pot ppt pptx properties resx rst rtf sbv smil ssa strings "
    "sub svelte svg tex textile tmpl tmx toml tsv ttml typ vue wiki xlf xliff "
    "xls xlsx xml yaml yml"
).split()


class Document:
    """A document, divided into sentences to translate and text to keep.

    Args:
        text: The document, a str, with its line ends.
        format: One of `FORMATS`. Defaults to "text".
        language: Code of the language of the document, such as "en", which
            decides where sentences end. Defaults to "en".
        attributes: Whether texts inside markup, such as the `alt` of an image
            or the description of a page, are sentences too. Defaults to True.
        normalize: Function of a str, the normalisation of the model that
            translates. Defaults to none.

    Attributes:
        sentences: List of str, the sentences without their inline markup. The
            texts inside markup come after all others.
        has_markup: List of booleans, whether a sentence has inline markup.

    Raises:
        UserError: If there is no such format, or if the library that splits
            sentences is not installed.

    Example:

        page = Document("<p>Good <b>morning</b>.</p>", "html")
        page.sentences  # ["Good morning."]
        page.replace_sentences(["Guten Morgen."])
        # "<p>Guten <b>Morgen</b>.</p>"
    """

    def __init__(
        self, text, format="text", language="en", attributes=True, normalize=str
    ):
        self._parser = get_parser(format)
        self._normalize = normalize
        mark = text[: text.startswith(BYTE_ORDER_MARK)]
        source = _Source(text.removeprefix(mark))
        hidden = stand_ins.hide(source.text, format)
        pieces, values = self._parser.parse(hidden)
        if not attributes or _VALUE.search(text):
            values = []
        values.sort(key=lambda value: value.start)
        self._values = []  # the parts of each `Value`, and how it is spelled
        for value in values:
            inner = value.parse(hidden[value.start : value.stop])
            inner = _restore(inner, source, (), value.start)
            raw = "".join(piece.raw for piece in inner)
            parts = split_sentences(inner, language)
            self._values.append((parts, value, raw))
        pieces = markup.join_atoms(_restore(pieces, source, values))
        self._parts = [mark, *split_sentences(pieces, language)]
        self.sentences, self.has_markup = [], []
        for parts in (self._parts, *(parts for parts, *_ in self._values)):
            for part in parts:
                if not isinstance(part, str):
                    self.sentences.append(markup.plain_text(part, normalize))
                    kinds = {piece.kind for piece in part}
                    self.has_markup.append(bool(kinds & markup.INLINE_MARKUP))

    def replace_sentences(self, translations, alignments=None):
        """Returns the document with its sentences replaced by translations.

        Args:
            translations: List of str, one for each sentence.
            alignments: List with an alignment or None for each sentence, see
                `place_markup`. Defaults to None.
        """
        if len(translations) != len(self.sentences):
            raise ValueError(
                "`translations` must have one entry for each sentence. "
                f"Received: {len(translations)} translations for "
                f"{len(self.sentences)} sentences. Pass one for each sentence."
            )
        alignments = alignments or [None] * len(self.sentences)
        pairs = zip(translations, alignments, strict=True)
        text = self._join(self._parts, pairs)
        values = {}  # by their stand-ins
        for number, (parts, value, raw) in enumerate(self._values):
            spelling = self._join(parts, pairs, value)
            spelling = raw if spelling == raw else value.finish(spelling)
            values[f"\ufdd0{number}\ufdd1"] = spelling
        return _VALUE.sub(lambda match: values.get(match[0], match[0]), text)

    translated = replace_sentences  # the name before version 0.2

    def _join(self, parts, pairs, value=None):
        text = ""
        for part in parts:
            if not isinstance(part, str):
                escape = (value or self._parser).escape
                if any(piece.is_html for piece in part):
                    escape = html_text.escape
                part = place_markup(part, *next(pairs), escape, self._normalize)
            text += part
        return text


# Stands for a value in the markup around it: characters that Unicode will never
# assign, and the number of the value.
_VALUE = re.compile("\ufdd0\\d+\ufdd1")


class _Source:
    """A text with "\\n" as its line ends, and the original of each part."""

    def __init__(self, original):
        self._original = original
        self.text = re.sub(r"\r\n?", "\n", original)
        ends = re.finditer("\r\n", original)
        # The places in `text` that were two characters.
        self._ends = [end.start() - n for n, end in enumerate(ends)]

    def cut(self, start, stop):
        """Returns the original of `text[start:stop]`."""
        start += bisect.bisect_left(self._ends, start)
        stop += bisect.bisect_left(self._ends, stop)
        return self._original[start:stop]


def _restore(pieces, source, values=(), place=0):
    """Returns pieces with the characters of the source, and without values."""
    # The values are in the order of the text.
    restored, number = [], 0
    ends_line = False  # the rest of a line such as "[!NOTE] Title" is a block
    for piece in pieces:
        stop = place + len(piece.raw)
        raw, start = "", place
        while number < len(values) and values[number].stop <= stop:
            value = values[number]
            if value.start >= start and piece.kind != markup.Kind.TEXT:
                raw += source.cut(start, value.start) + f"\ufdd0{number}\ufdd1"
                start = value.stop
            number += 1
        raw += source.cut(start, stop)
        kind = piece.kind
        if kind == markup.Kind.BREAK and ends_line:
            kind, ends_line = markup.Kind.OUTER, False
        elif kind == markup.Kind.OUTER:
            ends_line = raw.startswith("[!")
        text = raw if piece.text == piece.raw else piece.text
        restored.append(piece._replace(kind=kind, raw=raw, text=text))
        place = stop
    return restored


def guess_format(path):
    """Returns the format that the name of a file stands for.

    Raises a `UserError` if it stands for one that is not read.
    """
    suffix = os.path.splitext(path or "")[1].lower().removeprefix(".")
    if suffix in OTHER_SUFFIXES:
        raise UserError(
            f"The format of a document must be one of {', '.join(FORMATS)}. "
            f"Received: {path}. Convert it first, for example by pandoc to "
            ".md, by asciidoctor to .html or by ffmpeg to .srt, or name a "
            "format by --document_format."
        )
    return next(
        (name for name, suffixes in SUFFIXES.items() if suffix in suffixes),
        "text",
    )


def get_parser(format):
    """Returns the module that parses and spells a format, one of `FORMATS`."""
    if format not in FORMATS:
        raise UserError(
            f"The format of a document must be one of {', '.join(FORMATS)}. "
            f"Received: {format!r}. Choose one of them."
        )
    if format == "markdown":
        name = "markdown-it-py"
        require_package("markdown_it", f"Documents need {name}, which", name)
        # Imported here because it is an optional dependency.
        from keras_transformer.documents import markdown_text

        return markdown_text
    parsers = {"text": plain_text, "html": html_text}
    return parsers.get(format, subtitles)


_LANGUAGE = re.compile("[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")
_STAND_IN = "\ufffc"  # for pieces without text, while sentences are split


def split_sentences(pieces, language):
    """Returns the sentences, lists of `Piece`, and the str between them.

    A sentence begins and ends with text. Markup around all of its words, or
    around none of them, stays between the sentences. Text without a letter is
    not a sentence. A language that the library does not know gets English
    rules.
    """
    segment = make_segmenter(language)
    parts, block = [], []
    for piece in pieces:
        if piece.kind == markup.Kind.OUTER:
            parts += _split_block(block, segment)
            parts.append(piece.raw)
            block = []
        else:
            block.append(piece)
    return parts + _split_block(block, segment)


def make_segmenter(language):
    """Returns a function that divides a line into a list of sentences."""
    if not _LANGUAGE.fullmatch(language):
        raise UserError(
            "The language of a document must be a code of two or three "
            f"letters. Received: {language!r}. Write for example en or pt-BR."
        )
    # The library knows no regions.
    language = re.split("[-_]", language.lower())[0]
    name = "sentencex"
    require_package(name, f"Documents need {name}, which", name)
    # Imported here because it is an optional dependency.
    import sentencex

    def segment(text):
        # The library panics at a wide space before a full stop.
        narrow = re.sub(r"\s(?=\.)", " ", text)
        sizes = map(len, sentencex.segment(language, narrow))
        stops = itertools.accumulate(sizes, initial=0)
        return [text[i:j] for i, j in itertools.pairwise(stops)]

    return segment


def _split_block(pieces, segment):
    """Returns the sentences of a block, and the text between them."""
    if not any(c.isalpha() for piece in pieces for c in piece.text):
        return [piece.raw for piece in pieces]
    parts = []
    # The library sees text in which a line end is a space and markup is one
    # character. The lengths of its sentences then divide the pieces.
    text = "".join(map(_show, pieces))
    sizes = [len(sentence) for sentence in segment(text)]
    for sentence in _cut(pieces, sizes):
        before, inside, after = _trim(sentence)
        if any(c.isalpha() for piece in inside for c in piece.text):
            parts += [*before, inside, *after]
        else:
            parts += [piece.raw for piece in sentence]
    return parts


def _show(piece):
    stand_ins = {markup.Kind.BREAK: " ", markup.Kind.ATOM: _STAND_IN}
    return piece.text or stand_ins.get(piece.kind, "")


def _cut(pieces, sizes):
    """Divides pieces into lists whose plain texts have the given sizes."""
    lists = []
    number, start = 0, 0  # the next piece, and the place in its text
    for left in sizes:
        part = []
        while number < len(pieces) and (
            left > 0 or pieces[number].kind == markup.Kind.CLOSE
        ):
            piece = pieces[number]
            size = len(_show(piece))
            stop = size
            if size - start > left and piece.raw == piece.text:
                stop = start + left
            part.append(
                piece if stop - start == size else _slice(piece, start, stop)
            )
            left -= stop - start
            number, start = (number, stop) if stop < size else (number + 1, 0)
        lists.append(part)
    rest = list(pieces[number:])
    if start:
        rest[0] = _slice(rest[0], start, None)
    return [*lists, rest]


def _slice(piece, start, stop):
    return piece._replace(
        raw=piece.raw[start:stop], text=piece.text[start:stop]
    )


def _trim(pieces):
    """Divides pieces into raw texts, a sentence without edges, raw texts."""
    pieces = [part for piece in pieces for part in _split_off_space(piece)]
    partners = markup.pair_tags(pieces)
    start, stop = 0, len(pieces)
    while start < stop:
        last = pieces[stop - 1]
        if partners.get(start) == stop - 1 and not last.new:
            start, stop = start + 1, stop - 1
        elif _is_edge(pieces, start, partners):
            start = max(start, partners.get(start, start)) + 1
        elif _is_edge(pieces, stop - 1, partners):
            stop = min(stop - 1, partners.get(stop - 1, stop - 1))
        else:
            break
    raws = [piece.raw for piece in pieces]
    return raws[:start], pieces[start:stop], raws[stop:]


def _is_edge(pieces, place, partners):
    """Returns whether a piece is markup around no word, or white space."""
    start, stop = sorted((place, partners.get(place, place)))
    # An icon such as <i class="star"></i> is a pair of tags around nothing.
    return not any(pieces[n].text.strip() for n in range(start, stop + 1))


def _split_off_space(piece):
    """Divides text into the white space at its ends, and the rest."""
    if piece.raw != piece.text:
        return [piece]
    parts = re.findall(r"\S(?:.*\S)?|\s+", piece.text, re.DOTALL)
    return [piece._replace(raw=part, text=part) for part in parts]
