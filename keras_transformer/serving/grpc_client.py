"""A client that asks over gRPC."""

import os
import pathlib

import grpc
import numpy as np
from google.protobuf.message import DecodeError

from keras_transformer.serving import limits
from keras_transformer.serving import messages
from keras_transformer.serving import responses

_PREDICT = "/tensorflow.serving.PredictionService/Predict"


class GrpcClient:
    """Asks over gRPC and keeps its channel open between requests."""

    def __init__(
        self, address, model_name, model_version, timeout_secs, api_key=None
    ):
        self._address = address
        self._channel = _open_channel(address)
        # The response arrives as bytes. If gRPC parsed it, a malformed one
        # would put a traceback into the log.
        self._predict = self._channel.unary_unary(_PREDICT)
        self._model = {"name": model_name}
        if model_version is not None:
            self._model["version"] = {"value": model_version}
        self._timeout = timeout_secs
        # Names are in small letters.
        self._key = api_key and [("authorization", f"Bearer {api_key}")]

    def __call__(self, texts, terms=None):
        """Returns the `Response` for texts, and for rows of their terms."""
        request = self._make_request(texts, terms)
        try:
            content = self._predict(request, self._timeout, metadata=self._key)
        except grpc.RpcError as error:
            raise self._explain(error, terms is not None) from error
        try:
            outputs = messages.PredictResponse.FromString(content).outputs
            if not {"translations", "scores"} <= set(outputs):
                raise ValueError(f"the results {sorted(outputs)}")
            translations, scores = (
                messages.to_array(name, outputs[name]).tolist()
                for name in ("translations", "scores")
            )
            return responses.check_response(
                _decode(translations), scores, len(texts)
            )
        except (DecodeError, ValueError) as error:
            raise responses.explain(
                "no translation", self._address, error
            ) from error

    def close(self):
        """Closes the channel."""
        self._channel.close()

    def _make_request(self, texts, terms):
        request = messages.PredictRequest(model_spec=self._model)
        inputs = {"text": texts}
        if terms is not None:
            inputs["terms"] = terms
            request.model_spec.signature_name = responses.WITH_TERMS
        for name, value in inputs.items():
            array = np.array(_encode(value), object)
            request.inputs[name].CopyFrom(messages.to_proto(array))
        return request.SerializeToString()

    def _explain(self, error, has_terms):
        code, details = error.code(), error.details() or ""
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            fault, details = "late", f"{self._timeout:g}"
        elif code is grpc.StatusCode.UNAVAILABLE:
            # The library has the same code for a server that is not there.
            is_there = error.trailing_metadata()
            fault = "unavailable" if is_there else "unreachable"
        else:
            lacks = has_terms and code is grpc.StatusCode.FAILED_PRECONDITION
            fault = "refusal of terms" if lacks else "refusal"
            details = f"{code.name}, {details}"
        return responses.explain(fault, self._address, details)


def _open_channel(address):
    # gRPC's default of 4 MiB may be too little for translations of many texts.
    options = [("grpc.max_receive_message_length", limits.MAX_RESPONSE_BYTES)]
    if address.scheme == "http":
        return grpc.insecure_channel(str(address), options)
    # Python's `ssl`, and so the client of REST, reads this variable as well.
    path = os.environ.get("SSL_CERT_FILE")
    roots = pathlib.Path(path).read_bytes() if path else None
    credentials = grpc.ssl_channel_credentials(roots)
    return grpc.secure_channel(str(address), credentials, options)


def _encode(value):
    """Returns nested lists of str as nested lists of bytes."""
    if isinstance(value, str):
        return value.encode()
    return [_encode(item) for item in value]


def _decode(value):
    """Returns nested lists of bytes as nested lists of str."""
    if isinstance(value, list):
        return [_decode(item) for item in value]
    # Byte pieces of a vocabulary may combine to invalid UTF-8.
    return value.decode(errors="replace") if isinstance(value, bytes) else value
