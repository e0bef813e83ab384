"""Converts between arrays and the tensors of gRPC messages."""

import math

import numpy as np

from keras_transformer.serving import limits
from keras_transformer.serving.errors import invalid
from keras_transformer.serving.messages import DATA_TYPES
from keras_transformer.serving.messages import TensorProto

# For NumPy's name of each type: its name in the protocol, and the field of a
# `TensorProto` with its values.
_TYPES = {
    "object": ("STRING", "string_val"),
    "float32": ("FLOAT", "float_val"),
    "float64": ("DOUBLE", "double_val"),
    "int32": ("INT32", "int_val"),
    "int64": ("INT64", "int64_val"),
    "bool": ("BOOL", "bool_val"),
    "uint8": ("UINT8", "int_val"),
    "int8": ("INT8", "int_val"),
    "uint16": ("UINT16", "int_val"),
    "int16": ("INT16", "int_val"),
    "uint32": ("UINT32", "uint32_val"),
    "uint64": ("UINT64", "uint64_val"),
    "float16": ("HALF", "half_val"),
    # NumPy knows this type once TensorFlow is imported.
    "bfloat16": ("BFLOAT16", "half_val"),
    "complex64": ("COMPLEX64", "scomplex_val"),
    "complex128": ("COMPLEX128", "dcomplex_val"),
}
_NAMES = {DATA_TYPES.index(kind): name for name, (kind, _) in _TYPES.items()}
# Fields that hold several parts of a value, or its bits as an integer.
_PARTS = {
    "half_val": "uint16",
    "scomplex_val": "float32",
    "dcomplex_val": "float64",
}
# Clients without TensorFlow read the values of these types from their fields.
# `tensor_content`, which holds those of other types, is hard to read for them.
_IN_FIELDS = ("object", "float32", "float64", "int32", "int64", "bool")


def to_array(name, proto):
    """Returns the array in a `TensorProto`.

    Args:
        name: Name of the argument, for error messages.
        proto: `TensorProto` to read, ours or TensorFlow's.

    Raises:
        RequestError: If the `TensorProto` does not describe an array.
    """
    sizes = tuple(axis.size for axis in proto.tensor_shape.dim)
    # A single value may stand for any number of equal ones.
    most = max(limits.MAX_REPEATED_VALUES, proto.ByteSize())
    if (
        len(sizes) > limits.MAX_AXES
        or min(sizes, default=0) < 0
        or math.prod(sizes) > most
    ):
        raise invalid(
            f"Input {name!r} must have at most {limits.MAX_AXES} axes and as "
            f"many values as its shape says. Received: shape {sizes}."
        )
    if proto.dtype not in _NAMES:
        raise invalid(
            f"Input {name!r} is not a tensor: its type, {proto.dtype}, is not "
            "one of numbers or strings."
        )
    try:
        values = _values(proto, _NAMES[proto.dtype], math.prod(sizes))
        return values.reshape(sizes)
    # NumPy raises these for values that do not fit their type, their number or
    # a type that it does not know.
    except (OverflowError, TypeError, ValueError) as error:
        raise invalid(f"Input {name!r} is not a tensor: {error}.") from error


def to_proto(array):
    """Returns an array as a `TensorProto`."""
    field = _TYPES[array.dtype.name][1]
    proto = TensorProto(dtype=data_type(array.dtype))
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    if array.dtype.name in _IN_FIELDS:
        getattr(proto, field).extend(array.ravel().tolist())
    else:
        proto.tensor_content = array.tobytes()
    return proto


def data_type(dtype):
    """Returns the number of a NumPy type in the protocol."""
    return DATA_TYPES.index(_TYPES[dtype.name][0])


def _values(proto, type_name, size):
    """Returns the values of a `TensorProto`, `(size,)` if they fit."""
    dtype = np.dtype(type_name)
    if proto.tensor_content:
        # A copy, because these bytes cannot be written to.
        return np.frombuffer(proto.tensor_content, dtype).copy()
    field = _TYPES[type_name][1]
    parts = np.array(getattr(proto, field), _PARTS.get(field, dtype))
    values = parts.view(dtype) if field in _PARTS else parts
    # The last value stands for all that are left out.
    last = values[-1] if len(values) else b"" if dtype.kind == "O" else 0
    missing = np.empty(max(0, size - len(values)), dtype)
    if dtype.kind == "O" and len(missing) * len(last) > limits.MAX_BODY_BYTES:
        raise ValueError(
            f"its last string has {len(last)} bytes and stands for "
            f"{len(missing)} more, which may have {limits.MAX_BODY_BYTES} "
            "bytes together"
        )
    missing.fill(last)  # `np.full` would copy each string, without its zeros
    return np.concatenate([values, missing])
