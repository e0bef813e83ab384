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
from keras_transformer.serving.json_reader import MAX_SHOWN
from keras_transformer.serving.json_reader import PART_SIZE
from keras_transformer.serving.json_reader import REPEATED_NAME
from keras_transformer.serving.json_reader import JsonReader
from keras_transformer.serving.json_reader import encode
from keras_transformer.serving.json_reader import find_signature_name
from keras_transformer.serving.options import Options
from keras_transformer.serving.signature import check_axis
from keras_transformer.serving.signature import check_names
from keras_transformer.serving.signature import join_names
from keras_transformer.serving.signature import join_shape

# The types of values in JSON that an array takes, by the kind of its type.
_ACCEPTED = {
    "O": {str, bytes},
    "b": {bool},
    "i": {int},
    "u": {int},
    "f": {int, float},
}


def read_arrays(text, inputs, max_sizes=()):
    """Reads the body of a request to predict.

    `inputs` has the `Tensor` of each input of the signature by its name.
    `max_sizes` are the maximum sizes of the first axes, rows and ids of a row,
    each an integer or None for no limit. Returns whether the request is in row
    format, a dictionary of arrays, and one of the fields of `read_options`.

    >>> from keras_transformer.serving.signature import Tensor
    >>> text = {"text": Tensor(np.dtype(object), (None,))}
    >>> read_arrays('{"instances": ["A dog"]}', text)
    (True, {'text': array([b'A dog'], dtype=object)}, {})
    """
    reader = JsonReader(text)
    columns = {
        name: _Column(name, tensor, max_sizes)
        for name, tensor in inputs.items()
    }
    if reader.peek() not in ("{", ""):
        raise InvalidRequest(f"JSON Value: {reader.quote()} is not an object.")
    formats, others = [], {}
    for key in reader.read_keys():
        if key in ("instances", "inputs"):
            formats.append(key)
            if len(formats) > 1:
                break
            if key == "instances":
                _read_rows(reader, columns)
            elif reader.is_at_names():
                _read_named(reader, columns, axis=0)
            else:
                _find_only(columns).read(reader)
        elif key != "signature_name":
            value = reader.read_small(key)
            if key in Options._fields:
                others[key] = value
        elif reader.read_scalar() != find_signature_name(text):
            raise InvalidRequest(REPEATED_NAME)
    if len(formats) != 1:
        raise InvalidRequest(
            "A request must have one of the keys 'instances' and 'inputs'. "
            f"Received: {', '.join(map(repr, formats)) or 'none'}."
        )
    if reader.peek():
        raise reader.make_error("Extra data")
    arrays = {name: column.to_array() for name, column in columns.items()}
    return formats == ["instances"], arrays, others


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
    # Half a surrogate pair, which an error may quote, cannot be encoded.
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def _read_rows(reader, columns):
    """Reads the list of `instances`, whose rows may name their inputs."""
    num_rows = 0
    if reader.peek() == "[":
        begin = reader.position
        for num_rows, _ in enumerate(reader.read_items("[]"), 1):
            # The first row shows whether the rows name their inputs.
            is_named = reader.is_at_names()
            if num_rows == 1 and not is_named:
                reader.position = begin
                _find_only(columns).read(reader)
                return
            if not is_named:
                raise InvalidRequest(
                    "All instances must be objects if the first one is. "
                    f"Received: another value as instance {num_rows - 1}. "
                    "Name the inputs in each instance."
                )
            _read_named(reader, columns, axis=1)
            for column in columns.values():
                column.check_size(0, num_rows)
    if not num_rows:
        raise InvalidRequest(
            f"'instances' must be a list of one row or more: {reader.quote()}."
        )
    for column in columns.values():
        column.end_list(0, num_rows)


def _read_named(reader, columns, axis):
    """Reads an object that has a value for each input."""
    names = []
    for name in reader.read_keys():
        if name not in columns or name in names:
            raise InvalidRequest(
                f"Inputs must be {join_names(columns)}, each named once. "
                f"Sent extra: {join_names([name])}."
            )
        names.append(name)
        columns[name].read(reader, axis)
    check_names(columns, names)


def _find_only(columns):
    if len(columns) != 1:
        raise InvalidRequest(
            "Values must be named because there are several inputs: "
            f"{', '.join(sorted(columns))}. Received: values without names. "
            "Send an object with these keys."
        )
    (column,) = columns.values()
    return column


class _Column:
    """The values of one input, as far as they have been read."""

    def __init__(self, name, tensor, max_sizes):
        self._name = name
        self._tensor = tensor
        self._max_sizes = max_sizes
        # The size of each axis, None until a list shows it.
        self._sizes = None if tensor.shape is None else list(tensor.shape)
        self._values = []
        self._parts = []  # arrays of earlier values, which take less memory
        self._num_items = 0

    def read(self, reader, axis=0):
        """Reads a value that has the axes from `axis` on."""
        self._num_items += 1
        if self._num_items > limits.MAX_ITEMS:
            raise InvalidRequest(
                f"Input {self._name!r} must have at most {limits.MAX_ITEMS} "
                "lists and texts. Received: more. Send several smaller "
                "requests."
            )
        if self._sizes is None:
            self._sizes = [None] * (axis + reader.count_brackets())
        rank = len(self._sizes)
        if rank > limits.MAX_AXES:
            raise InvalidRequest(
                f"Input {self._name!r} must have at most {limits.MAX_AXES} "
                "axes. Received: a list that is nested more deeply. Send fewer "
                "levels."
            )
        if axis > rank or (reader.peek() == "[") != (axis < rank):
            raise self._make_shape_error(reader.quote())
        if axis == rank:
            self._read_scalar(reader)
            return
        size = 0
        if axis == rank - 1 and self._tensor.dtype.kind in "iufb":
            for values in reader.read_numbers():
                if values is None:  # the next value is not a number
                    self.read(reader, rank)
                    raise reader.make_error(", or ] is missing")
                self._add(values)
                size += len(values)
                self.check_size(axis, size)
        else:
            for size, _ in enumerate(reader.read_items("[]"), 1):
                self.check_size(axis, size)
                self.read(reader, axis + 1)
        self.end_list(axis, size)

    def check_size(self, axis, size):
        """Raises a `RequestError` as soon as a list is too long."""
        check_axis(self._name, axis, size, self._max_sizes)
        expected = self._sizes[axis] if axis < len(self._sizes) else 0
        if expected is not None and size > expected:
            raise self._make_shape_error(f"a list of more than {expected}")

    def end_list(self, axis, size):
        """Records the size of a list, or compares it with the earlier ones."""
        self.check_size(axis, size)
        if self._sizes[axis] not in (None, size):
            raise self._make_shape_error(f"a list of {size}")
        self._sizes[axis] = size

    def to_array(self):
        """Returns all values; empty lists leave later axes empty."""
        self._store()
        return np.concatenate(self._parts).reshape(
            [size or 0 for size in self._sizes]
        )

    def _read_scalar(self, reader):
        is_binary = reader.peek() == "{" and self._tensor.dtype == object
        begin = reader.position
        value = reader.read_base64() if is_binary else reader.read_scalar()
        if value is None:
            reader.position = begin
            raise self._make_type_error(reader.quote())
        self._add([value])

    def _add(self, values):
        dtype = self._tensor.dtype
        misfits = _list_misfits(values, dtype)
        if misfits:
            raise self._make_type_error(json.dumps(misfits[0]))
        if dtype.kind == "O":
            values = [v if type(v) is bytes else encode(v) for v in values]
        elif dtype.kind == "f":
            values = map(float, values)
        self._values += values
        if len(self._values) > PART_SIZE:
            self._store()

    def _store(self):
        # `np.array(values)` would turn bytes into strings of a fixed width,
        # which drops trailing zero bytes.
        array = np.empty(len(self._values), self._tensor.dtype)
        array[:] = self._values
        self._parts.append(array)
        self._values = []

    def _make_type_error(self, shown):
        if len(shown) > MAX_SHOWN:
            shown = shown[:MAX_SHOWN] + "..."
        return InvalidRequest(
            f"JSON Value: {shown} of input {self._name!r} is not of expected "
            f"type: {self._tensor.type_name}."
        )

    def _make_shape_error(self, received):
        return InvalidRequest(
            f"Input {self._name!r} must have shape "
            f"{join_shape(self._tensor.shape)}, in lists that are equally long "
            f"and deep. Received: {received}."
        )


def _list_misfits(values, dtype):
    """Returns those of the values that an array of this type cannot hold."""
    # Not `isinstance`: in Python, true and false are integers too.
    accepted = _ACCEPTED.get(dtype.kind, set())
    if not accepted.issuperset(map(type, values)):
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
