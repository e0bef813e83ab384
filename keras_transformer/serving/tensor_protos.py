"""Converts between arrays and the tensors of gRPC messages."""

import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from keras_transformer.serving import limits
from keras_transformer.serving.errors import invalid

# Fields of a `TensorProto` that hold the values of a type. Clients without
# TensorFlow read these; `tensor_content` is hard to read for them.
_VALUE_FIELDS = {
    np.dtype(object): "string_val",
    np.dtype("float32"): "float_val",
    np.dtype("float64"): "double_val",
    np.dtype("int32"): "int_val",
    np.dtype("int64"): "int64_val",
    np.dtype("bool"): "bool_val",
}


def to_array(name, proto):
    """Returns the array in a `TensorProto`.

    Args:
        name: Name of the argument, for error messages.
        proto: `TensorProto` to read.

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
    try:
        return tf.make_ndarray(proto)
    # `make_ndarray` raises all of these for messages of unknown types and for
    # values that do not fit their type.
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise invalid(f"Input {name!r} is not a tensor: {error}.") from error


def to_proto(array):
    """Returns an array as a `TensorProto`."""
    if array.dtype not in _VALUE_FIELDS:
        return tf.make_tensor_proto(array)  # with the values as raw bytes
    proto = tensor_pb2.TensorProto(
        dtype=tf.as_dtype(array.dtype).as_datatype_enum,
        tensor_shape=tf.TensorShape(array.shape).as_proto(),
    )
    getattr(proto, _VALUE_FIELDS[array.dtype]).extend(array.ravel().tolist())
    return proto
