"""The JSON files of this package: writing, and checked reading.

Pydantic was tried instead of `read_record`: shapes and messages took more lines
than here, errors of surrogates and of the same shape for all names lost their
place in the file, and each command started 0.2 s later.
"""

import hashlib
import itertools
import json
import os

from keras_transformer import errors
from keras_transformer.errors import UserError
from keras_transformer.files import reading
from keras_transformer.files.writing import atomic_write

MAX_BYTES = 8 * 2**20  # far more than any of our JSON files has
WHOLE = range(2**63)  # the shape of an integer of at least 0


def hash_record(record):
    """Returns a short hash of what JSON can hold."""
    text = json.dumps(record, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_record(path, value, **options):
    """Writes a value as indented JSON, with further options of `json.dump`."""
    with atomic_write(path) as file:
        json.dump(value, file, indent=2, **options)
        file.write("\n")


def keep_settings(path, settings):
    """Writes the settings of a directory, or checks that they are the same.

    They are a dictionary of flags, and of strings, numbers or None.
    """
    if not os.path.lexists(path):
        write_record(path, settings)
        return
    earlier = read_record(path, {str: (str, float, None)})
    directory = os.path.dirname(path)
    for name, value in settings.items():
        received, recorded = (
            f"no --{name}" if setting is None else f"--{name}={setting}"
            for setting in (value, earlier.get(name))
        )
        if received != recorded:
            raise UserError(
                f"`--{name}` must not change in {directory}. Received: "
                f"{received}, but the directory was started with {recorded}. "
                "Repeat the earlier command, or name another directory."
            )


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
    fault, content = _parse(reading.read_bytes(path, remedy, MAX_BYTES))
    fault = fault or find_fault(content, shape)
    if fault:
        raise reading.file_error(path, fault, remedy)
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
