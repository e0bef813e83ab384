"""LibreTranslate's REST interface, which translation tools speak.

It has one pair of languages, and shares models, batches and limits with TF
Serving's interface. https://docs.libretranslate.com states the protocol.
"""

import email
import importlib.util
import itertools
import json
import re
import typing
import urllib.parse

import numpy as np

from keras_transformer.documents.document import Document
from keras_transformer.scoring.alarms import find_alarms
from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.signature import check_axis

TRANSLATE = "/translate"
PATHS = (TRANSLATE, "/languages", "/frontend/settings", "/detect")
MAX_ALTERNATIVES = 100
MAX_FIELDS = 4096  # of a form: as many texts as may wait, and more
_FORMATS = ("text", "html")
# Chinese of these places is written in other characters than that of zh.
_TRADITIONAL = re.compile("zh-(hant|tw|hk|mo)", re.IGNORECASE)


class File(typing.NamedTuple):
    """A file of a form."""

    name: str
    content: bytes


class LibreTranslate:
    """Answers requests of LibreTranslate's protocol with a `Service`.

    `languages` are the codes of source and target, such as ("en", "de").
    """

    def __init__(self, service, languages, needs_key=False):
        self._service = service
        self._needs_key = needs_key
        self.source, self.target = languages

    def describe(self, path):
        """Returns the response to a request that needs no model."""
        if path == "/detect":
            raise RequestError(
                "UNIMPLEMENTED",
                "/detect needs a detector of languages, which this server "
                f"lacks. It translates from {self.source}. Leave it out.",
            )
        if path == "/frontend/settings":
            return {
                "apiKeys": self._needs_key,
                "charLimit": -1,
                "frontendTimeout": 500,
                "keyRequired": self._needs_key,
                "language": {
                    "source": {"code": self.source, "name": self.source},
                    "target": {"code": self.target, "name": self.target},
                },
                "suggestions": False,
                "supportedFilesFormat": [],
            }
        codes = dict.fromkeys((self.source, self.target))
        return [
            {
                "code": code,
                "name": code,
                "targets": [self.target] if code == self.source else [],
            }
            for code in codes
        ]

    def read_translate(self, content_type, body):
        """Reads POST /translate, as `RestApp` asks.

        Texts are divided into sentences, and keep what is between them.
        """
        request = read_fields(content_type, body)
        texts = self._check(request)
        number = _read_number(request.get("alternatives"))
        format = request.get("format") or "text"

        def finish(documents, rows):
            results = [
                _join(*pair, 1 + number) for pair in zip(documents, rows)
            ]
            warnings = [
                _find_warnings(document.sentences, own)
                for document, own in zip(documents, rows)
            ]
            self._service.monitor.count_alarms(warnings)
            return _format(results, warnings, request)

        return self.submit(texts, format, finish)

    def submit(self, texts, format, finish):
        """Submits texts to the model, as `RestApp` asks.

        `finish` makes the response from the documents of the texts, and from a
        list of rows for each, the translations of its sentences.
        """
        signs = "<&\n" if format == "html" else "\n"
        pieces = sum(1 + sum(map(text.count, signs)) for text in texts)
        if pieces > limits.MAX_PIECES:
            raise InvalidRequest(
                f"A request must have at most {limits.MAX_PIECES} texts, lines "
                f"and marks together. Received: {pieces}. Send several smaller "
                "requests."
            )
        for text in texts:
            check_utf_8(text)
        documents = [_divide(text, format, self.source) for text in texts]
        sentences = [one for each in documents for one in each.sentences]
        _, model = self._service.find(self._service.model_name)
        name, _ = self._service.find_signature(model, None)
        encoded = [one.encode() for one in sentences or [""]]
        signature = model.signatures[name]
        sizes = self._service.get_max_sizes(model, signature)
        check_axis("text", 0, len(encoded), sizes)
        arrays = {"text": np.array(encoded, object)}

        def write(outputs):
            rows = [
                [one.decode(errors="replace") for one in row]
                for row in outputs["translations"]
            ]
            rows = iter(rows)
            counts = [len(document.sentences) for document in documents]
            return finish(
                documents,
                [list(itertools.islice(rows, count)) for count in counts],
            )

        return self._service.submit(model, name, arrays), write

    def _check(self, request):
        """Returns the texts of a request, whose languages must be ours."""
        for side, codes in (
            ("source", (self.source, "auto")),
            ("target", (self.target,)),
        ):
            if not match_code(request.get(side), codes):
                raise InvalidRequest(
                    f"`{side}` must be {' or '.join(codes)}. Received: "
                    f"{side}={request.get(side)!r:.40}. This server translates "
                    f"from {self.source} to {self.target}."
                )
        if (request.get("format") or "text") not in _FORMATS:
            raise InvalidRequest(
                "`format` must be text or html. Received: "
                f"format={request['format']!r:.40}. Use text."
            )
        q = request.get("q")
        texts = [q] if isinstance(q, str) else q
        if not isinstance(texts, list) or not all(
            isinstance(text, str) for text in texts
        ):
            raise InvalidRequest(
                "`q` must be a text or a list of texts. Received: "
                f"q={q!r:.40}. Send one, such as q=Hello."
            )
        return texts


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
    if format == "html" or importlib.util.find_spec("sentencex"):
        return Document(text, format, language)
    return _Lines(text)


def read_fields(content_type, body):
    """Returns the fields of a form or of JSON, a dictionary.

    A file of a form is a `File`.
    """
    try:
        if content_type.lower().startswith("multipart/form-data"):
            return _read_parts(content_type, body)
        text = bytes(body).decode()
        # Many clients do not say that they send JSON.
        if text.lstrip()[:1] not in ("{", "[") and (
            "json" not in content_type.lower()
        ):
            fields = urllib.parse.parse_qs(
                text,
                keep_blank_values=True,
                errors="strict",
                max_num_fields=MAX_FIELDS,
            )
            return _join_repeated(fields)
        request = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(
            "The body must be a form or JSON in UTF-8. Received: other bytes "
            f"({error}). Send q, source and target."
        ) from error
    if not isinstance(request, dict):
        raise InvalidRequest(
            "The body must be an object. Received: "
            f"{text[:40]!r}. Send q, source and target."
        )
    return request


def read_key(content_type, body):
    """Returns the key in the body of a request, or None."""
    return read_fields(content_type, body).get("api_key")


def _read_parts(content_type, body):
    """Returns the fields of a form with files."""
    # The type is a header of the message that the form is.
    header = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    form = email.message_from_bytes(header + body)
    parts = form.get_payload()
    if not form.is_multipart() or len(parts) > MAX_FIELDS:
        raise ValueError(f"a form needs up to {MAX_FIELDS} parts")
    fields = {}
    for part in parts:
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True) or b""
        path = part.get_filename()
        fields.setdefault(name, []).append(
            content.decode() if path is None else File(path, content)
        )
    return _join_repeated(fields)


def _join_repeated(fields):
    return {
        name: values[0] if len(values) == 1 else values
        for name, values in fields.items()
    }


def check_utf_8(text):
    """Raises an error if JSON held half of a pair of surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "A text must be UTF-8. Received: the surrogate "
            f"{text[error.start]!a}. Send both halves of a pair."
        ) from error


def match_code(code, codes):
    """Returns the one of some codes that a client means, or None.

    >>> match_code("es_MX", ["en", "es"])
    'es'
    """
    if not isinstance(code, str):
        return None
    code = code.replace("_", "-").lower()
    by_code = {one.replace("_", "-").lower(): one for one in codes}
    base = None if _TRADITIONAL.match(code) else code.partition("-")[0]
    return by_code.get(code) or by_code.get(base)


def _read_number(value):
    # Browsers send what was left empty.
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


def _format(results, warnings, request):
    """Returns the body of a response, of lists if `q` was a list."""
    best = [texts[0] for texts in results]
    others = [texts[1:] for texts in results]
    is_one = isinstance(request["q"], str)
    response = {"translatedText": best[0] if is_one else best}
    if "alternatives" in request:
        response["alternatives"] = others[0] if is_one else others
    if any(warnings):
        response["warnings"] = warnings[0] if is_one else warnings
    return json.dumps(response, ensure_ascii=False).encode()
