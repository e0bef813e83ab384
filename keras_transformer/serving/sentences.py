"""The sentences of the texts in a request."""

import importlib.util

from keras_transformer.documents.document import Document
from keras_transformer.errors import UserError
from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.json_reader import encode

# Characters that may begin another piece of a document.
_SIGNS = {"html": "<&\n", "markdown": "<&\n[(*_`!$:"}


class _Lines:
    """Divides a text into its lines, for which no library is needed."""

    def __init__(self, text):
        self._lines = text.splitlines(keepends=True)
        self.sentences = [one.strip() for one in self._lines if one.strip()]

    def replace_sentences(self, translations):
        translations = iter(translations)
        return "".join(
            line.replace(line.strip(), next(translations), 1)
            if line.strip()
            else line
            for line in self._lines
        )


def divide(text, format, language):
    """Returns a text whose `sentences` can be replaced by translations."""
    if format == "text" and not importlib.util.find_spec("sentencex"):
        return _Lines(text)
    try:
        return Document(text, format, language)
    except UserError as error:
        raise InvalidRequest(str(error)) from error


def check_texts(texts, format):
    """Checks that texts are UTF-8, and not too many pieces to divide."""
    for text in texts:
        encode(text)
    signs = _SIGNS.get(format, "\n")
    pieces = sum(1 + sum(map(text.count, signs)) for text in texts)
    if pieces > limits.MAX_PIECES:
        raise InvalidRequest(
            f"A request must have at most {limits.MAX_PIECES} texts, lines "
            f"and marks together. Received: {pieces}. Send several smaller "
            "requests."
        )
