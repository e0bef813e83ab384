"""Clients that ask a server for translations in TF Serving's protocol."""

import http.client
import json
import re
import typing
import urllib.parse

# The default ports of TF Serving.
_PORTS = {"grpc": 8500, "rest": 8501}
_HOST = re.compile(r"[\w.:%-]+")  # IPv6 has colons, and % before a zone
_EXTRA = "pip install '.[serving]'"


class Answer(typing.NamedTuple):
    """Translations of some texts, with their scores."""

    translations: list  # a list of str for each text, best first
    scores: list  # a list of float for each text


def connect(
    server="localhost",
    protocol="grpc",
    model_name="translate",
    model_version=None,
    timeout_secs=10.0,
):
    """Returns a client of kt-serve or of TF Serving.

    Args:
        server: Host name or address, followed by a colon and the port if that
            is not the default port of the protocol. For REST it may also be a
            URL. Defaults to "localhost".
        protocol: "grpc", which needs the extra `serving`, or "rest". Defaults
            to "grpc".
        model_name: Name of the model on the server. Defaults to "translate".
        model_version: Integer number of the version to ask. Defaults to the
            newest version.
        timeout_secs: Largest number of seconds to wait for an answer. Defaults
            to 10.

    Returns:
        A client. Calling it with a list of texts returns an `Answer`; `close`
        ends its connection. A client belongs to a single thread.

    Raises:
        ValueError: If the address is malformed or the extra is missing. Calls
            of the client raise it when the server refuses the request or
            cannot be reached.
    """
    if protocol not in _PORTS:
        raise ValueError(
            "`protocol` must be grpc or rest. Received: "
            f"protocol={protocol!r}. Choose one of them."
        )
    url = _parse_address(server, _PORTS[protocol])
    client = RestClient if protocol == "rest" else GrpcClient
    return client(url, model_name, model_version, timeout_secs)


class RestClient:
    """Asks over HTTP and keeps its connection open between requests."""

    def __init__(self, url, model_name, model_version, timeout_secs):
        if url.scheme == "https":
            connection_class = http.client.HTTPSConnection
        else:
            connection_class = http.client.HTTPConnection
        self._address = f"{url.hostname}:{url.port}"
        self._connection = connection_class(
            url.hostname, url.port, timeout=timeout_secs
        )
        # A model's name may contain a slash, which must not split the path.
        name = urllib.parse.quote(model_name, safe="")
        version = "" if model_version is None else f"/versions/{model_version}"
        self._path = f"{url.path.rstrip('/')}/v1/models/{name}{version}:predict"
        self._timeout = timeout_secs

    def __call__(self, texts):
        """Returns the `Answer` for a list of texts."""
        request = json.dumps({"inputs": {"text": list(texts)}}).encode()
        try:
            status, body = self._post(request)
        except TimeoutError as error:
            self.close()
            raise _too_late(self._address, self._timeout) from error
        except (OSError, UnicodeError) as error:
            self.close()
            # Errors of a name lookup or of an encoding have no `strerror`.
            reason = getattr(error, "strerror", None) or error
            raise _unreachable(self._address, reason) from error
        except http.client.HTTPException as error:
            self.close()
            raise _unreachable(
                self._address, "it does not speak HTTP"
            ) from error
        try:
            answer = json.loads(body)
            if status == 200:
                outputs = answer["outputs"]
                return Answer(outputs["translations"], outputs["scores"])
            reason = answer["error"]
        except (KeyError, TypeError, ValueError) as error:
            shown = body[:100].decode(errors="replace")
            raise _not_a_translator(
                self._address, f"{status}, {shown!r}"
            ) from error
        raise _refused(self._address, f"{status}, {reason}")

    def close(self):
        """Closes the connection; a further call opens a new one."""
        self._connection.close()

    def _post(self, request):
        is_reused = self._connection.sock is not None
        try:
            return self._post_once(request)
        except (ConnectionError, http.client.BadStatusLine):
            # A server may close a connection that was idle. Only then is
            # a second attempt worthwhile.
            self.close()
            if not is_reused:
                raise
            return self._post_once(request)

    def _post_once(self, request):
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", self._path, request, headers)
        response = self._connection.getresponse()
        return response.status, response.read()


class GrpcClient:
    """Asks over gRPC and keeps its channel open between requests."""

    def __init__(self, url, model_name, model_version, timeout_secs):
        # Imported here because REST needs neither gRPC nor TensorFlow, whose
        # import takes seconds.
        try:
            import grpc
            from tensorflow_serving.apis import predict_pb2
            from tensorflow_serving.apis import prediction_service_pb2_grpc
        except ModuleNotFoundError as error:
            raise ValueError(
                "gRPC needs the extra `serving`. Received: no module "
                f"{error.name}. Run {_EXTRA}, or use protocol=rest."
            ) from error
        self._address = f"{url.hostname}:{url.port}"
        host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
        # Without a limit: gRPC's default of 4 MiB may be too little for the
        # translations of a long list of texts.
        self._channel = grpc.insecure_channel(
            f"{host}:{url.port}",
            options=[("grpc.max_receive_message_length", -1)],
        )
        stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._predict = stub.Predict
        # Only the text changes from call to call.
        self._request = predict_pb2.PredictRequest()
        self._request.model_spec.name = model_name
        if model_version is not None:
            self._request.model_spec.version.value = model_version
        self._timeout = timeout_secs

    def __call__(self, texts):
        """Returns the `Answer` for a list of texts."""
        import grpc
        import tensorflow as tf

        text = tf.make_tensor_proto(list(texts), tf.string, [len(texts)])
        self._request.inputs["text"].CopyFrom(text)
        try:
            response = self._predict(self._request, self._timeout)
        except grpc.RpcError as error:
            raise self._explain(error, grpc.StatusCode) from error
        missing = {"translations", "scores"} - set(response.outputs)
        if missing:
            names = ", ".join(response.outputs)
            raise _not_a_translator(self._address, f"results {names}")
        translations = tf.make_ndarray(response.outputs["translations"])
        # Byte pieces of a vocabulary may combine to invalid UTF-8.
        return Answer(
            [[t.decode(errors="replace") for t in row] for row in translations],
            tf.make_ndarray(response.outputs["scores"]).tolist(),
        )

    def close(self):
        """Closes the channel."""
        self._channel.close()

    def _explain(self, error, codes):
        if error.code() == codes.UNAVAILABLE:
            return _unreachable(self._address, error.details())
        if error.code() == codes.DEADLINE_EXCEEDED:
            return _too_late(self._address, self._timeout)
        return _refused(
            self._address, f"{error.code().name}, {error.details()}"
        )


def _parse_address(server, port):
    try:
        url = urllib.parse.urlsplit(
            server if "://" in server else f"http://{server}"
        )
        if url.scheme in ("http", "https") and _HOST.fullmatch(
            url.hostname or ""
        ):
            default = 443 if url.scheme == "https" else port
            return _Address(
                url.scheme, url.hostname, url.port or default, url.path
            )
    except ValueError:
        pass  # the port is not a number; the error below explains that
    raise ValueError(
        "`server` must be a host, or a host and a port. Received: "
        f"server={server!r}. Use for example localhost:{port}."
    )


class _Address(typing.NamedTuple):
    scheme: str
    hostname: str
    port: int
    path: str


def _unreachable(address, reason):
    return ValueError(
        f"A server must answer. Received: no answer from {address} ({reason}). "
        "Start kt-serve there, or correct --server and --protocol."
    )


def _too_late(address, seconds):
    return ValueError(
        f"A server must answer in {seconds:g} s. Received: nothing from "
        f"{address}. Raise the limit with --timeout_secs."
    )


def _refused(address, reason):
    return ValueError(
        f"The server must accept the request. Received: {reason} from "
        f"{address}. Check --model_name, --model_version and the text."
    )


def _not_a_translator(address, received):
    return ValueError(
        "The server must have a model that translates. Received: "
        f"{received} from {address}. Check --server and --model_name."
    )
