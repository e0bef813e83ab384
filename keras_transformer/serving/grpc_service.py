"""TF Serving's gRPC services for predictions and model status."""

import concurrent.futures
import functools
import json
import pathlib
import threading
import time

import grpc
import numpy as np
from google.protobuf.message import DecodeError

from keras_transformer.serving import errors
from keras_transformer.serving import forms
from keras_transformer.serving import limits
from keras_transformer.serving import messages
from keras_transformer.serving.service import list_outputs
from keras_transformer.serving.signature import check_names

_HEALTH = "/grpc.health.v1.Health/Check"


def make_server(service, host, port, tls=None, keys=None):
    """Returns a gRPC server, which the caller starts, and its port.

    The arguments are as for `HttpServer`, with a `Service` instead of `app`,
    and the `keys` of `RestApp`.
    """
    options = {
        "grpc.max_receive_message_length": limits.MAX_BODY_BYTES,
        "grpc.max_send_message_length": -1,
        "grpc.max_allowed_incoming_connections": limits.MAX_GRPC_CONNECTIONS,
        "grpc.max_concurrent_streams": limits.MAX_CALLS_OF_CONNECTION,
        "grpc.server_handshake_timeout_ms": 1000 * limits.REQUEST_SECONDS,
        "grpc.max_connection_idle_ms": 1000 * limits.IDLE_SECONDS,
        "grpc.max_connection_age_ms": 1000 * limits.GRPC_SECONDS,
        "grpc.max_connection_age_grace_ms": 1000 * limits.GRPC_GRACE_SECONDS,
        # Otherwise two servers could share a port unnoticed.
        "grpc.so_reuseport": 0,
    }
    server = grpc.server(
        # Each call holds a thread that waits for its results.
        concurrent.futures.ThreadPoolExecutor(limits.MAX_CALLS, "grpc"),
        [_Responder(service, keys)],
        options=list(options.items()),
        maximum_concurrent_rpcs=limits.MAX_CALLS,  # refused with a code
    )
    address = errors.format_address(host, port)
    try:
        if tls is None:
            return server, server.add_insecure_port(address)
        certificate, key = (pathlib.Path(path).read_bytes() for path in tls)
        credentials = grpc.ssl_server_credentials([(key, certificate)])
        return server, server.add_secure_port(address, credentials)
    except RuntimeError as error:  # how gRPC reports a taken port
        raise errors.explain_occupied_port(host, port, error) from error


class _Responder(grpc.GenericRpcHandler):
    """Turns the bytes of a request into the message of the response."""

    def __init__(self, service, keys):
        self._service = service
        self._keys = keys
        self._parsing = threading.Semaphore(limits.MAX_PARSED_AT_ONCE)
        self._functions = {
            "PredictionService/Predict": self._predict,
            "PredictionService/GetModelMetadata": self._get_metadata,
            "ModelService/GetModelStatus": self._get_status,
        }

    def service(self, call):
        """Returns the handler of a call, or None for an unknown method."""
        if call.method == _HEALTH:  # what orchestrators ask; needs no key
            return grpc.unary_unary_rpc_method_handler(self._check_health)
        name = call.method.removeprefix("/tensorflow.serving.")
        function = self._functions.get(name)
        # The messages arrive as bytes. If gRPC parsed them, malformed ones
        # would become internal errors with a traceback in the log.
        return function and grpc.unary_unary_rpc_method_handler(
            functools.partial(self._follow, name, function)
        )

    def _follow(self, name, function, content, context):
        """Returns the bytes of a response, or ends the call with a code."""
        facts = "grpc", name, None, context.peer()
        with self._service.monitor.follow(*facts) as request:
            # gRPC does not add functions to a call that has ended.
            if not context.add_callback(request.end):
                request.end()
            try:
                response = self._respond(function, content, context)
                request.status = "OK"
                return response
            except Exception as found:
                error = errors.explain(found)
            request.status = error.code
            is_large = len(content) > limits.MAX_SMALL_BYTES
            if error.code == "INVALID_ARGUMENT" and is_large:
                time.sleep(limits.REFUSAL_SECONDS)
            # Clients can tell the server's UNAVAILABLE from their library's.
            context.set_trailing_metadata([("server", "kt-serve")])
            # Outside of the `try`, because `abort` raises an exception itself.
            code = getattr(grpc.StatusCode, error.code)
            context.abort(code, str(error))

    def _respond(self, function, content, context):
        if self._keys:
            metadata = dict(context.invocation_metadata())
            key = metadata.get("authorization", "")
            self._keys.check(key, self._service.monitor)
        return function(content, context).SerializeToString()

    def _check_health(self, content, context):
        """Returns the bytes of gRPC's `HealthCheckResponse`."""
        try:
            self._service.check_ready()
        except errors.RequestError:
            return b"\x08\x02"  # the status NOT_SERVING
        return b"\x08\x01"  # SERVING

    def _predict(self, content, context):
        with self._service.monitor.take_turn(self._parsing):
            spec, version, model, names, arrays, options = self._read(content)
        name = spec.signature_name
        call = self._service.submit(model, name, arrays, options)
        outputs = call.wait(_get_seconds_left(context))
        spec.version.value = version
        spec.ClearField("version_label")
        response = messages.PredictResponse(model_spec=spec)
        if not names:
            names = list_outputs(model.signatures[name], options, outputs)
        for name in names:
            array = _make_tensor(name, outputs[name])
            response.outputs[name].CopyFrom(messages.to_proto(array))
        return response

    def _read(self, content):
        """Reads a request to predict; the message is dropped afterwards."""
        request = _parse(messages.PredictRequest, content)
        spec = request.model_spec
        version, model = self._service.find(*_get_requested_model(spec))
        name, signature = self._service.find_signature(
            model, spec.signature_name
        )
        spec.signature_name = name
        # An input of the signature is no option, whatever its name.
        extra = set(forms.Options._fields) & set(request.inputs)
        extra -= set(signature.inputs)
        # One small message can stand for a large array, and many have names.
        check_names(signature.inputs, request.inputs.keys() - extra)
        arrays = {
            name: messages.to_array(name, proto)
            for name, proto in request.inputs.items()
        }
        options = forms.read_options(
            {name: _read_option(name, arrays.pop(name)) for name in extra}
        )
        names = list(request.output_filter)
        # Wrong names are refused before the model runs.
        available = list_outputs(signature, options, {})
        if not set(names) <= set(available):
            raise errors.InvalidRequest(
                f"The signature has the outputs {', '.join(available)}."
                " Received: output tensor alias not found in signature: "
                f"{', '.join(names)}."
            )
        copy = type(spec)()
        copy.CopyFrom(spec)  # a part would keep the whole message in memory
        return copy, version, model, names, arrays, options

    def _get_metadata(self, content, context):
        with self._service.monitor.take_turn(self._parsing):
            request = _parse(messages.GetModelMetadataRequest, content)
        # TF Serving knows no other field either.
        fields = list(request.metadata_field)
        if fields != ["signature_def"]:
            raise errors.InvalidRequest(
                "metadata_field must be signature_def. Received: "
                f"{', '.join(fields) or 'none'}."
            )
        version, signatures = self._service.get_metadata(
            *_get_requested_model(request.model_spec)
        )
        response = messages.GetModelMetadataResponse()
        response.model_spec.name = request.model_spec.name
        response.model_spec.version.value = version
        response.metadata["signature_def"].Pack(signatures)
        return response

    def _get_status(self, content, context):
        with self._service.monitor.take_turn(self._parsing):
            request = _parse(messages.GetModelStatusRequest, content)
        return self._service.get_status(
            *_get_requested_model(request.model_spec)
        )


def _parse(message_class, content):
    # Protobuf takes 100 times as long for many names as for one tensor, and
    # meanwhile nothing else runs in Python. Only this request has texts.
    has_texts = message_class is messages.PredictRequest
    max_items = limits.MAX_TEXTS if has_texts else limits.MAX_FIELDS
    if messages.has_more_fields(content, limits.MAX_FIELDS, max_items):
        raise errors.InvalidRequest(
            f"A request must have at most {limits.MAX_FIELDS} inputs and names "
            f"of outputs, an input at most {limits.MAX_TEXTS} texts, and all "
            "inputs at most twice as many. Received: more. Send fewer."
        )
    try:
        request = message_class.FromString(content)
    except DecodeError as error:
        raise errors.InvalidRequest(
            f"A request must be a {message_class.__name__}. Received: "
            f"{len(content)} other bytes ({error})."
        ) from error
    if not request.HasField("model_spec"):
        raise errors.InvalidRequest("Missing ModelSpec")
    return request


def _read_option(name, array):
    """Returns the value in the tensor of an option."""
    try:
        (value,) = array.ravel().tolist()
        return value.decode() if isinstance(value, bytes) else value
    except ValueError as error:  # of many values, or of bytes
        raise errors.InvalidRequest(
            f"`{name}` must be one value, and a text must be UTF-8. Received: "
            f"{error}. Send a tensor of a single value."
        ) from error


def _make_tensor(name, array):
    """Returns what a model says of each text as an array of a type of gRPC."""
    if name == "quality":
        return array.astype("float32")  # NaN stands for an unknown one
    if name in ("alignments", "warnings"):
        return np.array([json.dumps(one).encode() for one in array], object)
    return array


def _get_requested_model(spec):
    version = spec.version.value if spec.HasField("version") else None
    return spec.name, version, spec.version_label


def _get_seconds_left(context):
    """Returns the time until the deadline of a call, or until our limit."""
    seconds = context.time_remaining()
    if seconds is None:
        return limits.PREDICT_SECONDS
    return min(max(seconds, 0), limits.PREDICT_SECONDS)
