"""Reads JSON one value at a time, so that a reader can stop at any value.

`json.loads` would read a whole body before any check. All other threads would
wait, and a body of `[],[],[],` would take thirty times its size.
"""

import base64
import itertools
import json
import re

from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest

PART_SIZE = 2**14  # characters, or values, that are converted at a time
REPEATED_NAME = "'signature_name' must be given once, without escapes."
MAX_SHOWN = 100  # characters of a wrong value that an error quotes
_SPACE = re.compile(r"[ \t\n\r]*")
_BRACKETS = re.compile(r"(?:\[[ \t\n\r]*)*")
_NO_NUMBER = re.compile(r'["\[{]')
# TF Serving's notation for binary values.
_BASE64 = re.compile(r'\{[ \t\n\r]*"b64"[ \t\n\r]*:[ \t\n\r]*(?=")')
_SIGNATURE_NAME = re.compile(r'"signature_name"[ \t\n\r]*:[ \t\n\r]*')
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class JsonReader:
    """A text of JSON and the position of the next character in it."""

    def __init__(self, text):
        self.text = text
        self.position = 0

    def peek(self):
        """Skips white space; returns the next character, "" at the end."""
        self.position = _SPACE.match(self.text, self.position).end()
        return self.text[self.position : self.position + 1]

    def take(self, characters):
        """Returns the next character, which must be one of these."""
        character = self.peek()
        if not character or character not in characters:
            raise self.make_error(f"{' or '.join(characters)} is missing")
        self.position += 1
        return character

    def read_items(self, brackets):
        """Yields before each item of a list or an object."""
        self.take(brackets[0])
        if self.peek() == brackets[1]:
            self.position += 1
            return
        yield
        while self.take("," + brackets[1]) == ",":
            yield

    def read_keys(self):
        """Yields each key of an object, before its value."""
        for _ in self.read_items("{}"):
            yield self.read_key()

    def read_key(self):
        """Reads a key of an object and the colon after it."""
        if self.peek() != '"':
            raise self.make_error("a name is missing")
        key = self.read_scalar()
        encode(key)
        self.take(":")
        return key

    def is_at_names(self):
        """Returns whether the next value is an object, but not binary."""
        is_object = self.peek() == "{"
        return is_object and not _BASE64.match(self.text, self.position)

    def count_brackets(self):
        """Returns the number of nested lists that begin here."""
        self.peek()
        return _BRACKETS.match(self.text, self.position)[0].count("[")

    def read_scalar(self):
        """Reads a text, a number or a literal.

        Returns None at a list or an object, and reads nothing of it.
        """
        if self.peek() in ("[", "{"):
            return None
        value, self.position = self._scan(self.text, self.position)
        return value

    def read_base64(self):
        """Reads a binary value, `{"b64": ...}`.

        Returns None at any other value, and reads nothing of it.
        """
        match = _BASE64.match(self.text, self.position)
        if not match:
            return None
        shown = self.quote()
        self.position = match.end()
        value = self.read_scalar()
        self.take("}")
        try:
            return base64.b64decode(value, validate=True)
        except ValueError as error:
            raise InvalidRequest(f"JSON Value: {shown}: {error}.") from error

    def read_numbers(self):
        """Yields the values of a list of numbers or literals, in parts.

        Other threads run between the parts, which have a few thousand values.
        """
        self.take("[")
        end = self.text.find("]", self.position)
        nested = _NO_NUMBER.search(self.text, self.position, max(end, 0))
        if end < 0:
            raise self.make_error("] is missing")
        if nested:
            self.position = nested.start()
            yield None
        if self.peek() != "]":
            while self.position <= end:
                comma = self.text.find(",", self.position + PART_SIZE, end)
                stop = end if comma < 0 else comma
                part = self.text[self.position : stop]
                values = self._scan(f"[{part}]", 0)[0]
                if not values:
                    raise self.make_error("a value is missing")
                yield values
                self.position = stop + 1
        self.position = end + 1

    def read_small(self, key):
        """Returns any value, such as one that the server does not use."""
        self.peek()
        end = self.position + limits.MAX_BYTES_WITHOUT_THREAD
        part = self.text[self.position : end]
        try:
            value, size = self._scan(part, 0)
        except InvalidRequest:
            if end >= len(self.text):
                raise
            raise InvalidRequest(
                "A value beside the inputs must be JSON of at most "
                f"{limits.MAX_BYTES_WITHOUT_THREAD} bytes. Received: a longer "
                f"value of {key!r}. Shorten it."
            ) from None
        self.position += size
        return value

    def quote(self):
        """Returns the next value for an error, or its start if it is long."""
        self.peek()
        text = self.text[self.position : self.position + MAX_SHOWN]
        try:
            return text[: _scan(text, 0)[1]]
        except (StopIteration, ValueError, RecursionError):
            is_all = self.position + MAX_SHOWN >= len(self.text)
            return text if is_all else text + "..."

    def make_error(self, reason):
        return InvalidRequest(
            f"JSON Parse error: {reason} at character {self.position}."
        )

    def _scan(self, text, position):
        try:
            return _scan(text, position)
        except StopIteration as error:
            raise self.make_error("a value is missing") from error
        except json.JSONDecodeError as error:
            raise self.make_error(error.msg) from error
        except ValueError as error:  # a number of thousands of digits
            raise self.make_error(error) from error
        except RecursionError as error:  # a few thousand brackets are enough
            raise self.make_error("nested too deeply") from error


def find_signature_name(text):
    """Returns the name of the signature, "" if the body does not have one.

    It may follow the values, which are not read to find it. A quotation mark
    within a text has a backslash, so that no text can look like this key.
    """
    # Finding the key is ten times as fast as searching for the pattern.
    start = text.find('"signature_name"')
    if start < 0:
        return ""
    matches = _SIGNATURE_NAME.finditer(text, start)
    places = [match.end() for match in itertools.islice(matches, 2)]
    if len(places) > 1:
        raise InvalidRequest(REPEATED_NAME)
    reader = JsonReader(text)
    if reader.peek() != "{":
        return ""
    for key in reader.read_keys():
        if key == "signature_name":
            return _read_signature_name(reader)
        if key in ("inputs", "instances"):
            break
        reader.read_small(key)
    # Another object may have this key, and does not end where the body does.
    if not places or places[0] < reader.position:
        return ""
    reader.position = places[0]
    name = _read_signature_name(reader)
    while reader.take(",}") == ",":
        reader.read_small(reader.read_key())
    return "" if reader.peek() else name


def _read_signature_name(reader):
    if reader.peek() != '"':
        raise InvalidRequest(
            f"'signature_name' must be a string: {reader.quote()}."
        )
    name = reader.read_scalar()
    encode(name)
    return name


def decode(body):
    """Returns the text of the bytes of a body."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"JSON must be UTF-8 that is not compressed. Received: {error}."
        ) from error


def encode(text):
    """Returns the bytes of a text.

    Half a surrogate pair, "\\ud800", can be written in JSON but is not text.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "JSON Parse error: surrogates, \\ud800 to \\udfff, must be in "
            "pairs. Received: one alone."
        ) from error
