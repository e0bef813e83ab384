"""TF Serving's gRPC services for predictions and model status."""

import concurrent.futures
import functools
import threading

import grpc
from google.protobuf.message import DecodeError

from keras_transformer.serving import limits
from keras_transformer.serving import messages
from keras_transformer.serving.addresses import host_and_port
from keras_transformer.serving.errors import CODES
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.errors import invalid
from keras_transformer.serving.signature import check_names
from keras_transformer.serving.tensor_protos import to_array
from keras_transformer.serving.tensor_protos import to_proto


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
        # Each call holds a thread that waits for its results.
        concurrent.futures.ThreadPoolExecutor(limits.MAX_CALLS, "grpc"),
        _handlers(service),
        options=_options(),
        maximum_concurrent_rpcs=limits.MAX_CALLS,  # refused with a code
    )
    try:
        bound_port = server.add_insecure_port(host_and_port(host, port))
    except RuntimeError as error:  # how gRPC reports a taken port
        raise OSError(str(error)) from error
    return server, bound_port


def _options():
    """Returns the options of a server."""
    return [
        ("grpc.max_receive_message_length", limits.MAX_BODY_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_allowed_incoming_connections", limits.MAX_GRPC_CONNECTIONS),
        ("grpc.max_concurrent_streams", limits.MAX_CALLS_OF_CONNECTION),
        ("grpc.max_connection_idle_ms", 1000 * limits.IDLE_SECONDS),
        ("grpc.max_connection_age_ms", 1000 * limits.GRPC_SECONDS),
        ("grpc.max_connection_age_grace_ms", 1000 * limits.GRPC_GRACE_SECONDS),
        # Otherwise two servers could share a port unnoticed.
        ("grpc.so_reuseport", 0),
    ]


def _handlers(service):
    """Returns the handlers of all methods; other methods are unimplemented."""
    answers = _Answers(service)
    return [
        grpc.method_handlers_generic_handler(
            f"tensorflow.serving.{name}",
            {
                # The messages arrive as bytes. If gRPC parsed them, malformed
                # ones would become internal errors with a traceback in the log.
                method: grpc.unary_unary_rpc_method_handler(
                    functools.partial(_answer, function)
                )
                for method, function in methods.items()
            },
        )
        for name, methods in (
            (
                "PredictionService",
                {
                    "Predict": answers.predict,
                    "GetModelMetadata": answers.metadata,
                },
            ),
            ("ModelService", {"GetModelStatus": answers.status}),
        )
    ]


class _Answers:
    """Returns the message that answers the bytes of a request."""

    def __init__(self, service):
        self._service = service
        self._parsing = threading.Semaphore(limits.MAX_PARSED_AT_ONCE)

    def predict(self, content, context):
        with self._parsing:
            spec, version, model, output_names, arrays = self._read(content)
        outputs = self._service.predict(
            model,
            spec.signature_name,
            arrays,
            _seconds_left(context),
            functools.partial(_call_at_end, context),
        )
        response = messages.PredictResponse()
        _fill_spec(response.model_spec, spec, version)
        response.model_spec.signature_name = spec.signature_name
        for name in output_names:
            response.outputs[name].CopyFrom(to_proto(outputs[name]))
        return response

    def _read(self, content):
        """Reads a request to predict; the message is dropped afterwards."""
        request = _parse(messages.PredictRequest, content)
        spec = request.model_spec
        version, model = self._service.find(*_requested_model(spec))
        name, signature = self._service.signature(model, spec.signature_name)
        spec.signature_name = name
        output_names = list(request.output_filter) or list(signature.outputs)
        # Wrong names are refused before the model runs.
        if not set(output_names) <= set(signature.outputs):
            raise invalid(
                f"The signature has the outputs {', '.join(signature.outputs)}."
                " Received: output tensor alias not found in signature: "
                f"{', '.join(output_names)}."
            )
        # One small message can stand for a large array, and many have names.
        check_names(signature.inputs, request.inputs)
        arrays = {
            name: to_array(name, proto)
            for name, proto in request.inputs.items()
        }
        copy = type(spec)()
        copy.CopyFrom(spec)  # a part would keep the whole message in memory
        return copy, version, model, output_names, arrays

    def metadata(self, content, context):
        request = _parse(messages.GetModelMetadataRequest, content)
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
        signatures = messages.SignatureDefMap()
        for name, definition in model.signature_defs.items():
            # It may be TensorFlow's message, which has the same bytes.
            content = definition.SerializeToString()
            signatures.signature_def[name].ParseFromString(content)
        response = messages.GetModelMetadataResponse()
        _fill_spec(response.model_spec, request.model_spec, version)
        response.metadata["signature_def"].Pack(signatures)
        return response

    def status(self, content, context):
        request = _parse(messages.GetModelStatusRequest, content)
        statuses = self._service.statuses(*_requested_model(request.model_spec))
        response = messages.GetModelStatusResponse()
        for number, status in statuses.items():
            entry = response.model_version_status.add()
            entry.version = number
            entry.state = messages.STATES[status.state]
            entry.status.error_code = CODES.index(status.code)
            entry.status.error_message = status.message
        return response


def _answer(function, content, context):
    """Returns the bytes of an answer, or ends the call with an error's code."""
    try:
        return function(content, context).SerializeToString()
    except RequestError as error:
        code, message = error.code, str(error)
    except Exception as error:
        code, message = "INTERNAL", repr(error)[: limits.MAX_MESSAGE_CHARACTERS]
    # Outside of the `try`, because `abort` raises an exception itself.
    context.abort(getattr(grpc.StatusCode, code), message)


def _parse(message_class, content):
    try:
        request = message_class.FromString(content)
    except DecodeError as error:
        raise invalid(
            f"A request must be a {message_class.__name__}. Received: "
            f"{len(content)} other bytes ({error})."
        ) from error
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    return request


def _seconds_left(context):
    """Returns the time until the deadline of a call, or None without one."""
    seconds = context.time_remaining()
    # gRPC may report a missing deadline as a huge number.
    has_deadline = seconds is not None and seconds < threading.TIMEOUT_MAX
    return max(seconds, 0) if has_deadline else None


def _call_at_end(context, function):
    # gRPC does not add functions to a call that has ended.
    if not context.add_callback(function):
        function()


def _requested_model(spec):
    """Returns name, version and label of the requested model."""
    version = spec.version.value if spec.HasField("version") else None
    return spec.name, version, spec.version_label


def _fill_spec(spec, requested, version):
    spec.name = requested.name
    spec.version.value = version
