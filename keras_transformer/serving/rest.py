"""TF Serving's REST interface, as an ASGI application."""

import asyncio
import concurrent.futures
import json
import re
import threading
import urllib.parse

from google.protobuf import json_format

from keras_transformer.serving import json_tensors
from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError

# Case is ignored as in TF Serving. Versions of up to 18 digits fit into the
# 64-bit integers of its protocol.
_PATH = re.compile(
    "(?:https?://[^/]*)?"  # a client that goes through a proxy sends the URL
    "/v1/models/(?P<name>[^/:]+)"
    "(?:/versions/(?P<version>[0-9]{1,18})|/labels/(?P<label>[^/:]+))?"
    "(?:/(?P<metadata>metadata)|:(?P<method>classify|regress|predict))?",
    re.IGNORECASE,
)


class RestApp:
    """Answers HTTP requests by a `Service`; any ASGI server can run it."""

    def __init__(self, service):
        self._service = service
        self._parsing = threading.Semaphore(limits.MAX_PARSED_AT_ONCE)
        # A request waits in a thread for its results, so that none may be
        # missing for a connection.
        self._threads = concurrent.futures.ThreadPoolExecutor(
            limits.MAX_CONNECTIONS, "rest"
        )

    async def __call__(self, scope, receive, send):
        status = 200
        try:
            body = await _read_body(scope, receive)
            content = await self._respond_unless_left(scope, body, receive)
        except ConnectionAbortedError:
            return  # there is no client left to answer
        except asyncio.CancelledError:
            status, content = 503, format_error("The server is stopping.")
        except RequestError as error:
            status, content = error.http_status, format_error(error)
        except Exception as error:
            status, content = 500, format_error(f"Internal: {error!r}")
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(content)),
        ]
        start = {"type": "http.response.start", "status": status}
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _respond_unless_left(self, scope, body, receive):
        """Returns the content of a response, unless the client leaves first."""
        ended = concurrent.futures.Future()

        def on_cancel(callback):
            ended.add_done_callback(lambda _: callback())

        response = asyncio.get_running_loop().run_in_executor(
            self._threads, self._respond, scope, body, on_cancel
        )
        left = asyncio.ensure_future(receive())
        try:
            await asyncio.wait(
                [response, left], return_when=asyncio.FIRST_COMPLETED
            )
            if not response.done():
                raise ConnectionAbortedError
            return response.result()
        finally:
            left.cancel()
            response.cancel()  # its result is not awaited any more
            ended.set_result(None)

    def _respond(self, scope, body, on_cancel):
        method, path = scope["method"], scope["raw_path"].decode()
        match = _PATH.fullmatch(path)
        expected = match and (["POST"] if match["method"] else ["GET", "HEAD"])
        if not match or method not in expected:
            raise InvalidRequest(f"Malformed request: {method} {path}")
        requested_model = (
            urllib.parse.unquote(match["name"]),
            int(match["version"]) if match["version"] else None,
            urllib.parse.unquote(match["label"] or ""),
        )
        if match["metadata"]:
            return self._metadata(*requested_model)
        if not match["method"]:
            status = self._service.status(*requested_model)
            return json.dumps(_to_dict(status), indent=1).encode()
        if match["method"].lower() != "predict":
            raise RequestError(
                "UNIMPLEMENTED",
                f"Only :predict is supported. Received: :{match['method']}",
            )
        return self._predict(requested_model, body, on_cancel)

    def _predict(self, requested_model, body, on_cancel):
        service = self._service
        with self._parsing:
            request = json_tensors.parse_request(body)
            _, model = service.find(*requested_model)
            name, signature = service.signature(model, request.signature_name)
            arrays = json_tensors.to_arrays(request, signature.inputs)
            is_row = request.is_row
            del request  # it is much larger than the arrays
        outputs = service.predict(model, name, arrays, on_cancel=on_cancel)
        return json_tensors.format_response(outputs, is_row)

    def _metadata(self, name, *requested_version):
        version, signatures = self._service.metadata(name, *requested_version)
        spec = {"name": name, "signature_name": "", "version": str(version)}
        metadata = {"signature_def": _to_dict(signatures)}
        response = {"model_spec": spec, "metadata": metadata}
        return json.dumps(response, indent=1).encode()


def format_error(error):
    """Returns the body of a response that reports an error."""
    return json_tensors.dump({"error": str(error)})


async def _read_body(scope, receive):
    headers = dict(scope["headers"])
    length = headers.get(b"content-length")
    if length is not None and b"transfer-encoding" in headers:
        # A proxy could read the other one, and take a part of this request
        # for the next.
        raise InvalidRequest(
            "A request must have a Content-Length or a Transfer-Encoding, not "
            "both."
        )
    _check_size(int(length or 0))
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError
        body += message["body"]
        _check_size(len(body))
        if not message["more_body"]:
            return body


def _check_size(num_bytes):
    if num_bytes > limits.MAX_BODY_BYTES:
        raise RequestError(
            "INVALID_ARGUMENT",
            f"A request must have at most {limits.MAX_BODY_BYTES} bytes. "
            f"Received: {num_bytes}. Send several smaller requests.",
            413,
        )


def _to_dict(message):
    return json_format.MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,  # as TF Serving
    )
