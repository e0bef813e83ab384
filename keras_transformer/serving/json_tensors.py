"""Converts between JSON and arrays in TF Serving's row and column format.

In row format, `instances` is a list with one item for each row. In column
format, `inputs` holds each argument as a whole. The response has the same
format and holds `predictions` or `outputs`.
"""

import base64
import json
import math

import numpy as np

from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.json_reader import encode
from keras_transformer.serving.json_reader import quote
from keras_transformer.serving.signature import check_names
from keras_transformer.serving.signature import join_shape

# The types of values in JSON that an array takes, by the kind of its type.
_ACCEPTED = {
    "O": {str, bytes},
    "b": {bool},
    "i": {int},
    "u": {int},
    "f": {int, float},
}


def read_arrays(request, inputs):
    """Reads the arrays in a request to predict, a dictionary.

    `inputs` has the `Tensor` of each input of the signature by its name.
    Returns whether the request is in row format, and a dictionary of arrays.

    >>> from keras_transformer.serving.signature import Tensor
    >>> text = {"text": Tensor(np.dtype(object), (None,))}
    >>> read_arrays({"instances": ["A dog"]}, text)
    (True, {'text': array([b'A dog'], dtype=object)})
    """
    formats = [key for key in ("instances", "inputs") if key in request]
    if len(formats) != 1:
        raise InvalidRequest(
            "A request must have one of the keys 'instances' and 'inputs'. "
            f"Received: {', '.join(map(repr, formats)) or 'none'}."
        )
    is_row, value = formats == ["instances"], request[formats[0]]
    if is_row and (not isinstance(value, list) or not value):
        raise InvalidRequest(
            f"'instances' must be a list of one row or more: {quote(value)}."
        )
    rows = value if is_row else [value]
    if not _has_names(rows[0]):
        if len(inputs) != 1:
            raise InvalidRequest(
                "Values must be named because there are several inputs: "
                f"{', '.join(sorted(inputs))}. Received: values without names. "
                "Send an object with these keys."
            )
        columns = dict.fromkeys(inputs, value)
    else:
        for number, row in enumerate(rows):
            if not _has_names(row):
                raise InvalidRequest(
                    "All instances must be objects if the first one is. "
                    f"Received: another value as instance {number}. Name the "
                    "inputs in each instance."
                )
            check_names(inputs, row)
        columns = {
            name: [row[name] for row in rows] if is_row else value[name]
            for name in inputs
        }
    return is_row, {
        name: _make_array(name, tensor, columns[name])
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
    first, *others = columns.values()
    if not is_row:
        return dump({"outputs": columns if others else first})
    lengths = {array.shape[:1] for array in outputs.values()}
    if len(lengths) != 1 or () in lengths:
        shapes = {str(array.shape) for array in outputs.values()}
        raise InvalidRequest(
            "In row format, results must have a row for each instance. "
            f"Received: results of shapes {', '.join(sorted(shapes))}. Send "
            "'inputs' instead of 'instances'."
        )
    rows = zip(*columns.values())
    named = [dict(zip(columns, row)) for row in rows] if others else first
    return dump({"predictions": named})


def dump(value):
    """Returns a value as JSON in bytes."""
    # Half a surrogate pair, which an error may quote, cannot be encoded.
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def _has_names(value):
    """Returns whether a value is an object, but not binary."""
    return isinstance(value, dict) and not _is_binary(value)


def _is_binary(value):
    # TF Serving's notation for binary values.
    return (
        isinstance(value, dict)
        and list(value) == ["b64"]
        and isinstance(value["b64"], str)
    )


def _make_array(name, tensor, value):
    """Returns nested lists as an array; empty lists leave later axes empty."""
    nested = np.array(value, object)
    shape = nested.shape
    if tensor.shape is None and len(shape) > limits.MAX_AXES:
        raise InvalidRequest(
            f"Input {name!r} must have at most {limits.MAX_AXES} axes. "
            "Received: a list that is nested more deeply. Send fewer levels."
        )
    if tensor.shape and 0 in shape:
        shape += tuple(size or 0 for size in tensor.shape[len(shape) :])
    values = nested.ravel().tolist()
    # Not `isinstance`: in Python, true and false are integers too.
    types = set(map(type, values))
    is_uneven = list in types  # which NumPy leaves as they are
    if is_uneven or not tensor.accepts(shape):
        received = "other lists" if is_uneven else f"shape {join_shape(shape)}"
        raise InvalidRequest(
            f"Input {name!r} must have shape {join_shape(tensor.shape)}, in "
            "lists that are equally long and deep. Received: "
            f"{received}."
        )
    kind = tensor.dtype.kind
    if kind == "O" and dict in types:
        values = [_read_base64(v) if _is_binary(v) else v for v in values]
        types = set(map(type, values))
    for misfit in _list_misfits(values, types, tensor.dtype):
        raise InvalidRequest(
            f"JSON Value: {quote(misfit)} of input {name!r} is not of expected "
            f"type: {tensor.type_name}."
        )
    if kind == "O":
        values = [v if type(v) is bytes else encode(v) for v in values]
    # `np.array(values)` would turn bytes into strings of a fixed width and drop
    # trailing zero bytes.
    array = np.empty(len(values), tensor.dtype)
    array[:] = values
    return array.reshape(shape)


def _read_base64(value):
    try:
        return base64.b64decode(value["b64"], validate=True)
    except ValueError as error:
        raise InvalidRequest(
            f"JSON Value: b64 {quote(value['b64'])}: {error}."
        ) from error


def _list_misfits(values, types, dtype):
    """Returns the values, of these types, that an array cannot hold."""
    accepted = _ACCEPTED.get(dtype.kind, set())
    if not types <= accepted:
        return [v for v in values if type(v) not in accepted]
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return [v for v in values if not low <= v <= high]
    if dtype.kind == "f":
        # NaN and infinity are accepted, as in TF Serving; overflow is not.
        largest = float(np.finfo(dtype).max)
        return [v for v in values if largest < abs(v) < math.inf]
    return []


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
