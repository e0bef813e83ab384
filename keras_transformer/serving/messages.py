"""The messages of TF Serving's protocol, without TensorFlow.

`tensorflow_serving.apis` defines the same messages, but it imports TensorFlow,
which takes seconds. `protocol.proto` defines the parts of them that a server or
a client of text models uses. They are loaded from its compiled form, because
the Python code that `protoc` writes depends on the version of protobuf.
"""

import itertools
import math
import pathlib

import numpy as np
from google.protobuf import any_pb2
from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory
from google.protobuf import wrappers_pb2

from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest


def _list_classes(descriptors):
    """Yields the class of each message, and of those defined inside it."""
    for descriptor in descriptors:
        yield message_factory.GetMessageClass(descriptor)
        yield from _list_classes(descriptor.nested_types)


def _message(name):
    return _CLASSES[f"tensorflow.serving.{name}"]


_compiled = pathlib.Path(__file__).with_name("protocol.binpb").read_bytes()
# Not the default pool, where TensorFlow registers the same names.
_pool = descriptor_pool.DescriptorPool()
_files = [
    _pool.AddSerializedFile(content)
    for content in (
        any_pb2.DESCRIPTOR.serialized_pb,
        wrappers_pb2.DESCRIPTOR.serialized_pb,
        *map(
            descriptor_pb2.FileDescriptorProto.SerializeToString,
            descriptor_pb2.FileDescriptorSet.FromString(_compiled).file,
        ),
    )
]
# Protobuf itself holds its classes by weak references. The garbage collector
# would free the classes of parts, such as ModelSpec, and a thread that receives
# a message meanwhile would crash the process.
_CLASSES = {
    message_class.DESCRIPTOR.full_name: message_class
    for file in _files
    for message_class in _list_classes(file.message_types_by_name.values())
}
GetModelMetadataRequest = _message("GetModelMetadataRequest")
GetModelMetadataResponse = _message("GetModelMetadataResponse")
GetModelStatusRequest = _message("GetModelStatusRequest")
GetModelStatusResponse = _message("GetModelStatusResponse")
PredictionLog = _message("PredictionLog")
PredictRequest = _message("PredictRequest")
PredictResponse = _message("PredictResponse")
SignatureDef = _message("SignatureDef")
SignatureDefMap = _message("SignatureDefMap")
TensorProto = _message("TensorProto")
_DATA_TYPES = _pool.FindEnumTypeByName(
    "tensorflow.serving.DataType"
).values_by_name
# For NumPy's name of each type: its name in the protocol, and the field of a
# `TensorProto` with its values.
_TYPES = {
    "object": ("DT_STRING", "string_val"),
    "float32": ("DT_FLOAT", "float_val"),
    "float64": ("DT_DOUBLE", "double_val"),
    "int32": ("DT_INT32", "int_val"),
    "int64": ("DT_INT64", "int64_val"),
    "bool": ("DT_BOOL", "bool_val"),
    "uint8": ("DT_UINT8", "int_val"),
    "int8": ("DT_INT8", "int_val"),
    "uint16": ("DT_UINT16", "int_val"),
    "int16": ("DT_INT16", "int_val"),
    "uint32": ("DT_UINT32", "uint32_val"),
    "uint64": ("DT_UINT64", "uint64_val"),
    "float16": ("DT_HALF", "half_val"),
    # NumPy knows this type once TensorFlow is imported.
    "bfloat16": ("DT_BFLOAT16", "half_val"),
    "complex64": ("DT_COMPLEX64", "scomplex_val"),
    "complex128": ("DT_COMPLEX128", "dcomplex_val"),
}
_NAMES = {_DATA_TYPES[kind].number: name for name, (kind, _) in _TYPES.items()}
# The numbers of fields in protocol.proto.
_INPUTS, _VALUE_OF_ENTRY, _TENSOR_SHAPE = 2, 2, 2
# Bytes of the fields of a fixed size, and of the ends of groups, by their kind.
_FIXED_SIZES = {1: 8, 3: 0, 4: 0, 5: 4}
# Fields that hold several parts of a value, or its bits as an integer.
_PARTS = {
    "half_val": "uint16",
    "scomplex_val": "float32",
    "dcomplex_val": "float64",
}
# Clients without TensorFlow read the values of these types from their fields.
# `tensor_content`, which holds the other types, is hard to read for them.
_IN_FIELDS = ("object", "float32", "float64", "int32", "int64", "bool")


def get_data_type(dtype):
    """Returns the number of a NumPy type in the protocol."""
    return _DATA_TYPES[_TYPES[dtype.name][0]].number


def to_proto(array):
    """Returns an array as a `TensorProto`."""
    proto = TensorProto(dtype=get_data_type(array.dtype))
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    if array.dtype.name in _IN_FIELDS:
        field = _TYPES[array.dtype.name][1]
        getattr(proto, field).extend(array.ravel().tolist())
    else:
        proto.tensor_content = array.tobytes()
    return proto


def has_more_fields(content, max_fields, max_items):
    """Returns whether parsing the bytes of a `PredictRequest` takes too long.

    The limits are `max_fields` fields and, for each tensor, `max_items` values
    that are fields, such as texts, and `max_items` axes. All tensors together
    may have twice as many. Up to these numbers, each field takes a microsecond.
    The parser deals with malformed messages.
    """
    levels = [
        (_INPUTS, max_fields),
        (_VALUE_OF_ENTRY, max_items),
        (_TENSOR_SHAPE, max_items),
        (None, max_items),
    ]
    try:
        rest = iter(range(2 * max_items))
        return _has_more_than(levels, rest, content, 0, len(content))
    except IndexError:
        return False


def _has_more_than(levels, rest, content, start, stop):
    """Returns whether a message, or one inside it, has too many fields.

    For each level of messages, `levels` holds the number of the field with the
    messages of the next level, and the maximum number of fields. `rest` has an
    item for each field that may still follow on any level.
    """
    (inner_field, maximum), *inner_levels = levels
    stop = min(stop, len(content))
    for number in itertools.count(1):
        if start >= stop:
            return False
        tag, start = _read_varint(content, start)
        size = _FIXED_SIZES.get(tag & 7, 0)
        if tag & 7 == 2:
            size, start = _read_varint(content, start)
        elif tag & 7 not in _FIXED_SIZES:
            _, start = _read_varint(content, start)
        if number > maximum or next(rest, None) is None:
            return True
        place = start, start + size
        if tag >> 3 == inner_field and _has_more_than(
            inner_levels, rest, content, *place
        ):
            return True
        start += size


def _read_varint(content, place):
    value = 0
    for shift in range(0, 64, 7):  # a number has at most 64 bits
        byte = content[place]
        value |= (byte & 127) << shift
        place += 1
        if byte < 128:
            break
    return value, place


def to_array(name, proto):
    """Returns the array in a `TensorProto`, ours or TensorFlow's.

    The name of the input is for error messages.
    """
    sizes = tuple(axis.size for axis in proto.tensor_shape.dim)
    if len(sizes) > limits.MAX_AXES:
        raise InvalidRequest(
            f"Input {name!r} must have at most {limits.MAX_AXES} axes. "
            f"Received: {len(sizes)}."
        )
    # A single value may stand for any number of equal ones.
    max_values = max(limits.MAX_REPEATED_VALUES, proto.ByteSize())
    if min(sizes, default=0) < 0 or math.prod(sizes) > max_values:
        raise InvalidRequest(
            f"Input {name!r} must have as many values as its shape says. "
            f"Received: shape {sizes}."
        )
    try:
        return _read_values(proto, math.prod(sizes)).reshape(sizes)
    # NumPy raises these for values that do not fit their type, their number or
    # a type that it does not know.
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidRequest(
            f"Input {name!r} is not a tensor: {error}."
        ) from error


def _read_values(proto, size):
    """Returns the values of a `TensorProto`, `(size,)` if they fit."""
    type_name = _NAMES.get(proto.dtype)
    if not type_name:
        raise ValueError(
            f"its type, {proto.dtype}, is not one of numbers or strings"
        )
    dtype = np.dtype(type_name)
    if proto.tensor_content:
        # A copy, because these bytes cannot be written to.
        return np.frombuffer(proto.tensor_content, dtype).copy()
    field = _TYPES[type_name][1]
    # A value has at most two parts, the real and the imaginary one.
    if len(getattr(proto, field)) > 2 * size:
        raise ValueError(f"it has more values than the {size} of its shape")
    parts = np.array(getattr(proto, field), _PARTS.get(field, dtype))
    values = parts.view(dtype) if field in _PARTS else parts
    # The last value stands for all missing ones.
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
