"""Translates whole texts between the languages of a server's models.

The protocols of translation tools share it.
"""

import importlib.util
import re
import threading
import typing

import numpy as np

from keras_transformer.data.memory.fitting import recall
from keras_transformer.documents.document import Document
from keras_transformer.errors import UserError
from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import Options

# Chinese of these places is written in other characters than zh.
_TRADITIONAL = re.compile("zh-(hant|tw|hk|mo)")
_OUTPUTS = ("translations", "warnings", "quality", "alignments")


class Pairs:
    """Finds models that translate from one language to another.

    `routes` have the name of a model for each pair, (source, target). A pair
    without a model goes over a third language, the pivot, if there are models
    for both halves.
    """

    def __init__(self, routes):
        self._routes = routes
        self.languages = list(
            dict.fromkeys(code for pair in routes for code in pair)
        )
        self.sources = list(dict.fromkeys(source for source, _ in routes))
        self.targets = {
            source: [
                target for target in self.languages if self.find(source, target)
            ]
            for source in self.languages
        }

    def find(self, source, target):
        """Returns the languages from source to target, or None."""
        if (source, target) in self._routes:
            return source, target
        for pivot in self.languages:
            halves = {(source, pivot), (pivot, target)}
            if source != target and halves <= self._routes.keys():
                return source, pivot, target
        return None

    def list_sources(self, target):
        """Returns the languages from which there is a way to a target."""
        return [one for one in self.targets if target in self.targets[one]]

    def list_steps(self, languages):
        """Returns model and target from each language to the next one."""
        pairs = zip(languages, languages[1:])
        return [(self._routes[pair], pair[1]) for pair in pairs]

    def match(self, side, code, codes):
        """Returns which of the codes a client means by its code.

        A region that is not among the codes does not matter, so that es_MX is
        es.
        """
        if isinstance(code, str):
            spelled = code.replace("_", "-").lower()
            known = {one.replace("_", "-").lower(): one for one in codes}
            base = spelled.partition("-")[0]
            if _TRADITIONAL.match(spelled):
                base = None
            if found := known.get(spelled) or known.get(base):
                return found
        names = f"{', '.join(codes[:-1])} or {codes[-1]}"
        raise InvalidRequest(
            f"`{side}` must be {names if codes[:-1] else codes[0]}. Received: "
            f"{side}={code!r:.40}. GET /languages lists the pairs of this "
            "server."
        )


class Answer(typing.NamedTuple):
    """The translations of a text or a sentence, and what is known of them."""

    texts: list  # best first
    warnings: typing.Sequence[str] = ()
    quality: float | None = None  # of the worst sentence
    alignments: typing.Sequence = ()  # of words, or of sentences


class TextTranslator:
    """Translates texts of many sentences with the models of a `Service`.

    `pairs` are the `Pairs` of the service, and `memories` the
    `TranslationMemory` of some pairs of codes; their corrections come first.
    """

    def __init__(self, service, pairs, memories=None):
        self._service = service
        self.pairs = pairs
        self.memories = memories or {}
        self._dividing = threading.Semaphore(limits.MAX_DIVIDED_AT_ONCE)

    def translate(self, texts, format, languages, number=1, options=Options()):
        """Translates texts from language to language.

        Returns an `Answer` to each text, with up to `number` translations.
        """
        steps = self.pairs.list_steps(languages)
        if any(options) and len(steps) > 1:
            raise InvalidRequest(
                "`alignments`, `quality` and `glossary` need a model of both "
                f"languages. Received: {' to '.join(languages)}, by "
                f"{len(steps)} models. Leave them out."
            )
        monitor = self._service.monitor
        with monitor.take_turn(self._dividing), monitor.measure("read"):
            documents = [divide(text, format, languages[0]) for text in texts]
            sentences = [one for each in documents for one in each.sentences]
        answers = [Answer([sentence]) for sentence in sentences]
        for step in steps:
            halves = self._translate_sentences(*step, answers, options)
            answers = [
                half._replace(**_combine([answer, half]))
                for answer, half in zip(answers, halves)
            ]
        with monitor.take_turn(self._dividing), monitor.measure("write"):
            if memory := self.memories.get((languages[0], languages[-1])):
                pairs = zip(sentences, answers)
                answers = [_correct(memory, *pair) for pair in pairs]
            left = iter(answers)
            return [_join(document, left, number) for document in documents]

    def _translate_sentences(self, model_name, target, answers, options):
        """Translates the best texts of answers by a model, some at a time.

        So a long document leaves room in the queue for other requests.
        """
        _, model = self._service.find(model_name)
        name, _ = self._service.find_signature(model, None)
        size = self._service.max_rows // 4
        # One model may translate into many languages.
        tag = model.find_tag(target)
        num_tags = len(tag.split())
        results = []
        for start in range(0, len(answers), size):
            sentences = [one.texts[0] for one in answers[start : start + size]]
            texts = [(tag + one).encode() for one in sentences]
            arrays = {"text": np.array(texts, object)}
            outputs = self._service.submit(model, name, arrays, options).wait()
            nothing = [None] * len(sentences)
            columns = [outputs.get(one, nothing) for one in _OUTPUTS]
            rows = zip(sentences, *columns)
            for sentence, row, warnings, quality, links in rows:
                best, *others = (one.decode(errors="replace") for one in row)
                # A text without words may have an empty translation, and stays.
                # So are the places of alternatives that do not exist.
                texts = [best or sentence, *filter(None, others)]
                links = [(a - num_tags, b) for a, b in links or ()]
                links = [link for link in links if link[0] >= 0]
                results.append(Answer(texts, warnings or (), quality, links))
        return results


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


def _correct(memory, sentence, answer):
    """Returns an answer that begins with the correction of its sentence."""
    try:
        recalled = recall(memory, sentence, answer.texts[0])
    except UserError as error:  # such as a file that another program locks
        raise RequestError("UNAVAILABLE", str(error)) from error
    if not recalled:
        return answer
    others = [each for each in answer.texts if each != recalled.target]
    # A correction has no quality, warnings or alignments.
    return Answer([recalled.target, *others][: len(answer.texts)])


def _join(document, answers, number):
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
    return Answer(texts, alignments=alignments, **_combine(found))


def _combine(answers):
    """Returns the warnings of all, and the worst quality that is known."""
    qualities = [one.quality for one in answers if one.quality is not None]
    warnings = sorted({each for one in answers for each in one.warnings})
    return {"warnings": warnings, "quality": min(qualities, default=None)}
