"""A document whose sentences can be replaced by translations."""

import os

from keras_transformer.documents import html_text
from keras_transformer.documents import markup
from keras_transformer.documents import plain_text
from keras_transformer.documents import sentences
from keras_transformer.documents.markup import INLINE_MARKUP
from keras_transformer.documents.placing import place_markup
from keras_transformer.errors import UserError

BYTE_ORDER_MARK = "\ufeff"
FORMATS = ("text", "markdown", "html")
SUFFIXES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
}


class Document:
    """A document as sentences to translate, and all the rest to keep.

    Args:
        text: The document, a str, with its own line ends.
        format: One of `FORMATS`. Defaults to "text".
        language: Code of the language of the document, such as "en", which
            decides where sentences end. Defaults to "en".

    Attributes:
        sentences: List of str, the sentences without their inline markup.
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

    def __init__(self, text, format="text", language="en"):
        self._parser = get_parser(format)
        mark = text[: text.startswith(BYTE_ORDER_MARK)]
        pieces = self._parser.parse(text.removeprefix(mark))
        parts = sentences.split_sentences(pieces, language)
        self._parts = [mark, *parts]
        sentence_parts = [p for p in self._parts if not isinstance(p, str)]
        self.sentences = [
            markup.plain_text(each.pieces) for each in sentence_parts
        ]
        self.has_markup = [
            any(piece.kind in INLINE_MARKUP for piece in each.pieces)
            for each in sentence_parts
        ]

    def replace_sentences(self, translations, alignments=None):
        """Returns the document with translations in place of its sentences.

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
        result = [
            part
            if isinstance(part, str)
            else place_markup(part.pieces, *next(pairs), self._escape(part))
            for part in self._parts
        ]
        return "".join(result)

    def _escape(self, sentence):
        if any(piece.is_html for piece in sentence.pieces):
            return html_text.escape
        return self._parser.escape


def guess_format(path):
    """Returns the format that the name of a file stands for."""
    suffix = os.path.splitext(path or "")[1].lower()
    return SUFFIXES.get(suffix, "text")


def get_parser(format):
    """Returns the module that parses and spells a format, one of `FORMATS`."""
    if format not in FORMATS:
        raise UserError(
            f"The format of a document must be one of {', '.join(FORMATS)}. "
            f"Received: {format!r}. Choose one of them."
        )
    if format == "markdown":
        sentences.check_package("markdown_it", "markdown-it-py")
        # Imported here because it is an optional dependency.
        from keras_transformer.documents import markdown_text

        return markdown_text
    return {"text": plain_text, "html": html_text}[format]
