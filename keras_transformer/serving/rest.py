"""TF Serving's REST interface, as an ASGI application."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import functools
import json
import re
import threading
import urllib.parse

from google.protobuf import json_format

from keras_transformer.serving import asgi
from keras_transformer.serving import forms
from keras_transformer.serving import json_reader
from keras_transformer.serving import json_tensors
from keras_transformer.serving import limits
from keras_transformer.serving import openai
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.errors import explain
from keras_transformer.serving.json_tensors import dump
from keras_transformer.serving.libretranslate import DOWNLOAD
from keras_transformer.serving.libretranslate import LibreTranslate
from keras_transformer.serving.service import list_outputs
from keras_transformer.serving.text_translator import Pairs
from keras_transformer.serving.text_translator import TextTranslator

# Case is ignored as in TF Serving. Versions are 64-bit integers, which have at
# most 19 digits.
_PATH = re.compile(
    "/v1/models/(?P<name>[^/:]+)"
    "(?:/versions/(?P<version>[0-9]{1,19})|/labels/(?P<label>[^/:]+))?"
    "(?:/(?P<metadata>metadata)|:(?P<method>classify|regress|predict))?",
    re.IGNORECASE,
)


class RestApp:
    """Serves a `Service` over HTTP; any ASGI server can run it.

    With the `routes` of `Pairs`, it speaks LibreTranslate's and OpenAI's
    protocols as well. Pages of `allowed_origin` may ask; "*" is
    any page. `keys` are the `Keys` that clients must have; None needs none.
    `memories` are as in `TextTranslator`.
    """

    def __init__(
        self,
        service,
        routes=None,
        allowed_origin=None,
        keys=None,
        memories=None,
    ):
        self._service = service
        self._monitor = service.monitor
        self._allowed_origin = allowed_origin
        self._keys = keys
        operator = functools.partial(asgi.Endpoint, "operator", "GET")
        self._endpoints = {
            "/health": operator(lambda: {"status": "ok"}, needs_key=False),
            "/ready": operator(self._check_ready, needs_key=False),
            "/metrics": operator(self._monitor.format_metrics),
        }
        if routes:
            translator = TextTranslator(service, Pairs(routes), memories)
            self._endpoints |= LibreTranslate(translator, bool(keys)).endpoints
            self._endpoints |= openai.OpenAI(translator).endpoints
        # Most requests have a thread, which also waits for the model.
        self._threads = concurrent.futures.ThreadPoolExecutor(
            limits.MAX_RUNNING, "rest"
        )
        self._running = set()
        self._parsing = threading.Semaphore(limits.MAX_PARSED_AT_ONCE)

    async def __call__(self, scope, receive, send):
        # A client that goes through a proxy sends the URL.
        path = scope["raw_path"].decode()
        path = re.sub("^https?://[^/]*", "", path, flags=re.IGNORECASE)
        endpoint, shown_path = self._find_endpoint(path)
        client = scope["client"] and scope["client"][0]
        facts = endpoint.face, scope["method"], shown_path, client
        with self._monitor.follow(*facts) as request:
            await self._answer(request, endpoint, scope, receive, send)

    def _find_endpoint(self, path):
        """Returns the endpoint of a path, and the path for the log."""
        if path.startswith(DOWNLOAD) and DOWNLOAD in self._endpoints:
            endpoint = self._endpoints[DOWNLOAD]
            find = functools.partial(endpoint.function, path)
            # The rest of the path is as secret as a key.
            return endpoint._replace(function=find), DOWNLOAD
        if endpoint := self._endpoints.get(path):
            return endpoint, path
        match = _PATH.fullmatch(path)
        if not match:
            return asgi.Endpoint("unknown", "", None), None
        requested_model = (
            urllib.parse.unquote(match["name"]),
            int(match["version"]) if match["version"] else None,
            urllib.parse.unquote(match["label"] or ""),
        )
        function, method = self._get_status, "GET"
        if match["metadata"]:
            function = self._get_metadata
        elif match["method"]:
            method = "POST"
            function = functools.partial(self._predict, match["method"])
        function = functools.partial(function, requested_model)
        return asgi.Endpoint("tf_serving", method, function), path

    async def _answer(self, request, endpoint, scope, receive, send):
        status, body, error = 200, b"", None
        try:
            body = await asgi.read_body(scope, receive)
            if endpoint.face == "operator":  # takes no time, whatever runs
                content = self._respond(endpoint, scope, body)
            else:
                content = await self._run(receive, endpoint, scope, body)
        except ConnectionAbortedError:
            return  # there is no client left to answer
        except asyncio.CancelledError:
            error = RequestError("UNAVAILABLE", "The server is stopping.")
        except Exception as found:
            error = explain(found)
        if error:
            status = error.http_status
            is_large = len(body) > limits.MAX_SMALL_BYTES
            if is_large and status in (400, 401, 403, 429):
                await asyncio.sleep(limits.REFUSAL_SECONDS)
            is_openai = endpoint.face == "openai"
            write = openai.format_error if is_openai else asgi.format_error
            content = write(error)
        kind = getattr(content, "content_type", "application/json")
        headers = {"content-type": kind}
        if self._allowed_origin:
            allow = "access-control-allow-"
            headers[allow + "origin"] = self._allowed_origin
            headers[allow + "headers"] = "authorization, content-type"
        if asgi.has_two_lengths(scope):
            headers["connection"] = "close"
        await asgi.send_response(send, status, content, headers)
        request.status = status

    async def _run(self, receive, *arguments):
        """Returns the content of the response from a thread."""
        if len(self._running) == limits.MAX_RUNNING:
            raise RequestError(
                "UNAVAILABLE",
                f"The server is busy with {limits.MAX_RUNNING} requests, of "
                "which clients may have left. Try again later.",
            )
        run = contextvars.copy_context().run  # with the current request
        work = asyncio.get_running_loop().run_in_executor(
            self._threads, run, self._respond, *arguments
        )
        self._running.add(work)
        work.add_done_callback(self._running.discard)
        return await asgi.wait_for(work, receive)

    def _respond(self, endpoint, scope, body):
        method = scope["method"]
        if method == "OPTIONS" and self._allowed_origin:
            return b""  # the headers tell a browser that it may ask
        kind = asgi.get_header(scope, "content-type")
        if self._keys and endpoint.needs_key:
            self._authorize(endpoint.face, scope, kind, body)
        if (method if method != "HEAD" else "GET") != endpoint.method:
            raise _make_method_error(endpoint, scope)
        if endpoint.method == "GET":
            content = endpoint.function()
        elif endpoint.face == "tf_serving":
            content = endpoint.function(body)
        else:
            address = f"{scope['scheme']}://{asgi.get_header(scope, 'host')}"
            content = endpoint.function(self._read_fields(kind, body), address)
        return content if isinstance(content, bytes) else dump(content)

    def _authorize(self, face, scope, kind, body):
        key = asgi.get_header(scope, "authorization")
        is_libretranslate = face == "libretranslate"
        if not key and is_libretranslate:
            key = self._read_fields(kind, body).get("api_key")
        try:
            self._keys.check(key, self._monitor)
        except RequestError as error:
            if is_libretranslate and error.http_status == 401:
                error.http_status = 403
            raise

    def _read_fields(self, kind, body):
        with self._limit_parsing(body):
            return forms.read_fields(kind, body)

    def _limit_parsing(self, body):
        """Returns a context in which few large bodies are read at a time."""
        if len(body) <= limits.MAX_SMALL_BYTES:
            return contextlib.nullcontext()
        return self._monitor.take_turn(self._parsing)

    def _check_ready(self):
        self._service.check_ready()
        return {"status": "ok"}

    def _predict(self, method, requested_model, body):
        if method.lower() != "predict":
            raise RequestError(
                "UNIMPLEMENTED",
                f"Only :predict is supported. Received: :{method}",
            )
        _, model = self._service.find(*requested_model)
        with self._limit_parsing(body), self._monitor.measure("read"):
            max_values = self._service.get_max_values(model)
            request = json_reader.read_object(body, *max_values)
            name = request.get("signature_name", "")
            if not isinstance(name, str):
                quoted = json_reader.quote(name)
                raise InvalidRequest(
                    f"'signature_name' must be a string: {quoted}."
                )
            json_reader.encode(name)
            name, signature = self._service.find_signature(model, name)
            is_row, arrays = json_tensors.read_arrays(request, signature.inputs)
            options = forms.read_options(request)
        outputs = self._service.submit(model, name, arrays, options).wait()
        with self._monitor.measure("write"):
            names = list_outputs(signature, options, outputs)
            named = {name: outputs[name] for name in names}
            return json_tensors.format_response(named, is_row)

    def _get_status(self, requested_model):
        status = self._service.get_status(*requested_model)
        return json.dumps(_to_dict(status), indent=1).encode()

    def _get_metadata(self, requested_model):
        name = requested_model[0]
        version, signatures = self._service.get_metadata(*requested_model)
        spec = {"name": name, "signature_name": "", "version": str(version)}
        metadata = {"signature_def": _to_dict(signatures)}
        response = {"model_spec": spec, "metadata": metadata}
        return json.dumps(response, indent=1).encode()


def _make_method_error(endpoint, scope):
    method, path = scope["method"], scope["raw_path"].decode()
    if endpoint.face in ("tf_serving", "unknown"):
        return InvalidRequest(
            f"Unknown request: {method} {path}. This server has "
            "GET /v1/models/NAME for the state of a model and POST "
            "/v1/models/NAME:predict for its outputs."
        )
    return InvalidRequest(
        f"{path} must be asked by {endpoint.method}. Received: {method}. "
        f"Use {endpoint.method}.",
        405,
    )


def _to_dict(message):
    return json_format.MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,  # as TF Serving
    )
