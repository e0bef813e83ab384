"""Faulty requests that a server must refuse with the right error."""

import functools
import http.client
import json
import socket

import numpy as np

SECONDS = 60  # for an answer

# REST: the rest of the path after the model's name, the body, and the HTTP
# status that must answer it.
_REST = (
    (":predict", b'{"instances": ["A dog"]', 400),
    (":predict", b"\xff\xfe\x00", 400),
    (":predict", b'{"instances": ["\\ud800"]}', 400),
    (":predict", b'{"instances": [1, 2]}', 400),
    (":predict", b'{"instances": [["A", "dog"]]}', 400),
    (":predict", b'{"instances": []}', 400),
    (":predict", b'{"instances": [' + b'"a",' * 9999 + b'"a"]}', 400),
    (":predict", b'{"inputs": {"words": ["A dog"]}}', 400),
    (":predict", b'{"signature_name": "none", "inputs": ["A dog"]}', 400),
    (":predict", b"[" * 5000, 400),
    ("/versions/999999:predict", b'{"inputs": ["A dog"]}', 404),
    ("-none:predict", b'{"inputs": ["A dog"]}', 404),
    (":translate", b"{}", 400),
    (":classify", b"{}", 501),
)
# Paths of translation tools. A server without languages refuses them as well.
_TOOLS = (
    ("/translate", b"{", 400),
    ("/translate", b"q=a&source=klingon&target=tlh", 400),
    ("/translate", b'{"q": [1], "source": "auto", "target": "de"}', 400),
    ("/translate", b"format=html&q=" + b"<!--" * 50_000, 400),
    ("/translate", b"a=&" * 50_000, 400),
    ("/v1/chat/completions", b"[" * 5000, 400),
    ("/v1/chat/completions", b"\xff", 400),
)
# HTTP: the bytes on a new connection, and the status that must answer them. The
# client disconnects in the middle of requests without a status.
_POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
_HTTP = (
    (b"GET / HTTP/1.1\r\nX : y\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\r\n", 400),
    (_POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    (_POST + b"Content-Length: 999999999\r\n\r\n", 413),
    (b"GET /" + b"x" * 99_999 + b" HTTP/1.1\r\n", 431),
    (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 9999, 431),
    (_POST + b"Content-Length: 99\r\n\r\n{", None),
    (b"GET", None),
)


class Faults:
    """Sends faulty requests and tells whether the right error came back.

    Args:
        addresses: Dictionary from "grpc" or "rest" to a server's address.
        model_name: Name of the model on the server.
    """

    def __init__(self, addresses, model_name):
        self._kinds = {}
        if "rest" in addresses:
            self._add_rest(addresses["rest"], model_name)
        if "grpc" in addresses:
            self._add_grpc(addresses["grpc"], model_name)

    def send(self, random):
        """Sends a faulty request of any kind.

        Args:
            random: `random.Random` that chooses it.

        Returns:
            The name of its kind, and whether it was answered rightly.
        """
        name = random.choice(sorted(self._kinds))
        return name, random.choice(self._kinds[name])()

    def _add_rest(self, address, model_name):
        connection = http.client.HTTPConnection(address, timeout=SECONDS)
        host, port = connection.host, connection.port
        self._kinds["malformed JSON over REST"] = [
            functools.partial(
                _post, connection, f"/v1/models/{model_name}{path}", *request
            )
            for path, *request in _REST
        ]
        self._kinds["malformed requests of tools"] = [
            functools.partial(_post, connection, *request) for request in _TOOLS
        ]
        self._kinds["malformed HTTP"] = [
            functools.partial(_send_bytes, (host, port), *request)
            for request in _HTTP
        ]

    def _add_grpc(self, address, model_name):
        import grpc

        call = functools.partial(_call, grpc.insecure_channel(address))
        requests = _grpc_requests(model_name, grpc.StatusCode)
        self._kinds["malformed gRPC messages"] = [
            functools.partial(call, *request) for request in requests
        ]
        valid = _message(model_name, ["A dog"])
        predict = "PredictionService/Predict"
        # The answer may be faster than the client.
        cancelled = {grpc.StatusCode.CANCELLED, grpc.StatusCode.OK}
        self._kinds["cancelled calls of gRPC"] = [
            functools.partial(call, predict, valid, cancelled, cancels=True)
        ]
        late = {grpc.StatusCode.DEADLINE_EXCEEDED}
        self._kinds["late calls of gRPC"] = [
            functools.partial(call, predict, valid, late, timeout=1e-4)
        ]


def _post(connection, path, body, status):
    try:
        connection.request("POST", path, body)
        response = connection.getresponse()
        answer = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        # Faults are rare, and the server ends idle connections.
        connection.close()
    return response.status == status and list(answer) == ["error"]


def _send_bytes(address, content, status):
    try:
        with socket.create_connection(address, SECONDS) as connection:
            connection.sendall(content)
            if status is None:
                return True
            answer = b""
            while part := connection.recv(2**16):
                answer += part
        head, body = answer.split(b"\r\n\r\n")
        right_status = head.split()[1] == b"%d" % status
        return right_status and list(json.loads(body)) == ["error"]
    except (OSError, ValueError, IndexError):
        return False


def _grpc_requests(model_name, codes):
    """Returns the methods, the bytes and the right codes of faulty calls."""
    invalid = {codes.INVALID_ARGUMENT}
    # The number of its bytes does not match its shape.
    uneven = _request(model_name, [0, 0, 0])
    uneven.inputs["text"].tensor_content = bytes(11)
    predict = "PredictionService/Predict"
    return [
        (predict, b"", invalid),
        (predict, b"\xff" * 1000, invalid),
        (predict, b"\0" * (5 * 2**20), {codes.RESOURCE_EXHAUSTED}),
        (predict, _message(model_name, [1, 2]), invalid),
        (predict, _message(model_name, [["A", "dog"]]), invalid),
        (predict, _message(model_name, ["a"] * 9999), invalid),
        (predict, uneven.SerializeToString(), invalid),
        (predict, _message(f"{model_name}-none", ["a"]), {codes.NOT_FOUND}),
        ("PredictionService/GetModelMetadata", b"\xff", invalid),
        ("ModelService/GetModelStatus", b"\xff", invalid),
        ("PredictionService/Classify", b"", {codes.UNIMPLEMENTED}),
    ]


def _message(model_name, values):
    return _request(model_name, values).SerializeToString()


def _request(model_name, values):
    from keras_transformer.serving.messages import PredictRequest
    from keras_transformer.serving.messages import to_proto

    array = np.array(values)
    if array.dtype.kind == "U":
        array = np.char.encode(array).astype(object)
    request = PredictRequest()
    request.model_spec.name = model_name
    request.inputs["text"].CopyFrom(to_proto(array))
    return request


def _call(channel, method, content, codes, timeout=SECONDS, cancels=False):
    import grpc

    call = channel.unary_unary(f"/tensorflow.serving.{method}")
    # The server ends a connection after a minute, at times in the middle of a
    # message of megabytes. A client then sends the message again.
    for _ in range(2):
        future = call.future(content, timeout=timeout)
        if cancels:
            future.cancel()
        try:
            future.result()
        except (grpc.RpcError, grpc.FutureCancelledError):
            pass  # the code tells what happened
        if future.code() is not grpc.StatusCode.UNAVAILABLE:
            break
    return future.code() in codes
