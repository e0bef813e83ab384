"""Checked reading of the JSON files that this package writes."""

import json
import math
import os
import re

MAX_BYTES = 64 * 2**20  # far more than any of our JSON files has

_KINDS = {bool: "true or false", int: "an integer", float: "a finite number"}
_KINDS |= {str: "text", None: "null"}


def read_record(path, shape, writer="kt-trainer", remedy=None):
    """Reads a JSON file and checks that it has the expected shape.

    A shape is one of:

    - `bool`, `int`, `float` or `str`, for a value of this type. An integer is
      also a `float`. A `float` is finite, and an `int` fits into 64 bits.
    - `None`, for JSON's null.
    - a tuple of shapes, for a value that has one of them.
    - a list of one shape, for a list whose items all have it.
    - `{str: shape}`, for an object with any names, whose values have the shape.
    - `{name: shape, ...}`, for an object with these names. One that ends in
      `?` may be absent. Other names may be present and are not checked.

    Args:
        path: Path of the file.
        shape: The shape of its content.
        writer: Name of the command that writes such files. Defaults to
            "kt-trainer".
        remedy: Sentence that says what the user can do about a faulty file.
            Defaults to one that asks to restore the file.

    Returns:
        The content, as `json.loads` returns it.

    Raises:
        ValueError: If the file cannot be read as JSON of this shape. The
            message names the place of the first fault.

    Example:

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "scores.json")
    >>> with open(path, "w") as file:
    ...     _ = file.write('[{"step": 7}, {"step": 8, "score": 0.5}]')
    >>> read_record(path, [{"step": int, "score?": float}])[0]
    {'step': 7}
    """
    fault, content = _parse(path)
    fault = fault or _fault(content, shape, "")
    if fault:
        raise ValueError(
            f"`{os.path.basename(path)}` must be as {writer} wrote it. "
            f"Received: {path}, {fault}. "
            f"{remedy or 'Restore the file from a copy.'}"
        )
    return content


def _parse(path):
    """Returns a description of what is wrong with a file, and its content."""
    if not os.path.isfile(path):
        return "which is not a file", None
    if os.path.getsize(path) > MAX_BYTES:
        return f"which has more than {MAX_BYTES:,} bytes", None
    with open(path, "rb") as file:
        content = file.read()
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
        if not isinstance(value, list):
            return _not_a(value, "a list", place)
        items = [(f"{place}[{i}]", item) for i, item in enumerate(value)]
        return _first_fault((where, item, shape[0]) for where, item in items)
    if isinstance(shape, dict):
        return _object_fault(value, shape, place)
    return None if _is(value, shape) else _not_a(value, _KINDS[shape], place)


def _object_fault(value, shape, place):
    if not isinstance(value, dict):
        return _not_a(value, "an object", place)
    if str in shape:
        return _first_fault(
            (f"{place}.{name}", item, shape[str])
            for name, item in value.items()
        )
    for name in shape:
        if not name.endswith("?") and name not in value:
            return f"which lacks `{f'{place}.{name}'.lstrip('.')}`"
    checked = ((name.removesuffix("?"), shape[name]) for name in shape)
    return _first_fault(
        (f"{place}.{name}", value[name], expected)
        for name, expected in checked
        if name in value
    )


def _first_fault(items):
    faults = (_fault(value, shape, place) for place, value, shape in items)
    return next(filter(None, faults), None)


def _is(value, kind):
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
        # A lone surrogate can neither be printed nor written.
        return not re.search("[\ud800-\udfff]", value)
    return True


def _not_a(value, expected, place):
    name = f"`{place.lstrip('.')}`" if place else "the content"
    shown = json.dumps(value)
    shown = shown if len(shown) <= 40 else shown[:40] + "..."
    return f"where {name} must be {expected} but is {shown}"
