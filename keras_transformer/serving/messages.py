"""The messages of TF Serving's protocol, without TensorFlow.

`tensorflow_serving.apis` defines the same messages, but it imports TensorFlow,
which takes seconds. Here are the parts of them that a server or a client of
text models uses. A message keeps the fields that its definition lacks, and
passes them on.
"""

from google.protobuf import any_pb2
from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory
from google.protobuf import wrappers_pb2

# The index of a name is its number.
DATA_TYPES = (
    *("INVALID", "FLOAT", "DOUBLE", "INT32", "UINT8", "INT16", "INT8"),
    *("STRING", "COMPLEX64", "INT64", "BOOL", "QINT8", "QUINT8", "QINT32"),
    *("BFLOAT16", "QINT16", "QUINT16", "UINT16", "COMPLEX128", "HALF"),
    *("RESOURCE", "VARIANT", "UINT32", "UINT64"),
)
STATES = {
    "UNKNOWN": 0,
    "START": 10,
    "LOADING": 20,
    "AVAILABLE": 30,
    "UNLOADING": 40,
    "END": 50,
}
_ENUMS = {
    "DataType": {f"DT_{n}": i for i, n in enumerate(DATA_TYPES)},
    "State": STATES,
}
# For each message its fields, and for each field its number, its type, and
# "repeated" or "map", which has keys of type string.
_MESSAGES = {
    "Dim": {"size": (1, "int64"), "name": (2, "string")},
    "TensorShapeProto": {
        "dim": (2, "Dim", "repeated"),
        "unknown_rank": (3, "bool"),
    },
    "TensorProto": {
        "dtype": (1, "DataType"),
        "tensor_shape": (2, "TensorShapeProto"),
        "tensor_content": (4, "bytes"),
        "float_val": (5, "float", "repeated"),
        "double_val": (6, "double", "repeated"),
        "int_val": (7, "int32", "repeated"),
        "string_val": (8, "bytes", "repeated"),
        "scomplex_val": (9, "float", "repeated"),
        "int64_val": (10, "int64", "repeated"),
        "bool_val": (11, "bool", "repeated"),
        "dcomplex_val": (12, "double", "repeated"),
        "half_val": (13, "int32", "repeated"),
        "uint32_val": (16, "uint32", "repeated"),
        "uint64_val": (17, "uint64", "repeated"),
    },
    "TensorInfo": {
        "name": (1, "string"),
        "dtype": (2, "DataType"),
        "tensor_shape": (3, "TensorShapeProto"),
    },
    "SignatureDef": {
        "inputs": (1, "TensorInfo", "map"),
        "outputs": (2, "TensorInfo", "map"),
        "method_name": (3, "string"),
        "defaults": (4, "TensorProto", "map"),
    },
    "ModelSpec": {
        "name": (1, "string"),
        "version": (2, "google.protobuf.Int64Value"),
        "signature_name": (3, "string"),
        "version_label": (4, "string"),
    },
    "PredictRequest": {
        "model_spec": (1, "ModelSpec"),
        "inputs": (2, "TensorProto", "map"),
        "output_filter": (3, "string", "repeated"),
    },
    "PredictResponse": {
        "outputs": (1, "TensorProto", "map"),
        "model_spec": (2, "ModelSpec"),
    },
    "PredictLog": {
        "request": (1, "PredictRequest"),
        "response": (2, "PredictResponse"),
    },
    "PredictionLog": {"predict_log": (6, "PredictLog")},
    "SignatureDefMap": {"signature_def": (1, "SignatureDef", "map")},
    "GetModelMetadataRequest": {
        "model_spec": (1, "ModelSpec"),
        "metadata_field": (2, "string", "repeated"),
    },
    "GetModelMetadataResponse": {
        "model_spec": (1, "ModelSpec"),
        "metadata": (2, "google.protobuf.Any", "map"),
    },
    "GetModelStatusRequest": {"model_spec": (1, "ModelSpec")},
    "StatusProto": {
        "error_code": (1, "int32"),
        "error_message": (2, "string"),
    },
    "ModelVersionStatus": {
        "version": (1, "int64"),
        "state": (2, "State"),
        "status": (3, "StatusProto"),
    },
    "GetModelStatusResponse": {
        "model_version_status": (1, "ModelVersionStatus", "repeated")
    },
}
# `Any` names the message in it. All other names stay on this side of the wire.
_PACKAGE = "tensorflow.serving"
_FIELD = descriptor_pb2.FieldDescriptorProto


def _make_classes():
    """Returns the class of each message by its name."""
    # A pool of their own, because TensorFlow may register the same names.
    pool = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(
        name="keras_transformer.proto", package=_PACKAGE, syntax="proto3"
    )
    for library in (any_pb2, wrappers_pb2):
        pool.AddSerializedFile(library.DESCRIPTOR.serialized_pb)
        file.dependency.append(library.DESCRIPTOR.name)
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for value_name, number in values.items():
            enum.value.add(name=value_name, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field_name, (number, kind, *label) in fields.items():
            if label == ["map"]:
                kind = _add_entry(message, name, field_name, kind)
            _add_field(message, field_name, number, kind, bool(label))
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")
        )
        for name in _MESSAGES
    }


def _add_entry(message, name, field_name, kind):
    """Adds the message that a map is a list of; returns its name."""
    entry_name = field_name.title().replace("_", "") + "Entry"
    entry = message.nested_type.add(name=entry_name)
    entry.options.map_entry = True
    _add_field(entry, "key", 1, "string", False)
    _add_field(entry, "value", 2, kind, False)
    return f"{name}.{entry_name}"


def _add_field(message, name, number, kind, is_repeated):
    label = _FIELD.LABEL_REPEATED if is_repeated else _FIELD.LABEL_OPTIONAL
    field = message.field.add(name=name, number=number, label=label)
    if kind in _ENUMS:
        field.type = _FIELD.TYPE_ENUM
    elif kind[0].islower() and "." not in kind:
        field.type = _FIELD.Type.Value(f"TYPE_{kind.upper()}")
        return
    else:
        field.type = _FIELD.TYPE_MESSAGE
    is_ours = not kind.startswith("google.")
    field.type_name = f".{_PACKAGE}.{kind}" if is_ours else f".{kind}"


_classes = _make_classes()
GetModelMetadataRequest = _classes["GetModelMetadataRequest"]
GetModelMetadataResponse = _classes["GetModelMetadataResponse"]
GetModelStatusRequest = _classes["GetModelStatusRequest"]
GetModelStatusResponse = _classes["GetModelStatusResponse"]
PredictionLog = _classes["PredictionLog"]
PredictRequest = _classes["PredictRequest"]
PredictResponse = _classes["PredictResponse"]
SignatureDef = _classes["SignatureDef"]
SignatureDefMap = _classes["SignatureDefMap"]
TensorProto = _classes["TensorProto"]
