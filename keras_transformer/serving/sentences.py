"""The sentences of the texts in a request, and the answers to them."""

import importlib.util
import typing

from keras_transformer.documents.document import Document
from keras_transformer.errors import UserError
from keras_transformer.serving.errors import InvalidRequest


class Answer(typing.NamedTuple):
    """The translations of a text or a sentence, and what is known of them."""

    texts: list  # best first
    warnings: typing.Sequence[str] = ()
    quality: float | None = None  # of the worst sentence
    alignments: typing.Sequence = ()  # of words, or of sentences


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


def read_answer(route, sentence, row, warnings, quality, links):
    """Returns the `Answer` to a sentence; a model may lack a part of it."""
    tags = len(route.tag_word.split())
    links = [(a - tags, b) for a, b in links or () if a >= tags]
    # A text without words may have an empty translation, and stays.
    texts = [one.decode(errors="replace") or sentence for one in row]
    return Answer(texts, warnings or (), quality, links)


def join(document, answers, number):
    """Returns the `Answer` to a document from those to its sentences.

    A model that was exported with one translation has no more to offer.
    """
    pairs = [*zip(document.sentences, answers)]
    found = [one for _, one in pairs]
    available = max((len(one.texts) for one in found), default=1)
    joined = [
        document.replace_sentences(
            [one.texts[min(rank, len(one.texts) - 1)] for one in found]
        )
        for rank in range(min(number, available))
    ]
    alignments = [
        {"source": source, "translation": one.texts[0], "links": one.alignments}
        for source, one in pairs
        if one.alignments
    ]
    texts = list(dict.fromkeys(joined))
    return Answer(texts, alignments=alignments, **combine(found))


def combine(answers):
    """Returns the warnings of all, and the worst quality that is known."""
    qualities = [one.quality for one in answers if one.quality is not None]
    warnings = sorted({each for one in answers for each in one.warnings})
    return {"warnings": warnings, "quality": min(qualities, default=None)}
