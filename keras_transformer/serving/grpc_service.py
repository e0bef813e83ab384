"""TF Serving's gRPC services for predictions and model status."""

import concurrent.futures
import math
import threading

import grpc
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import get_model_metadata_pb2
from tensorflow_serving.apis import get_model_status_pb2
from tensorflow_serving.apis import model_service_pb2_grpc
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc

from keras_transformer.serving.errors import CODES
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.errors import invalid
from keras_transformer.serving.limits import MAX_BODY_BYTES

MAX_CONCURRENT_REQUESTS = 128  # each holds a thread that waits for its results

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


def make_server(service, host, port):
    """Creates a gRPC server without starting it.

    Args:
        service: `Service` that answers the requests.
        host: Host name or address to listen on.
        port: Integer port to listen on; 0 stands for any free port.

    Returns:
        The server, to be started by the caller, and its port.

    Raises:
        OSError: If the server cannot listen there.
    """
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(MAX_CONCURRENT_REQUESTS, "grpc"),
        options=[
            ("grpc.max_receive_message_length", MAX_BODY_BYTES),
            ("grpc.max_send_message_length", -1),
            # Otherwise two servers could share a port unnoticed.
            ("grpc.so_reuseport", 0),
        ],
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        _PredictionService(service), server
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(
        _ModelService(service), server
    )
    # An IPv6 address needs brackets in front of a port.
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        bound_port = server.add_insecure_port(address)
    except RuntimeError as error:  # how gRPC reports a taken port
        raise OSError(str(error)) from error
    return server, bound_port


class _PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, service):
        self._service = service

    def Predict(self, request, context):
        return _answer(context, self._predict, request)

    def GetModelMetadata(self, request, context):
        return _answer(context, self._metadata, request)

    def _predict(self, request, seconds_left):
        service = self._service
        version, model = service.find(*_requested_model(request.model_spec))
        name, signature = service.signature(
            model, request.model_spec.signature_name
        )
        output_names = list(request.output_filter) or list(signature.outputs)
        # Wrong names are refused before the model runs.
        if not set(output_names) <= set(signature.outputs):
            raise invalid(
                "output tensor alias not found in signature: "
                f"{', '.join(output_names)}. The signature has: "
                f"{', '.join(signature.outputs)}."
            )
        arrays = {
            name: to_array(name, proto)
            for name, proto in request.inputs.items()
        }
        outputs = service.predict(model, name, arrays, seconds_left)
        response = predict_pb2.PredictResponse()
        _fill_spec(response.model_spec, request, version)
        response.model_spec.signature_name = name
        for output_name in output_names:
            response.outputs[output_name].CopyFrom(
                to_proto(outputs[output_name])
            )
        return response

    def _metadata(self, request, seconds_left):
        # TF Serving knows no other field either.
        fields = list(request.metadata_field)
        if fields != ["signature_def"]:
            raise invalid(
                "metadata_field must be signature_def. Received: "
                f"{', '.join(fields) or 'none'}."
            )
        version, model = self._service.find(
            *_requested_model(request.model_spec)
        )
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for name, definition in model.signature_defs.items():
            signatures.signature_def[name].CopyFrom(definition)
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        _fill_spec(response.model_spec, request, version)
        response.metadata["signature_def"].Pack(signatures)
        return response


class _ModelService(model_service_pb2_grpc.ModelServiceServicer):
    def __init__(self, service):
        self._service = service

    def GetModelStatus(self, request, context):
        return _answer(context, self._status, request)

    def _status(self, request, seconds_left):
        statuses = self._service.statuses(*_requested_model(request.model_spec))
        response = get_model_status_pb2.GetModelStatusResponse()
        states = get_model_status_pb2.ModelVersionStatus.State
        for number, status in statuses.items():
            entry = response.model_version_status.add()
            entry.version = number
            entry.state = states.Value(status.state)
            entry.status.error_code = CODES.index(status.code)
            entry.status.error_message = status.message
        return response


def to_array(name, proto):
    """Returns the array in a `TensorProto`.

    Args:
        name: Name of the argument, for error messages.
        proto: `TensorProto` to read.

    Raises:
        RequestError: If the `TensorProto` does not describe an array.
    """
    # A single value may stand for any number of equal ones. Without this
    # check a request of a few bytes could ask for more than the memory.
    sizes = [axis.size for axis in proto.tensor_shape.dim]
    if min(sizes, default=0) < 0 or math.prod(sizes) > MAX_BODY_BYTES:
        raise invalid(f"Input {name!r} cannot have shape {tuple(sizes)}.")
    try:
        return tf.make_ndarray(proto)
    except (TypeError, ValueError) as error:
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


def _answer(context, answer, request):
    """Returns the answer, or ends the call with the code of an error."""
    if not request.HasField("model_spec"):
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "Missing ModelSpec")
    seconds = context.time_remaining()
    if seconds and seconds > threading.TIMEOUT_MAX:
        seconds = None  # gRPC reports a missing deadline as a huge number
    try:
        return answer(request, seconds)
    except RequestError as error:
        code, message = error.code, str(error)
    except Exception as error:
        code, message = "INTERNAL", repr(error)
    # Outside of the `try`, because `abort` raises an exception itself.
    context.abort(getattr(grpc.StatusCode, code), message)


def _requested_model(spec):
    """Returns name, version and label of the requested model."""
    version = spec.version.value if spec.HasField("version") else None
    return spec.name, version, spec.version_label


def _fill_spec(spec, request, version):
    spec.name = request.model_spec.name
    spec.version.value = version
