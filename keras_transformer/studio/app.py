"""The web application of kt-studio, as an ASGI application.

It serves the files in `page/`, calls the functions of the views with the values
in a request, and shows pages inside the page.
"""

import asyncio
import concurrent.futures
import importlib.resources
import inspect
import json
import mimetypes
import re

from keras_transformer.errors import UserError
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.json_reader import decode
from keras_transformer.serving.json_reader import encode
from keras_transformer.serving.rest import format_error
from keras_transformer.serving.rest import read_body
from keras_transformer.serving.rest import wait_for
from keras_transformer.studio import attention_view
from keras_transformer.studio import comparison_view
from keras_transformer.studio import explanation_view
from keras_transformer.studio import search_view
from keras_transformer.studio import training_view
from keras_transformer.studio import translation_view
from keras_transformer.studio import tree_view

MAX_WAITING = 32  # requests that wait for the model
# Functions that need no model, and do not wait for it.
QUICK = {
    "runs": training_view.describe_runs,
    "training": training_view.show_training,
    "tree": tree_view.draw_tree,
    "texts": comparison_view.list_texts,
}
# Functions that compute with a model, one request after another.
FUNCTIONS = {
    "translate": translation_view.translate,
    "words": translation_view.rate_words,
    "alternatives": translation_view.find_alternatives,
    "attention": attention_view.show_attention,
    "attention_file": attention_view.save_attention,
    "search": search_view.search,
    "parse": tree_view.parse,
    "compare": comparison_view.compare_texts,
    "compare_file": comparison_view.save_comparison,
    "explain": explanation_view.explain_head,
}
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
# The page can reach only this server, and no text can become a script.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
    "data:; connect-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
# A page inside the page states its policy itself.
FRAME_POLICY = "frame-ancestors 'self'"


class StudioApp:
    """Serves the requests of the page for a `Studio`.

    `is_local` tells that only this machine reaches the server. Requests must
    then address it by a name of this machine, so that no other page in the same
    browser can point its own name here.
    """

    def __init__(self, studio, is_local=True):
        self._studio = studio
        self._is_local = is_local
        self._model_thread = concurrent.futures.ThreadPoolExecutor(1, "model")
        self._quick_thread = concurrent.futures.ThreadPoolExecutor(1, "quick")
        self._num_waiting = 0
        self._files = list_files()

    def open_model(self, prepare):
        """Begins to open the first run's model, and runs it once.

        The function `prepare` is called first. Requests wait meanwhile.
        """
        self._model_thread.submit(prepare)
        function = FUNCTIONS["parse" if self._studio.parses[0] else "translate"]
        self._model_thread.submit(function, self._studio, "a")

    def close(self):
        """Drops the requests that still wait."""
        self._model_thread.shutdown(wait=False, cancel_futures=True)
        self._quick_thread.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, scope, receive, send):
        status, kind, policy = 200, "application/json", None
        try:
            self._check_host(scope)
            body = await read_body(scope, receive)
            content, kind, policy = await self._respond(scope, body, receive)
        except ConnectionAbortedError:
            return  # there is no client left to answer
        except RequestError as error:
            status, content = error.http_status, format_error(error)
        except (UserError, OSError) as error:
            status, content = 400, format_error(error)
        except Exception as error:
            status, content = 500, format_error(f"Internal: {error!r}")
        headers = {
            **HEADERS,
            "content-type": kind,
            "content-length": str(len(content)),
        }
        if policy:
            headers["content-security-policy"] = policy
        start = {"type": "http.response.start", "status": status}
        pairs = [(k.encode(), v.encode()) for k, v in headers.items()]
        await send({**start, "headers": pairs})
        await send({"type": "http.response.body", "body": content})

    def _check_host(self, scope):
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        name = re.sub(":[0-9]*$", "", host)
        if self._is_local and name.strip("[]") not in LOOPBACK:
            raise RequestError(
                "PERMISSION_DENIED",
                f"The host must be one of {', '.join(LOOPBACK)}. Received: "
                f"{host}. Start kt-studio with --host to be reached otherwise.",
            )

    async def _respond(self, scope, body, receive):
        """Returns the content of the response, its type and its policy."""
        method, path = scope["method"], scope["path"]
        folder, _, name = path[1:].partition("/")
        if method == "POST" and folder == "api":
            content_type = dict(scope["headers"]).get(b"content-type", b"")
            # Other pages cannot send this type without asking first.
            if content_type.partition(b";")[0] != b"application/json":
                raise InvalidRequest("The body must be application/json.")
            return await self._call(name, body, receive), "application/json", ""
        if method == "GET" and path == "/":
            folder, name = "page", "index.html"
        if method == "GET" and folder == "page" and name in self._files:
            kind = mimetypes.guess_type(name)[0]
            return self._files[name].read_bytes(), kind, PAGE_POLICY
        if method == "GET" and folder == "frame":
            return self._show_frame(*name.partition("/")[::2])
        raise RequestError("NOT_FOUND", f"There is no {method} {path}.")

    def _show_frame(self, name, part):
        frame = self._studio.get_frame(name)
        if not frame:
            raise RequestError("NOT_FOUND", "This page is gone. Open it again.")
        if not part:
            return frame.html.encode(), "text/html; charset=utf-8", FRAME_POLICY
        try:
            return frame.read_part(part), "application/octet-stream", ""
        except (LookupError, TypeError, ValueError) as error:
            raise RequestError("NOT_FOUND", f"There is no {part}.") from error

    async def _call(self, name, body, receive):
        function = FUNCTIONS.get(name) or QUICK.get(name)
        if not function:
            raise RequestError("NOT_FOUND", f"There is no function {name}.")
        values = _read_values(function, body)
        if name in QUICK:
            return await self._run(self._quick_thread, function, values)
        if self._num_waiting >= MAX_WAITING:
            raise RequestError(
                "RESOURCE_EXHAUSTED", "Too many requests wait. Try again later."
            )
        work = self._run(self._model_thread, function, values)
        task = asyncio.ensure_future(work)
        self._num_waiting += 1
        try:
            await wait_for(task, receive)
            if task.done():
                return task.result()
            raise RequestError("DEADLINE_EXCEEDED", "The model took too long.")
        finally:
            task.cancel()  # drops work that has not begun
            self._num_waiting -= 1

    async def _run(self, thread, function, values):
        def compute():
            results = function(self._studio, **values)
            return json.dumps(results, allow_nan=False).encode()

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(thread, compute)


def list_files():
    """Returns the files of the page by their names."""
    package = importlib.resources.files("keras_transformer")
    shared = package / "visualization" / "elements.js"
    files = [*(package / "studio" / "page").iterdir(), shared]
    return {file.name: file for file in files}


def _read_values(function, body):
    """Returns the arguments that the body of a request states."""
    try:
        values = json.loads(decode(body) or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"JSON Parse error: {error}.") from error
    if not isinstance(values, dict):
        raise InvalidRequest("The body must be a JSON object.")
    parameters = dict(inspect.signature(function).parameters)
    del parameters["studio"]
    for name, value in values.items():
        if name not in parameters:
            raise InvalidRequest(f"Unknown field: {name!r}.")
        expected = parameters[name].annotation
        if expected is float and type(value) is int:
            try:
                values[name] = value = float(value)
            except OverflowError as error:
                raise InvalidRequest(f"`{name}` is too large.") from error
        if type(value) is not expected:
            raise InvalidRequest(
                f"`{name}` must be of type {expected.__name__}. Received: "
                f"{type(value).__name__}."
            )
        if expected is str:
            encode(value)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in values:
            raise InvalidRequest(f"`{name}` is missing.")
    return values
