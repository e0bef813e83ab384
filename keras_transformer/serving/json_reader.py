"""Reads the JSON of a request, and stops where it is too much."""

import json
import re

from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest

_PART_SIZE = 2**14  # characters of numbers that are converted at a time
_MAX_SHOWN = 100  # characters of a wrong value that an error quotes
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_SIGN = re.compile(r'["[\]{]')


def read_object(body, max_values=limits.MAX_VALUES, max_numbers=None):
    """Returns the object that the bytes of a body hold, as a dictionary.

    It has at most `max_values` values on all levels together, and each list of
    numbers counts as one. Such a list has at most `max_numbers` of them.

    >>> read_object(b'{"instances": ["A dog"]}')
    {'instances': ['A dog']}
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"JSON must be UTF-8 that is not compressed. Received: {error}."
        ) from error
    try:
        value = _Decoder(max_values, max_numbers).decode(text)
    except RecursionError as error:
        raise InvalidRequest("JSON Parse error: nested too deeply.") from error
    except ValueError as error:
        raise InvalidRequest(f"JSON Parse error: {error}.") from error
    if not isinstance(value, dict):
        raise InvalidRequest(
            f"The body must be a JSON object. Received: {quote(value)}."
        )
    return value


def quote(value):
    """Returns a value for an error, or the start of it."""
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    text = json.dumps(value)
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."


def encode(text):
    """Returns the bytes of a text.

    Half a surrogate pair, "\\ud800", can be written in JSON but is not text.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "A text must be UTF-8, in which surrogates are in pairs. Received: "
            f"{text[error.start]!a} alone. Send both halves of a pair."
        ) from error


class _Decoder(json.JSONDecoder):
    """Counts the values, and reads them so that other threads run meanwhile.

    Python's usual scanner reads a whole body before any check. All other
    threads would wait, and a body of `[],[],[],` would take thirty times its
    size.
    """

    def __init__(self, max_values, max_numbers):
        super().__init__(object_pairs_hook=_make_object)
        self._num_left = self._max_values = max_values
        self._max_numbers = max_numbers
        self.parse_array = self._read_list
        self.parse_object = self._read_object
        self.scan_once = json.scanner.py_make_scanner(self)

    def _read_object(self, place, strict, scan, *options):
        return json.decoder.JSONObject(
            place, strict, self._limit(scan), *options
        )

    def _read_list(self, place, scan):
        text, begin = place
        sign = _SIGN.search(text, begin)
        if not sign or sign[0] != "]":
            return json.decoder.JSONArray(place, self._limit(scan))
        end, values = sign.start(), []
        if end - begin < _PART_SIZE:
            return _scan(text, begin - 1)
        num_commas = text.count(",", begin, end)
        if self._max_numbers and num_commas >= self._max_numbers:
            raise ValueError(
                f"a list may have at most {self._max_numbers} numbers; split "
                "the sentence"
            )
        while begin <= end:
            comma = text.find(",", begin + _PART_SIZE, end)
            stop = end if comma < 0 else comma
            try:
                values += json.loads(f"[{text[begin:stop]}]")
            except json.JSONDecodeError as error:
                place = begin + error.pos - 1
                raise json.JSONDecodeError(error.msg, text, place) from error
            begin = stop + 1
        if num_commas and len(values) <= num_commas:
            raise ValueError("a value is missing")
        return values, end + 1

    def _limit(self, scan):
        def scan_next(text, place):
            self._num_left -= 1
            if self._num_left < 0:
                raise ValueError(
                    f"it may have at most {self._max_values} lists, texts and "
                    "other values; send several smaller requests"
                )
            return scan(text, place)

        return scan_next


def _make_object(pairs):
    value = dict(pairs)
    "".join(value).encode()  # raises a `ValueError` at half a surrogate pair
    if len(value) < len(pairs):
        raise ValueError("an object must have each of its names once")
    return value
