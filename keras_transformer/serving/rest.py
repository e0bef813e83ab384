"""TF Serving's REST interface, as an ASGI application."""

import asyncio
import concurrent.futures
import functools
import itertools
import json
import re
import urllib.parse

import numpy as np
from google.protobuf import json_format

from keras_transformer.scoring.alarms import find_alarms
from keras_transformer.serving import json_reader
from keras_transformer.serving import json_tensors
from keras_transformer.serving import libretranslate
from keras_transformer.serving import limits
from keras_transformer.serving import openai
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.libretranslate import LibreTranslate
from keras_transformer.serving.openai import EventStream
from keras_transformer.serving.openai import OpenAI

# Case is ignored as in TF Serving. Versions are 64-bit integers, which have at
# most 19 digits.
_PATH = re.compile(
    "(?:https?://[^/]*)?"  # a client that goes through a proxy sends the URL
    "/v1/models/(?P<name>[^/:]+)"
    "(?:/versions/(?P<version>[0-9]{1,19})|/labels/(?P<label>[^/:]+))?"
    "(?:/(?P<metadata>metadata)|:(?P<method>classify|regress|predict))?",
    re.IGNORECASE,
)
_PATHS_OF_TOOLS = (*libretranslate.PATHS, openai.MODELS, openai.COMPLETIONS)


class RestApp:
    """Serves a `Service` over HTTP; any ASGI server can run it.

    With `languages`, the codes of source and target, it speaks LibreTranslate's
    and OpenAI's protocols as well. Pages of `allowed_origin` may ask; "*" is
    any page.
    """

    def __init__(self, service, languages=None, allowed_origin=None):
        self._service = service
        self._libretranslate = None
        if languages:
            self._libretranslate = LibreTranslate(service, languages)
            self._openai = OpenAI(self._libretranslate)
        self._allowed_origin = allowed_origin
        # For bodies that would keep all other requests waiting.
        self._threads = concurrent.futures.ThreadPoolExecutor(
            limits.MAX_PARSED_AT_ONCE, "rest"
        )

    async def __call__(self, scope, receive, send):
        status, body = 200, b""
        try:
            body = await read_body(scope, receive)
            content = await self._respond(scope, body, receive)
        except ConnectionAbortedError:
            return  # there is no client left to answer
        except asyncio.CancelledError:
            status, content = 503, format_error("The server is stopping.")
        except RequestError as error:
            status, content = error.http_status, format_error(error)
            if status == 400 and len(body) > limits.MAX_BYTES_WITHOUT_THREAD:
                await asyncio.sleep(limits.REFUSAL_SECONDS)
        except Exception as error:
            status, content = 500, format_error(f"Internal: {error!r}")
        headers = {"content-type": "application/json"}
        if isinstance(content, EventStream):
            headers["content-type"] = "text/event-stream"
        if self._allowed_origin:
            headers["access-control-allow-origin"] = self._allowed_origin
            headers["access-control-allow-headers"] = "content-type"
        if _has_two_lengths(scope):
            headers["connection"] = "close"
        await send_response(send, status, content, headers)

    async def _respond(self, scope, body, receive):
        method, path = scope["method"], scope["raw_path"].decode()
        if method == "OPTIONS" and self._allowed_origin:
            return b""  # the headers tell a browser that it may ask
        if self._libretranslate and path in _PATHS_OF_TOOLS:
            return await self._answer_tool(scope, body, receive)
        match = _PATH.fullmatch(path)
        expected = match and (["POST"] if match["method"] else ["GET", "HEAD"])
        if not match or method not in expected:
            raise InvalidRequest(
                f"Unknown request: {method} {path}. This server has "
                "GET /v1/models/NAME for the state of a model and POST "
                "/v1/models/NAME:predict for its outputs."
            )
        requested_model = (
            urllib.parse.unquote(match["name"]),
            int(match["version"]) if match["version"] else None,
            urllib.parse.unquote(match["label"] or ""),
        )
        if match["metadata"]:
            return self._metadata(*requested_model)
        if not match["method"]:
            status = self._service.get_status(*requested_model)
            return json.dumps(_to_dict(status), indent=1).encode()
        if match["method"].lower() != "predict":
            raise RequestError(
                "UNIMPLEMENTED",
                f"Only :predict is supported. Received: :{match['method']}",
            )
        read = functools.partial(self._read_predict, requested_model)
        return await self._compute(read, body, receive)

    async def _answer_tool(self, scope, body, receive):
        """Responds in LibreTranslate's or OpenAI's protocol."""
        method, path = scope["method"], scope["raw_path"].decode()
        kind = dict(scope["headers"]).get(b"content-type", b"")
        readers = {
            libretranslate.TRANSLATE: functools.partial(
                self._libretranslate.read_translate, kind.decode("latin-1")
            ),
            openai.COMPLETIONS: self._openai.read_completion,
        }
        expected = ("POST",) if path in readers else ("GET", "HEAD")
        if method not in expected:
            raise RequestError(
                "INVALID_ARGUMENT",
                f"{path} must be asked by {expected[0]}. Received: {method}. "
                f"Use {expected[0]}.",
                405,
            )
        if path in readers:
            return await self._compute(readers[path], body, receive)
        if path == openai.MODELS:
            return json.dumps(self._openai.list_models()).encode()
        return json.dumps(self._libretranslate.describe(path)).encode()

    async def _compute(self, read, body, receive):
        """Returns the response to a request that a model computes.

        `read` takes the body, and returns a `Call` and a function that makes
        the response from its outputs. Nothing else depends on their format.
        """

        async def run(function, argument):
            if len(body) <= limits.MAX_BYTES_WITHOUT_THREAD:
                return function(argument)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, function, argument)

        call, write = await run(read, body)
        results = asyncio.gather(*map(asyncio.wrap_future, call.futures))
        # `call` raises exceptions later; asyncio logs those that nobody reads.
        results.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )
        try:
            await wait_for(results, receive)
        except BaseException:
            call.cancel()
            raise
        return await run(write, call.result(limits.PREDICT_SECONDS))

    def _read_predict(self, requested_model, body):
        """Reads a request of TF Serving, as `_compute` asks."""
        _, model = self._service.find(*requested_model)
        text = json_reader.decode(body)
        name, signature = self._service.find_signature(
            model, json_reader.find_signature_name(text)
        )
        max_sizes = self._service.get_max_sizes(model, signature)
        is_row, arrays = json_tensors.read_arrays(
            text, signature.inputs, max_sizes
        )

        def write(outputs):
            named = {name: outputs.pop(name) for name in signature.outputs}
            if not model.writes_trees:
                named = add_warnings(arrays, named, **outputs)
            return json_tensors.format_response(named, is_row)

        return self._service.submit(model, name, arrays), write

    def _metadata(self, name, *requested_version):
        version, signatures = self._service.get_metadata(
            name, *requested_version
        )
        spec = {"name": name, "signature_name": "", "version": str(version)}
        metadata = {"signature_def": _to_dict(signatures)}
        response = {"model_spec": spec, "metadata": metadata}
        return json.dumps(response, indent=1).encode()


def add_warnings(arrays, outputs, uncovered=itertools.repeat(False)):
    """Returns the results of a signature, with `warnings` if there are any.

    They are the alarms of the best translation of each text, a list for each.
    Without an alarm, the results are those of TF Serving. `uncovered` holds
    True for each text of which the model left out a part, if it checks that.
    """
    translations = outputs.get("translations")
    # Other SavedModels may use these names for something else.
    if "text" not in arrays or getattr(translations, "ndim", 0) != 2:
        return outputs
    if translations.dtype != object or not translations.size:
        return outputs
    # Set one by one, since NumPy would take lists for another axis.
    warnings = np.empty(len(translations), object)
    rows = zip(arrays["text"], translations[:, 0], uncovered)
    for row, (text, best, is_uncovered) in enumerate(rows):
        texts = [each.decode(errors="replace") for each in (text, best)]
        warnings[row] = find_alarms(*texts)
        if is_uncovered:
            warnings[row].append("uncovered")
    return {**outputs, "warnings": warnings} if any(warnings) else outputs


def format_error(error):
    """Returns the body of a response that reports an error."""
    return json_tensors.dump({"error": str(error)})


async def send_response(send, status, content, headers):
    """Sends a response whose headers are a dictionary of strings."""
    headers["content-length"] = str(len(content))
    pairs = [(k.encode(), v.encode()) for k, v in headers.items()]
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": pairs})
    await send({"type": "http.response.body", "body": content})


async def wait_for(future, receive):
    """Waits until a future is done, but at most `PREDICT_SECONDS`.

    Raises a `ConnectionAbortedError` if the client leaves first.
    """
    left = asyncio.ensure_future(receive())
    try:
        await asyncio.wait(
            [future, left],
            timeout=limits.PREDICT_SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if left.done() and not future.done():
            raise ConnectionAbortedError
    finally:
        left.cancel()


async def read_body(scope, receive, max_bytes=limits.MAX_BODY_BYTES):
    """Returns the body of a request, which is within the limits."""
    if _has_two_lengths(scope):
        raise InvalidRequest(
            "A request must have a Content-Length or a Transfer-Encoding, not "
            "both."
        )
    headers = dict(scope["headers"])
    _check_size(int(headers.get(b"content-length", 0)), max_bytes)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError
        body += message["body"]
        _check_size(len(body), max_bytes)
        if not message["more_body"]:
            break
    encoding = headers.get(b"content-encoding", b"identity").decode("latin-1")
    if encoding.lower() != "identity":
        raise RequestError(
            "INVALID_ARGUMENT",
            "A body must not be compressed. Received: Content-Encoding: "
            f"{encoding}. Send the JSON as it is.",
            415,
        )
    return body


def _has_two_lengths(scope):
    # A proxy could read the other one, and mistake a part of this request for
    # the next, so the connection is closed after such a request.
    names = {name for name, _ in scope["headers"]}
    return {b"content-length", b"transfer-encoding"} <= names


def _check_size(num_bytes, max_bytes):
    if num_bytes > max_bytes:
        raise RequestError(
            "INVALID_ARGUMENT",
            f"A request must have at most {max_bytes} bytes. Received: "
            f"{num_bytes}. Send several smaller requests.",
            413,
        )


def _to_dict(message):
    return json_format.MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,  # as TF Serving
    )
