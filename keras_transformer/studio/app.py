"""The web application of kt-studio, as an ASGI application.

It serves the files in `page/`, calls the functions of the views with the values
in a request, and shows pages inside the page.
"""

import asyncio
import collections
import concurrent.futures
import importlib.resources
import inspect
import json
import mimetypes
import re

from keras_transformer.errors import UserError
from keras_transformer.serving import asgi
from keras_transformer.serving import json_reader
from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.studio import attention_view
from keras_transformer.studio import comparison_view
from keras_transformer.studio import explanation_view
from keras_transformer.studio import search_view
from keras_transformer.studio import training_view
from keras_transformer.studio import translation_view
from keras_transformer.studio import tree_view
from keras_transformer.studio.models import Job

MAX_WAITING = 32  # requests that wait for a thread
MAX_BODY_BYTES = 2**18  # far more than a sentence or a tree on the page has
# Functions that need no model, and do not wait for it.
QUICK = {
    "runs": training_view.describe_runs,
    "training": training_view.show_training,
    "tree": tree_view.draw_tree,
    "texts": comparison_view.list_texts,
    "sentences": translation_view.divide,
    "correct": translation_view.correct,
    "examples": translation_view.list_examples,
    "progress": training_view.show_progress,
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
    "decode": comparison_view.decode,
    "compare": comparison_view.compare_texts,
    "explain": explanation_view.explain_head,
}
# The functions of each thread. Training pairs are read at their first use, for
# which only they wait.
THREADS = {
    "quick": QUICK,
    "pairs": {"origins": translation_view.find_origins},
    "model": FUNCTIONS,
}
SHARED_FILES = ("elements.js", "menu.js", "base.css", "menu.css")
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
        self._threads = {
            name: concurrent.futures.ThreadPoolExecutor(1, name)
            for name in THREADS
        }
        self._num_waiting = collections.Counter()  # for each thread
        self._files = list_files()

    def open_model(self, prepare):
        """Begins to open the first run's model, and runs it once.

        The function `prepare` is called first. Requests wait meanwhile.
        """
        self._threads["model"].submit(prepare)
        function = FUNCTIONS["parse" if self._studio.parses[0] else "translate"]
        self._threads["model"].submit(function, self._studio, "a")

    async def __call__(self, scope, receive, send):
        status, headers = 200, {**HEADERS, "content-type": "application/json"}
        try:
            self._check_host(scope)
            body = await asgi.read_body(scope, receive, MAX_BODY_BYTES)
            content, kind, policy = await self._respond(scope, body, receive)
            headers["content-type"] = kind
            if policy:
                headers["content-security-policy"] = policy
        except ConnectionAbortedError:
            return  # there is no client left to answer
        except asyncio.CancelledError:
            status, content = 503, asgi.format_error("The server is stopping.")
        except RequestError as error:
            status, content = error.http_status, asgi.format_error(error)
            if status == 413:  # reading the rest takes time, as in kt-serve
                await asyncio.sleep(limits.REFUSAL_SECONDS)
        except (UserError, OSError) as error:
            status, content = 400, asgi.format_error(error)
        except Exception as error:
            status, content = 500, asgi.format_error(f"Internal: {error!r}")
        await asgi.send_response(send, status, content, headers)

    def _check_host(self, scope):
        host = asgi.get_header(scope, "host")
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
            # Other pages cannot send this type without asking first.
            kind = asgi.get_header(scope, "content-type").partition(";")[0]
            if kind != "application/json":
                raise InvalidRequest("The body must be application/json.")
            return await self._call(name, body, receive), "application/json", ""
        is_read = method in ("GET", "HEAD")
        if is_read and path == "/":
            folder, name = "page", "index.html"
        if is_read and folder == "page" and name in self._files:
            kind = mimetypes.MimeTypes().guess_type(name)[0]
            return self._files[name].read_bytes(), kind, PAGE_POLICY
        if is_read and folder == "frame":
            place = name.partition("/")[::2]
            return await self._run("quick", receive, self._show_frame, *place)
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
        thread = next((one for one in THREADS if name in THREADS[one]), None)
        if not thread:
            raise RequestError("NOT_FOUND", f"There is no function {name}.")
        function = THREADS[thread][name]
        values = await self._run("quick", receive, read_values, function, body)
        job = Job()

        def compute():
            if thread == "model":
                self._studio.job = job
            try:
                results = function(self._studio, **values)
            finally:
                if thread == "model":
                    self._studio.job = Job()
            return json.dumps(results, allow_nan=False).encode()

        try:
            return await self._run(thread, receive, compute)
        finally:
            job.is_wanted = False

    async def _run(self, thread, receive, function, *arguments):
        """Runs a function in a thread, unless the client leaves before."""
        if self._num_waiting[thread] >= MAX_WAITING:
            raise RequestError(
                "RESOURCE_EXHAUSTED", "Too many requests wait. Try again later."
            )
        loop = asyncio.get_running_loop()
        executor = self._threads[thread]
        work = loop.run_in_executor(executor, function, *arguments)
        self._num_waiting[thread] += 1
        try:
            return await asgi.wait_for(work, receive)
        finally:
            work.cancel()  # drops work that has not begun
            self._num_waiting[thread] -= 1


def list_files():
    """Returns the files of the page by their names."""
    package = importlib.resources.files("keras_transformer")
    shared = package / "visualization"
    files = [*(package / "studio" / "page").iterdir()]
    files += [shared / name for name in SHARED_FILES]
    return {file.name: file for file in files}


def read_values(function, body):
    """Returns the arguments in a body; all others are errors."""
    values = json_reader.read_object(body or b"{}")
    parameters = dict(inspect.signature(function).parameters)
    del parameters["studio"]
    for name, value in values.items():
        if name not in parameters:
            raise InvalidRequest(f"Unknown field: {name!r}.")
        kind = parameters[name].annotation
        # The function says which values of this type it takes.
        if type(value) not in ((int, float) if kind is float else (kind,)):
            raise InvalidRequest(
                f"`{name}` must be of type {kind.__name__}. Received: "
                f"{json_reader.quote(value)}."
            )
        if kind is str:
            json_reader.encode(value)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in values:
            raise InvalidRequest(f"`{name}` is missing.")
    return values
