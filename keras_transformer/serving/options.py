"""What a client may ask of each translation, in any protocol of REST."""

import json
import typing

from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.json_reader import encode

# A form has texts alone, and the fields that a user left empty.
_SWITCHES = {"true": True, True: True}
_SWITCHES |= {"false": False, "": False, False: False, None: False}
# What a model lacks that cannot do it.
_EXPORT = "a CTranslate2 model of this version's kt-exporter that translates"
NEEDS = {
    "alignments": _EXPORT,
    "glossary": _EXPORT,
    "quality": "an export of a run that kt-evaluate --calibrate has rated",
}


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
        terms = json.loads(value) if is_text else value or {}
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
