"""Reading of the files that this package writes, with one form of error.

Pydantic was tried instead of `read_record`: shapes and messages took more lines
than here, errors of surrogates and of the same shape for all names lost their
place in the file, and each command started 0.2 s later.
"""

import errno
import hashlib
import itertools
import json
import os

from keras_transformer import errors
from keras_transformer.errors import UserError

MAX_BYTES = 64 * 2**20  # far more than any file has that is read as a whole
MAX_RECORD_BYTES = 8 * 2**20  # far more than any of our JSON files has
WHOLE = range(2**63)  # the shape of an integer of at least 0


def file_error(path, fault, remedy=None):
    """Returns the `UserError` about a missing, damaged or unsuitable file.

    The `fault` begins with "which" or "where". The `remedy` is a sentence.
    """
    remedy = remedy or "Restore the file from a copy."
    return UserError(f"Cannot use {path}, {fault}. {remedy}")


def read_error(path, error):
    """Returns the `UserError` about a file that an `OSError` keeps unread.

    Its content may be right, so nobody should delete it.
    """
    fault = f"which cannot be read ({error.strerror})"
    return file_error(path, fault, "Check its permissions and its disk.")


def begins_with(path, *beginnings):
    """Returns whether a file of any encoding and size begins with a text."""
    if not os.path.isfile(path):
        return False  # opening a pipe would wait for ever
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(max(map(len, beginnings))).startswith(beginnings)


def check_reachable(path):
    """Checks that each directory on the way to a path may be searched.

    It raises a PermissionError where `os.path.exists` takes a path as absent.
    """
    try:
        os.lstat(path)
    except PermissionError:
        raise
    except (OSError, ValueError):
        pass  # absent, or no path at all


def check_file(path, remedy=None):
    """Checks that a path leads to a file, since a pipe would block.

    A file that may not be read is told from one with the wrong content.
    """
    check_reachable(path)
    if os.path.isfile(path):
        if os.access(path, os.R_OK):
            return
        error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        raise read_error(path, error) from error
    fault = "which does not exist"
    if os.path.isdir(path):
        fault = "which is a directory, not a file"
    elif os.path.lexists(path):
        fault = "which is not a file"
    raise file_error(path, fault, remedy)


def check_files(directory):
    """Does the same for all files in a directory and those inside it."""
    for folder, _, names in os.walk(directory):
        for name in names:
            check_file(os.path.join(folder, name))


def read_bytes(path, remedy=None, max_bytes=MAX_BYTES):
    """Reads a whole file of limited size, or raises a `UserError`."""
    check_file(path, remedy)
    try:
        if os.path.getsize(path) > max_bytes:
            fault = f"which has more than {max_bytes:,} bytes"
            raise file_error(path, fault, remedy)
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise read_error(path, error) from error


def read_text(path, remedy=None, max_bytes=MAX_BYTES):
    """Reads a whole file of UTF-8 text; the arguments are as above."""
    content = read_bytes(path, remedy, max_bytes)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        fault = f"which is not UTF-8 text at byte {error.start}"
        raise file_error(path, fault, remedy) from error


def read_record(path, shape, remedy=None):
    """Reads a JSON file and checks that it has the expected shape.

    A shape is one of:

    - `bool`, `int`, `float` or `str`, for a value of this type. An integer is
      also a `float`. A `float` is finite, and an `int` fits into 64 bits.
    - `None`, for JSON's null.
    - a range, for an integer in it.
    - a set of strings, for one of them.
    - a tuple of shapes, for a value that has one of them.
    - a list of one shape, for a list whose items all have it, or a list of
      several shapes, for a list with one item of each.
    - `{name: shape, ...}`, for an object with these names. One that ends in
      `?` may be absent. The key `str` gives the shape of all other values.
      Without it, other names may be present and are not checked.

    A `UserError` names the first fault and the `remedy`, as for `file_error`.

    >>> import os
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "scores.json")
    >>> with open(path, "w") as file:
    ...     _ = file.write('[{"step": 7}, {"step": 8, "score": 0.5}]')
    >>> read_record(path, [{"step": int, "score?": float}])[0]
    {'step': 7}
    """
    fault, content = _parse(read_bytes(path, remedy, MAX_RECORD_BYTES))
    fault = fault or find_fault(content, shape)
    if fault:
        raise file_error(path, fault, remedy)
    return content


def _parse(content):
    """Returns a description of what is wrong with some JSON, and its value."""
    if not content.strip():
        return "which is empty", None
    try:
        return None, json.loads(content.decode())
    except UnicodeDecodeError:
        return "which is not UTF-8 text", None
    except RecursionError:
        return "which is nested too deeply", None
    except json.JSONDecodeError as error:
        return f"which is not JSON from line {error.lineno} on", None
    except ValueError:  # of an integer with thousands of digits
        return "which has a number with too many digits", None


def find_fault(value, shape, place=""):
    """Returns a clause about a fault of the value at a `place`, or None."""
    if isinstance(shape, tuple):
        faults = [find_fault(value, option, place) for option in shape]
        return faults[0] if all(faults) else None
    if isinstance(shape, list):
        return _find_list_fault(value, shape, place)
    if isinstance(shape, dict):
        return _find_object_fault(value, shape, place)
    if isinstance(shape, range):
        end = "" if shape == WHOLE else f" and at most {shape[-1]}"
        expected = f"an integer of at least {shape[0]}{end}"
        is_right = type(value) is int and value in shape
    elif isinstance(shape, set):
        expected = f"one of {', '.join(sorted(shape))}"
        is_right = type(value) is str and value in shape
    else:
        expected = errors.KINDS[shape]
        is_right = errors.is_kind(value, shape)
    return None if is_right else _not_a(value, expected, place)


def _find_list_fault(value, shape, place):
    if not isinstance(value, list):
        return _not_a(value, "a list", place)
    shapes = shape * len(value) if len(shape) == 1 else shape
    if len(value) != len(shapes):
        return _not_a(value, f"a list of {len(shapes)}", place)
    return _find_first_fault(
        (item, expected, f"{place}[{i}]")
        for i, (item, expected) in enumerate(zip(value, shapes))
    )


def _find_object_fault(value, shape, place):
    if not isinstance(value, dict):
        return _not_a(value, "an object", place)
    named = {name: shape[name] for name in shape if name is not str}
    for name in named:
        if not name.endswith("?") and name not in value:
            return f"which lacks `{f'{place}.{name}'.lstrip('.')}`"
    shapes = dict.fromkeys(value, shape[str]) if str in shape else {}
    shapes |= {name.removesuffix("?"): named[name] for name in named}
    # The names themselves are text that has to be printable.
    items = [(name, str, name) for name in value]
    items += [(value[n], shapes[n], n) for n in shapes if n in value]
    return _find_first_fault(
        (item, expected, place + "." + _shorten_json(name).strip('"'))
        for item, expected, name in items
    )


def _find_first_fault(items):
    return next(filter(None, itertools.starmap(find_fault, items)), None)


def _not_a(value, expected, place):
    name = f"`{place.lstrip('.')}`" if place else "the content"
    # Only the kind of a list or an object, which may be large or deep.
    kinds = {list: "a list", dict: "an object"}
    received = kinds.get(type(value)) or _shorten_json(value)
    return f"where {name} must be {expected} but is {received}"


def _shorten_json(value):
    """Returns JSON without line ends and other control characters."""
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:40] + "..."


def hash_record(record):
    """Returns a short hash of what JSON can hold."""
    text = json.dumps(record, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
