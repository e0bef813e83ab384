"""A client that asks over gRPC."""

import os
import pathlib

import grpc
import numpy as np
from google.protobuf.message import DecodeError

from keras_transformer.serving import limits
from keras_transformer.serving import messages
from keras_transformer.serving.responses import Client

_PREDICT = "/tensorflow.serving.PredictionService/Predict"
_encode = np.frompyfunc(str.encode, 1, 1)  # of an array of texts


class GrpcClient(Client):
    """Asks over gRPC and keeps its channel open between requests."""

    def __init__(self, address, model_name, model_version, timeout_secs, key):
        super().__init__(address, timeout_secs)
        self._channel = _open_channel(address)
        # The response arrives as bytes. If gRPC parsed it, a malformed one
        # would put a traceback into the log.
        self._predict = self._channel.unary_unary(_PREDICT)
        self._model = {"name": model_name}
        if model_version is not None:
            self._model["version"] = {"value": model_version}
        # Names are in small letters.
        self._metadata = key and [("authorization", f"Bearer {key}")]

    def close(self):
        """Closes the channel."""
        self._channel.close()

    def _ask(self, inputs, signature_name):
        request = messages.PredictRequest(
            model_spec={**self._model, "signature_name": signature_name}
        )
        for name, values in inputs.items():
            array = _encode(np.array(values, object))
            request.inputs[name].CopyFrom(messages.to_proto(array))
        try:
            content = self._predict(
                request.SerializeToString(),
                self._timeout,
                metadata=self._metadata,
            )
        except grpc.RpcError as error:
            raise self._explain_code(error, signature_name) from error
        try:
            outputs = messages.PredictResponse.FromString(content).outputs
        except DecodeError as error:
            raise ValueError(error) from error
        if not {"translations", "scores"} <= set(outputs):
            raise ValueError(f"the results {sorted(outputs)}")
        translations, scores = (
            messages.to_array(name, outputs[name]).tolist()
            for name in ("translations", "scores")
        )
        return _decode(translations), scores

    def _explain_code(self, error, signature_name):
        code, details = error.code(), error.details() or ""
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return self._explain("late", f"{self._timeout:g}")
        if code is grpc.StatusCode.UNAVAILABLE:
            # The library has the same code for a server that is not there.
            is_there = error.trailing_metadata()
            fault = "unavailable" if is_there else "unreachable"
            return self._explain(fault, details)
        is_bad = code is grpc.StatusCode.FAILED_PRECONDITION
        fault = "refusal of terms" if is_bad and signature_name else "refusal"
        return self._explain(fault, f"{code.name}, {details}")


def _open_channel(address):
    # gRPC's default of 4 MiB may be too little for translations of many texts.
    options = [("grpc.max_receive_message_length", limits.MAX_RESPONSE_BYTES)]
    if address.scheme == "http":
        return grpc.insecure_channel(address.netloc, options)
    # Python's `ssl`, and so the client of REST, reads this variable as well.
    path = os.environ.get("SSL_CERT_FILE")
    roots = pathlib.Path(path).read_bytes() if path else None
    credentials = grpc.ssl_channel_credentials(roots)
    return grpc.secure_channel(address.netloc, credentials, options)


def _decode(value):
    """Returns nested lists of bytes as nested lists of str."""
    if isinstance(value, list):
        return [_decode(item) for item in value]
    # Byte pieces of a vocabulary may combine to invalid UTF-8.
    return value.decode(errors="replace") if isinstance(value, bytes) else value
