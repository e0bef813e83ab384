"""Checked reading of the JSON files that this package writes."""

import json
import math
import re

from keras_transformer.files.reading import file_error
from keras_transformer.files.reading import read_bytes

MAX_BYTES = 8 * 2**20  # far more than any of our JSON files has
WHOLE = range(2**63)  # the shape of an integer of at least 0

_KINDS = {bool: "true or false", int: "an integer", float: "a finite number"}
_KINDS |= {str: "text", None: "null"}


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

    Args:
        path: Path of the file.
        shape: The shape of its content.
        remedy: Sentence that says what the user can do about a faulty file.
            Defaults to one that asks to restore the file.

    Returns:
        The content, as `json.loads` returns it.

    Raises:
        UserError: If the file cannot be read as JSON of this shape. The
            message names the place of the first fault.

    Example:

    >>> import os
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "scores.json")
    >>> with open(path, "w") as file:
    ...     _ = file.write('[{"step": 7}, {"step": 8, "score": 0.5}]')
    >>> read_record(path, [{"step": int, "score?": float}])[0]
    {'step': 7}
    """
    fault, content = _parse(read_bytes(path, remedy, MAX_BYTES))
    fault = fault or _fault(content, shape, "")
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
        return "which holds too long a number", None


def _fault(value, shape, place):
    """Returns what is wrong with a value, or None.

    Args:
        value: The value.
        shape: Its shape.
        place: The path of the value within the file, such as `.splits.dev`.
    """
    if isinstance(shape, tuple):
        faults = [_fault(value, option, place) for option in shape]
        return faults[0] if all(faults) else None
    if isinstance(shape, list):
        return _list_fault(value, shape, place)
    if isinstance(shape, dict):
        return _object_fault(value, shape, place)
    return None if _is(value, shape) else _not_a(value, _kind(shape), place)


def _list_fault(value, shape, place):
    if not isinstance(value, list):
        return _not_a(value, "a list", place)
    shapes = shape * len(value) if len(shape) == 1 else shape
    if len(value) != len(shapes):
        return _not_a(value, f"a list of {len(shapes)}", place)
    return _first_fault(
        (f"{place}[{i}]", *pair) for i, pair in enumerate(zip(value, shapes))
    )


def _object_fault(value, shape, place):
    if not isinstance(value, dict):
        return _not_a(value, "an object", place)
    named = {name: shape[name] for name in shape if name is not str}
    for name in named:
        if not name.endswith("?") and name not in value:
            return f"which lacks `{f'{place}.{name}'.lstrip('.')}`"
    shapes = dict.fromkeys(value, shape[str]) if str in shape else {}
    shapes |= {name.removesuffix("?"): named[name] for name in named}
    items = [(name, name, str) for name in value]
    items += [(n, value[n], shapes[n]) for n in shapes if n in value]
    return _first_fault(
        (place + "." + _short(name).strip('"'), item, expected)
        for name, item, expected in items
    )


def _first_fault(items):
    faults = (_fault(value, shape, place) for place, value, shape in items)
    return next(filter(None, faults), None)


def _is(value, kind):
    if isinstance(kind, range):
        return type(value) is int and value in kind
    if isinstance(kind, set):
        return type(value) is str and value in kind
    if kind is None:
        return value is None
    if kind is float and type(value) is int:
        kind = int
    # A bool is an int to `isinstance`, hence the exact types.
    if type(value) is not kind:
        return False
    if kind is float:
        return math.isfinite(value)
    if kind is int:
        return -(2**63) <= value < 2**63
    if kind is str:
        # A lone surrogate can neither be printed nor written, and no path
        # holds a null character.
        return not re.search("[\0\ud800-\udfff]", value)
    return True


def _kind(shape):
    if isinstance(shape, range):
        end = "" if shape == WHOLE else f" and at most {shape[-1]}"
        return f"an integer of at least {shape[0]}{end}"
    if isinstance(shape, set):
        return f"one of {', '.join(sorted(shape))}"
    return _KINDS[shape]


def _not_a(value, expected, place):
    name = f"`{place.lstrip('.')}`" if place else "the content"
    # Only the kind of a list or an object, which may be large or deep.
    kinds = {list: "a list", dict: "an object"}
    shown = kinds.get(type(value)) or _short(value)
    return f"where {name} must be {expected} but is {shown}"


def _short(value):
    """Returns JSON without line ends and other control characters."""
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:40] + "..."
