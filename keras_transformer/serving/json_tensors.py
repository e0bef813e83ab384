"""Converts between JSON and arrays in TF Serving's row and column format.

In row format, `instances` is a list with one item for each row. In column
format, `inputs` holds each argument as a whole. The response has the same
format and holds `predictions` or `outputs`.
"""

import base64
import json
import re
import typing

import numpy as np

from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.limits import MAX_AXES
from keras_transformer.serving.signature import check_names

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_MAX_SHOWN = 100  # characters of a wrong value that an error quotes


class JsonRequest(typing.NamedTuple):
    """The body of a predict request, with its values not yet converted."""

    signature_name: str
    is_row: bool
    values: typing.Any  # of `instances` or `inputs`


def parse_request(body):
    """Returns the `JsonRequest` in the bytes of a body.

    >>> parse_request(b'{"instances": ["A dog"]}').values
    ['A dog']
    """
    request = _parse_json(body)
    if not isinstance(request, dict):
        raise InvalidRequest(f"JSON Value: {_quote(request)} is not an object.")
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise InvalidRequest(
            f"'signature_name' must be a string: {_quote(name)}."
        )
    formats = [key for key in ("instances", "inputs") if key in request]
    if len(formats) != 1:
        raise InvalidRequest(
            "A request must have one of the keys 'instances' and 'inputs'. "
            f"Received: {', '.join(map(repr, formats)) or 'none'}."
        )
    is_row = formats == ["instances"]
    values = request[formats[0]]
    if is_row and (not isinstance(values, list) or not values):
        raise InvalidRequest(
            f"'instances' must be a list of one row or more: {_quote(values)}."
        )
    return JsonRequest(name, is_row, values)


def to_arrays(request, inputs):
    """Returns the arguments of a request as a dictionary of arrays.

    `inputs` holds the `Tensor` of each input of the signature by name.
    """
    columns = request.values
    # The first row shows whether the rows name their inputs.
    if request.is_row and _is_named(columns[0]):
        for number, row in enumerate(columns):
            if not _is_named(row):
                raise InvalidRequest(
                    "All instances must be objects if the first one is. "
                    f"Received: another value as instance {number}. Name the "
                    "inputs in each instance."
                )
            check_names(inputs, row)
        columns = {name: [row[name] for row in columns] for name in inputs}
    elif request.is_row or not _is_named(columns):
        if len(inputs) != 1:
            raise InvalidRequest(
                "Values must be named because there are several inputs: "
                f"{', '.join(sorted(inputs))}. Received: values without "
                "names. Send an object with these keys."
            )
        columns = {name: columns for name in inputs}
    check_names(inputs, columns)
    return {
        name: _to_array(name, columns[name], tensor)
        for name, tensor in inputs.items()
    }


def format_response(outputs, is_row):
    """Returns the body of a response to a dictionary of arrays, in bytes.

    A single result appears without its name. Results whose name ends in
    `_bytes` are encoded in base 64, because they need not be UTF-8.

    >>> format_response({"scores": np.array([0.2, 1], np.float32)}, True)
    b'{"predictions": [0.2, 1.0]}'
    """
    columns = {
        name: _to_json(array, name.endswith("_bytes"))
        for name, array in outputs.items()
    }
    if not is_row:
        only = next(iter(columns.values()))
        return dump({"outputs": columns if len(columns) > 1 else only})
    lengths = {array.shape[:1] for array in outputs.values()}
    if len(lengths) != 1 or () in lengths:
        shapes = {str(array.shape) for array in outputs.values()}
        raise InvalidRequest(
            "In row format, results must have a row for each instance. "
            f"Received: results of shapes {', '.join(sorted(shapes))}. Send "
            "'inputs' instead of 'instances'."
        )
    if len(columns) == 1:
        (rows,) = columns.values()
    else:
        rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return dump({"predictions": rows})


def dump(value):
    """Returns a value as JSON in bytes."""
    return json.dumps(value, ensure_ascii=False).encode()


def _parse_json(body):
    try:
        # `json.loads` would guess the encoding of bytes.
        content = json.loads(body.decode())
        # Half a surrogate pair, "\\ud800", can be written in JSON and yet is no
        # text, not even in an error message that quotes it.
        if _SURROGATE.search(body):
            dump(content)
        return content
    except UnicodeDecodeError as error:
        reason = f"JSON must be UTF-8. Received: {error}."
    except UnicodeEncodeError:
        reason = (
            "JSON Parse error: surrogates, \\ud800 to \\udfff, must be in "
            "pairs. Received: one alone."
        )
    except RecursionError:  # a few thousand brackets are enough
        reason = "JSON Parse error: nested too deeply."
    except ValueError as error:
        reason = f"JSON Parse error: {error}."
    raise InvalidRequest(reason)


def _is_named(value):
    return isinstance(value, dict) and not _is_base64(value)


def _is_base64(value):
    # TF Serving's notation for binary values.
    return list(value) == ["b64"] and isinstance(value["b64"], str)


def _to_array(name, value, tensor):
    # NumPy finds the shape of nested lists. Where they are not equally long
    # and deep, it takes the inner lists for values.
    objects = np.array(value, object)
    if objects.ndim > MAX_AXES:
        raise InvalidRequest(
            f"Input {name!r} must have at most {MAX_AXES} axes. Received: a "
            "list that is nested more deeply. Send fewer levels."
        )
    items = objects.ravel().tolist()
    types = set(map(type, items))
    if list in types:
        raise InvalidRequest(
            f"Lists of input {name!r} must be equally long and deep. "
            f"Received: {_quote(value)}. Send a list for each."
        )
    shape = objects.shape
    if not items and tensor.shape:
        # An empty list does not show how many axes would follow it.
        shape += tuple(size or 0 for size in tensor.shape[len(shape) :])
    values = _convert_all(items, types, tensor.dtype)
    if values is None:
        values = [_convert(name, item, tensor) for item in items]
    # `np.array(values)` would turn bytes into strings of a fixed width, which
    # drops trailing zero bytes.
    array = np.empty(len(values), tensor.dtype)
    array[:] = values
    return array.reshape(shape)  # (batch, ...), as the lists are nested


def _convert_all(items, types, dtype):
    """Converts texts or integers at once, which is much faster.

    Returns None if they must be converted one by one.
    """
    if dtype.kind == "O" and types == {str}:
        return [text.encode() for text in items]
    if dtype.kind in "iu" and types == {int}:
        limits = np.iinfo(dtype)
        if limits.min <= min(items) and max(items) <= limits.max:
            return items
    return None


def _convert(name, value, tensor):
    dtype = tensor.dtype
    converted = None
    if dtype.kind == "O":
        converted = _to_bytes(value)
    elif dtype.kind == "b":
        converted = value if isinstance(value, bool) else None
    # Not `isinstance`: in Python, true and false are integers too.
    elif dtype.kind in "iu" and type(value) is int:
        limits = np.iinfo(dtype)
        converted = value if limits.min <= value <= limits.max else None
    elif dtype.kind == "f" and type(value) in (int, float):
        converted = _to_float(value, dtype)
    if converted is None:
        raise InvalidRequest(
            f"JSON Value: {_quote(value)} of input {name!r} is not of expected "
            f"type: {tensor.type_name}."
        )
    return converted


def _to_bytes(value):
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, dict) or not _is_base64(value):
        return None
    try:
        return base64.b64decode(value["b64"], validate=True)
    except ValueError as error:
        raise InvalidRequest(
            f"JSON Value: {_quote(value)}: {error}."
        ) from error


def _to_float(value, dtype):
    try:
        converted = float(value)
    except OverflowError:
        return None
    # NaN and infinity are accepted, as in TF Serving. A finite number must not
    # become infinite.
    is_too_large = abs(converted) > np.finfo(dtype).max
    return None if is_too_large and np.isfinite(converted) else converted


def _to_json(array, is_binary):
    """Returns an array as nested lists of JSON values."""
    if isinstance(array, np.ndarray) and array.ndim:
        return [_to_json(item, is_binary) for item in array]
    value = array.item() if hasattr(array, "item") else array
    if isinstance(value, bytes):
        if is_binary:
            return {"b64": base64.b64encode(value).decode()}
        return value.decode(errors="replace")
    # `str` gives the shortest digits of a float32: 0.2 instead of the
    # 0.20000000298023224 of the equal float64.
    return float(str(array)) if isinstance(value, float) else value


def _quote(value):
    try:
        text = value if isinstance(value, str) else json.dumps(value)
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
