"""The fields of a request, in a form or in JSON, and what they ask for."""

import email
import re
import typing
import urllib.parse

from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.json_reader import encode
from keras_transformer.serving.json_reader import read_object

MAX_FIELDS = 4096  # of a form: as many texts as may wait, and more
MAX_HEADER_CHARACTERS = 4096  # of a form, and of each of its parts
MAX_HEADER_SIGNS = 64  # semicolons and line ends there
MAX_ALTERNATIVES = 100
# A form has texts alone, and the fields that a user left empty.
_SWITCHES = {"true": True, True: True}
_SWITCHES |= {"false": False, "": False, False: False, None: False}
# What each request needs, for the error about a model that lacks it.
_OURS = "of this version's kt-exporter that translates"
NEEDS = {
    "alignments": f"a CTranslate2 model {_OURS}",
    "glossary": f"an export {_OURS} with a beam of at least 2",
    "quality": "an export of a run that kt-evaluate --calibrate has rated",
}
# Characters that may begin another piece of a document.
_SIGNS = {"html": "<&\n", "markdown": "<&\n[(*_`!$:"}


class File(typing.NamedTuple):
    """A file of a form."""

    name: str
    content: bytes


def read_fields(content_type, body):
    """Returns the fields of a form or of JSON, a dictionary.

    A file of a form is a `File`.
    """
    kind = content_type.lower()
    is_multipart = kind.startswith("multipart/form-data")
    # Many clients do not say that they send JSON.
    has_bracket = body.lstrip()[:1] in (b"{", b"[")
    if not is_multipart and (has_bracket or "json" in kind):
        return read_object(body, limits.MAX_TOOL_VALUES)
    try:
        if is_multipart:
            fields = _read_parts(content_type, body)
        else:
            fields = urllib.parse.parse_qs(
                body.decode(),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=MAX_FIELDS,
            )
    # `email` compares None with numbers in a header with "a*0=b; a*=c".
    except (TypeError, ValueError) as error:
        raise InvalidRequest(
            "The body must be a form or JSON in UTF-8. Received: other bytes "
            f"({error}). Send q, source and target."
        ) from error
    return {
        name: values[0] if len(values) == 1 else values
        for name, values in fields.items()
    }


def _read_parts(content_type, body):
    """Returns lists of the values of each field of a form with files."""
    form = _read_header(f"content-type: {content_type}")
    mark = f"\r\n--{form.get_boundary()}".encode("latin-1")
    # Not by `email`, which builds all parts before they can be counted.
    parts = (b"\r\n" + body).split(mark, MAX_FIELDS + 1)
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise ValueError(f"a form needs up to {MAX_FIELDS} parts and an end")
    fields = {}
    for part in parts[1:-1]:
        lines, _, content = part.partition(b"\r\n\r\n")
        header = _read_header(lines.decode().lstrip())
        name = header.get_param("name", header="content-disposition")
        if not isinstance(name, str):
            raise ValueError("a part has no name")
        header.set_payload(content.decode("ascii", "surrogateescape"))
        content = header.get_payload(decode=True)  # it may be in base 64
        path = header.get_filename()
        (path or "").encode()  # a `ValueError` at half a surrogate pair
        fields.setdefault(name, []).append(
            content.decode() if path is None else File(path, content)
        )
    return fields


def _read_header(lines):
    # `email` takes quadratic time for a long header or many parameters.
    num_signs = sum(map(lines.count, ";\r\n"))
    if len(lines) > MAX_HEADER_CHARACTERS or num_signs > MAX_HEADER_SIGNS:
        raise ValueError("the header of a form or of a part is too long")
    return email.message_from_string(lines)


class Options(typing.NamedTuple):
    """What a request asks for; sentences with equal options share a batch."""

    alignments: bool = False  # the links between words
    quality: bool = False  # an estimate
    glossary: tuple = ()  # pairs of a term and its translation; None keeps it


def read_options(fields):
    """Returns the `Options` in the fields of a form or of JSON."""
    return Options(
        _read_switch(fields, "alignments"),
        _read_switch(fields, "quality"),
        _read_glossary(fields.get("glossary")),
    )


def _read_switch(fields, name):
    value = fields.get(name)
    if isinstance(value, str | bool | None) and value in _SWITCHES:
        return _SWITCHES[value]
    raise InvalidRequest(
        f"`{name}` must be true or false. Received: {name}={value!r:.40}. "
        "Leave it out."
    )


def _read_glossary(value):
    maximum = limits.MAX_GLOSSARY_CHARACTERS
    try:
        is_text = isinstance(value, str) and value
        terms = read_object(value.encode()) if is_text else value or {}
        words = [one for pair in terms.items() for one in pair]
        words = [one for one in words if one is not None]
        text = "".join(words)
        if len(text) > maximum or not all(map(str.split, words)):
            raise ValueError
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise InvalidRequest(
            "`glossary` must be an object of terms and their translations, of "
            f"at most {maximum} characters. Received: glossary={value!r:.40}. "
            'Send {"car": "coche"}; null keeps a term.'
        ) from error
    encode(text)
    return tuple(sorted(terms.items()))


def read_texts(q, name="q"):
    texts = [q] if isinstance(q, str) else q
    if isinstance(texts, list) and all(isinstance(one, str) for one in texts):
        return texts
    raise InvalidRequest(
        f"`{name}` must be a text or a list of texts. Received: "
        f"{name}={q!r:.40}. Send one, such as {name}=Hello."
    )


def read_number(value):
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
