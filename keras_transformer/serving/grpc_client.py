"""A client that asks over gRPC."""

import numpy as np

from keras_transformer.serving import answers
from keras_transformer.serving import limits
from keras_transformer.serving.errors import LOADING
from keras_transformer.serving.errors import QUEUE_FULL

_PREDICT = "/tensorflow.serving.PredictionService/Predict"


class GrpcClient:
    """Asks over gRPC and keeps its channel open between requests.

    Args:
        address: Address with a `hostname` and a `port`.
        model_name: Name of the model on the server.
        model_version: Integer number of the version, or None for the newest.
        timeout_secs: Largest number of seconds for a whole answer.

    Raises:
        ValueError: If the extra `serving` is not installed.
    """

    def __init__(self, address, model_name, model_version, timeout_secs):
        # Imported here because REST needs neither gRPC nor its messages.
        try:
            import grpc

            from keras_transformer.serving import messages
        except ModuleNotFoundError as error:
            raise ValueError(
                "gRPC needs the extra `serving`. Received: no module "
                f"{error.name}. Run pip install '.[serving]', or use "
                "protocol=rest."
            ) from error
        self._address = address
        # gRPC's default of 4 MiB may be too little for the translations of
        # a long list of texts.
        size = ("grpc.max_receive_message_length", limits.MAX_ANSWER_BYTES)
        self._channel = grpc.insecure_channel(str(address), [size])
        # The answer arrives as bytes. If gRPC parsed it, a malformed one would
        # put a traceback into the log.
        self._predict = self._channel.unary_unary(_PREDICT)
        self._response_class = messages.PredictResponse
        # Only the signature and its inputs change from call to call.
        self._request = messages.PredictRequest()
        self._request.model_spec.name = model_name
        if model_version is not None:
            self._request.model_spec.version.value = model_version
        self._timeout = timeout_secs

    def __call__(self, texts, terms=None):
        """Returns the `Answer` for texts, and for rows of their terms."""
        import grpc

        request = self._request_of(texts, terms)
        try:
            content = self._predict(request, self._timeout)
        except grpc.RpcError as error:
            raise self._explain(error, grpc.StatusCode) from error
        return self._read(content, len(texts))

    def close(self):
        """Closes the channel."""
        self._channel.close()

    def _request_of(self, texts, terms):
        from keras_transformer.serving.tensor_protos import to_proto

        inputs, signature_name = {"text": texts}, ""
        if terms is not None:
            inputs["terms"], signature_name = terms, answers.WITH_TERMS
        self._request.model_spec.signature_name = signature_name
        self._request.ClearField("inputs")
        for name, value in inputs.items():
            array = np.array(_encode(value), object)
            self._request.inputs[name].CopyFrom(to_proto(array))
        return self._request.SerializeToString()

    def _read(self, content, num_texts):
        from google.protobuf.message import DecodeError

        from keras_transformer.serving.tensor_protos import to_array

        try:
            outputs = self._response_class.FromString(content).outputs
            missing = {"translations", "scores"} - set(outputs)
            if missing:
                raise ValueError(f"the results {sorted(outputs)}")
            translations, scores = (
                to_array(name, outputs[name]).tolist()
                for name in ("translations", "scores")
            )
            return answers.checked_answer(
                _decode(translations), scores, num_texts
            )
        except (DecodeError, ValueError) as error:
            raise answers.not_a_translator(self._address, error) from error

    def _explain(self, error, codes):
        details = error.details() or ""
        # The server is there if it says so itself.
        is_there = LOADING in details or QUEUE_FULL in details
        if error.code() == codes.UNAVAILABLE and not is_there:
            return answers.unreachable(self._address, details)
        if error.code() == codes.DEADLINE_EXCEEDED:
            return answers.too_late(self._address, self._timeout)
        return answers.refused(self._address, f"{error.code().name}, {details}")


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
