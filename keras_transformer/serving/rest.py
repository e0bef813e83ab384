"""TF Serving's REST interface, as an ASGI application."""

import asyncio
import concurrent.futures
import contextvars
import functools
import json
import re
import time
import urllib.parse

from google.protobuf import json_format

from keras_transformer.serving import json_reader
from keras_transformer.serving import json_tensors
from keras_transformer.serving import limits
from keras_transformer.serving import openai
from keras_transformer.serving.asgi import format_error
from keras_transformer.serving.asgi import get_header
from keras_transformer.serving.asgi import has_two_lengths
from keras_transformer.serving.asgi import read_body
from keras_transformer.serving.asgi import send_response
from keras_transformer.serving.asgi import wait_for
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import read_fields
from keras_transformer.serving.forms import read_options
from keras_transformer.serving.libretranslate import LibreTranslate
from keras_transformer.serving.openai import OpenAI
from keras_transformer.serving.pairs import Pairs
from keras_transformer.serving.service import list_outputs
from keras_transformer.serving.translated_files import DOWNLOAD

# Case is ignored as in TF Serving. Versions are 64-bit integers, which have at
# most 19 digits.
_PATH = re.compile(
    "/v1/models/(?P<name>[^/:]+)"
    "(?:/versions/(?P<version>[0-9]{1,19})|/labels/(?P<label>[^/:]+))?"
    "(?:/(?P<metadata>metadata)|:(?P<method>classify|regress|predict))?",
    re.IGNORECASE,
)
# These paths tell nothing about texts and clients, so they need no key.
_OPEN_PATHS = ("/health", "/ready", "/languages", "/frontend/settings")
_OPEN_PATHS += (DOWNLOAD,)  # whose paths cannot be guessed


class RestApp:
    """Serves a `Service` over HTTP; any ASGI server can run it.

    With `routes`, those of `Pairs`, it speaks LibreTranslate's and OpenAI's
    protocols as well. Pages of `allowed_origin` may ask; "*" is
    any page. `keys` are the `Keys` that clients must have; None needs none.
    `memories` are those of `LibreTranslate`.
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
        self._keys = keys
        self._readers = {}  # functions that read bodies, by path
        # Functions that return the response to a path alone.
        self._pages = {
            "/health": lambda: {"status": "ok"},
            "/ready": self._check_ready,
            "/metrics": self._monitor.format_metrics,
        }
        self._faces = dict.fromkeys(self._pages, "operator")
        if routes:
            pairs = Pairs(routes)
            tool = LibreTranslate(service, pairs, bool(keys), memories)
            self._files = tool.files
            tools = {"libretranslate": tool, "openai": OpenAI(tool)}
            for face, tool in tools.items():
                self._readers |= tool.readers
                self._pages |= tool.pages
                paths = [*tool.readers, *tool.pages]
                self._faces |= dict.fromkeys(paths, face)
        self._allowed_origin = allowed_origin
        # Threads for bodies whose reading would keep other requests waiting.
        self._threads = concurrent.futures.ThreadPoolExecutor(
            limits.MAX_PARSED_AT_ONCE, "rest"
        )
        # Threads for requests that also wait for a model.
        self._slow_threads = concurrent.futures.ThreadPoolExecutor(
            limits.MAX_READ_SLOWLY, "tools"
        )

    async def __call__(self, scope, receive, send):
        # A client that goes through a proxy sends the URL.
        path = scope["raw_path"].decode()
        path = re.sub("^https?://[^/]*", "", path, flags=re.IGNORECASE)
        scope = {**scope, "path": path}
        face = self._faces.get(path)
        if path.startswith(DOWNLOAD) and self._readers:
            # The rest of the path is as secret as a key.
            face, path = "libretranslate", DOWNLOAD
        elif not face:
            is_known = _PATH.fullmatch(path)
            face, path = ("tf_serving", path) if is_known else ("unknown", None)
        client = scope["client"] and scope["client"][0]
        facts = face, scope["method"], path, client
        with self._monitor.follow(*facts) as request:
            await self._answer(request, scope, receive, send)

    async def _answer(self, request, scope, receive, send):
        status, body, error = 200, b"", None
        try:
            body = await read_body(scope, receive)
            content = await self._respond(request.face, scope, body, receive)
        except ConnectionAbortedError:
            return  # there is no client left to answer
        except asyncio.CancelledError:
            error = RequestError("UNAVAILABLE", "The server is stopping.")
        except RequestError as found:
            error = found
            is_large = len(body) > limits.MAX_BYTES_WITHOUT_THREAD
            if is_large and error.http_status in (400, 401, 403, 429):
                await asyncio.sleep(limits.REFUSAL_SECONDS)
        except Exception as found:
            error = RequestError("INTERNAL", f"Internal: {found!r}")
        if error:
            status = error.http_status
            is_openai = request.face == "openai"
            write = openai.format_error if is_openai else format_error
            content = write(error)
        kind = getattr(content, "content_type", "application/json")
        headers = {"content-type": kind}
        if self._allowed_origin:
            allow = "access-control-allow-"
            headers[allow + "origin"] = self._allowed_origin
            headers[allow + "headers"] = "authorization, content-type"
        if has_two_lengths(scope):
            headers["connection"] = "close"
        await send_response(send, status, content, headers)
        request.status = status

    async def _respond(self, face, scope, body, receive):
        method, path = scope["method"], scope["path"]
        if method == "OPTIONS" and self._allowed_origin:
            return b""  # the headers tell a browser that it may ask
        if self._keys and not path.startswith(_OPEN_PATHS):
            await self._authorize(face, scope, body)
        if face not in ("tf_serving", "unknown"):
            return await self._answer_path(scope, body, receive)
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
        in_thread = self._service.loads_on_demand
        if match["metadata"]:
            read = functools.partial(self._metadata, *requested_model)
            return await self._run(b"", read, in_thread=in_thread)
        if not match["method"]:
            status = self._service.get_status(*requested_model)
            return json.dumps(_to_dict(status), indent=1).encode()
        if match["method"].lower() != "predict":
            raise RequestError(
                "UNIMPLEMENTED",
                f"Only :predict is supported. Received: :{match['method']}",
            )
        read = functools.partial(self._read_predict, requested_model)
        return await self._compute(read, body, receive, in_thread)

    async def _authorize(self, face, scope, body):
        """Checks the key of a request."""
        key = get_header(scope, "authorization").removeprefix("Bearer ")
        is_libretranslate = face == "libretranslate"
        if not key and is_libretranslate:
            kind = get_header(scope, "content-type")
            fields = await self._run(body, read_fields, kind, body)
            key = fields.get("api_key")
        try:
            self._keys.check(key, self._monitor)
        except RequestError as error:
            if is_libretranslate and error.http_status == 401:
                error.http_status = 403
            raise

    def _check_ready(self):
        try:
            self._service.check_ready()
        except RequestError as error:
            error.http_status = 503
            raise
        return {"status": "ok"}

    async def _answer_path(self, scope, body, receive):
        """Responds to an operator, or to a translation tool."""
        method, path = scope["method"], scope["path"]
        read = self._readers.get(path)
        expected = ("POST",) if read else ("GET", "HEAD")
        if method not in expected:
            raise RequestError(
                "INVALID_ARGUMENT",
                f"{path} must be asked by {expected[0]}. Received: {method}. "
                f"Use {expected[0]}.",
                405,
            )
        if read:
            kind = get_header(scope, "content-type")
            address = f"{scope['scheme']}://{get_header(scope, 'host')}"

            def read_tool(body):
                return (yield from read(read_fields(kind, body), address))

            return await self._compute(read_tool, body, receive, True)
        if path.startswith(DOWNLOAD):
            return self._files.find(path)
        page = self._pages[path]()
        return page if isinstance(page, bytes) else json_tensors.dump(page)

    async def _compute(self, read, body, receive, in_thread=False):
        """Returns the response to a request that models compute.

        `read` takes the body and returns a generator, which yields each `Call`,
        receives its outputs, and returns the response. Nothing else depends on
        their format. `in_thread` lets a thread run it, since documents take
        long to read, and a model to load.
        """
        steps = read(body)

        def advance(outputs):
            try:
                return steps.send(outputs), None
            except StopIteration as end:
                return None, end.value

        end = time.monotonic() + limits.PREDICT_SECONDS
        outputs, stage = None, "read"
        while True:
            with self._monitor.measure(stage):
                call, response = await self._run(
                    body, advance, outputs, in_thread=in_thread
                )
            if call is None:
                return response
            outputs = await _wait(call, receive, end - time.monotonic())
            stage = "write"

    async def _run(self, body, function, *arguments, in_thread=False):
        """Runs a function, in a thread if it is asked or the body is large."""
        if len(body) <= limits.MAX_BYTES_WITHOUT_THREAD and not in_thread:
            return function(*arguments)
        # The thread belongs to the same request.
        run = contextvars.copy_context().run
        loop = asyncio.get_running_loop()
        threads = self._slow_threads if in_thread else self._threads
        return await loop.run_in_executor(threads, run, function, *arguments)

    def _read_predict(self, requested_model, body):
        """Reads a request of TF Serving, as `_compute` asks."""
        _, model = self._service.find(*requested_model)
        max_values = self._service.get_max_values(model)
        request = json_reader.read_object(body, *max_values)
        name = request.get("signature_name", "")
        if not isinstance(name, str):
            raise InvalidRequest(
                f"'signature_name' must be a string: {json_reader.quote(name)}."
            )
        json_reader.encode(name)
        name, signature = self._service.find_signature(model, name)
        is_row, arrays = json_tensors.read_arrays(request, signature.inputs)
        options = read_options(request)

        outputs = yield self._service.submit(model, name, arrays, options)
        names = list_outputs(signature, options, outputs)
        named = {name: outputs[name] for name in names}
        return json_tensors.format_response(named, is_row)

    def _metadata(self, name, *requested_version):
        version, signatures = self._service.get_metadata(
            name, *requested_version
        )
        spec = {"name": name, "signature_name": "", "version": str(version)}
        metadata = {"signature_def": _to_dict(signatures)}
        response = {"model_spec": spec, "metadata": metadata}
        return json.dumps(response, indent=1).encode()


async def _wait(call, receive, seconds):
    """Returns the outputs of a call, or ends it if the client leaves."""
    results = asyncio.gather(*map(asyncio.wrap_future, call.futures))
    # `call` raises exceptions later; asyncio logs those that nobody reads.
    results.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await wait_for(results, receive, max(0, seconds))
    except BaseException:
        call.cancel()
        raise
    return call.result(limits.PREDICT_SECONDS)


def _to_dict(message):
    return json_format.MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,  # as TF Serving
    )
