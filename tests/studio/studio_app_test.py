"""The web application over HTTP: its files, its limits, hostile requests."""

import concurrent.futures
import contextlib
import http.client
import json
import mimetypes
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from keras_transformer.errors import UserError
from keras_transformer.serving import limits
from keras_transformer.serving.http_server import HttpServer
from keras_transformer.studio import app as studio_app
from keras_transformer.studio.app import StudioApp

JSON = {"Content-Type": "application/json"}
# A studio whose model is never loaded.
LOADING = """
import sys
import tempfile
import threading
from keras_transformer.bin import studio
def load():
    # As a model whose run is on a disk that cannot be written.
    folder = tempfile.TemporaryDirectory()
    print("Loading.", file=sys.stderr, flush=True)
    threading.Event().wait()
studio.load_backend = load
sys.argv = ["kt-studio", "--output_dir", sys.argv[1], "--port=0"]
studio.run()
"""


@pytest.fixture(scope="module")
def server(studio):
    server = HttpServer(StudioApp(studio), "localhost", 0, name="kt-studio")
    server.start()
    yield server
    server.stop(5)


@pytest.fixture
def ask(server):
    """Returns a function that sends a request and returns the response."""

    def ask(method, path, body=None, headers=JSON):
        connection = http.client.HTTPConnection("localhost", server.port, 60)
        if not isinstance(body, bytes | str | None):
            body = json.dumps(body)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, response.headers, content

    return ask


def error_of(response):
    status, headers, content = response
    assert headers["Content-Type"] == "application/json"
    (name, message), *others = json.loads(content).items()
    assert name == "error" and not others
    assert message and "\n" not in message and "Traceback" not in message
    return status, message


class PageTest:
    def test_it_is_served_with_a_strict_policy(self, ask):
        status, headers, content = ask("GET", "/", headers={})
        assert status == 200 and b"<!DOCTYPE html>" in content
        assert headers["Content-Type"] == "text/html"
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert headers["Server"] == "kt-studio"

    def test_head_is_answered_as_get_without_a_body(self, ask):
        for path in ("/", "/page/studio.js"):
            status, headers, nothing = ask("HEAD", path, headers={})
            content = ask("GET", path, headers={})[2]
            assert (status, nothing) == (200, b"")
            assert headers["Content-Length"] == str(len(content))
        assert ask("HEAD", "/frame/none", headers={})[0] == 404

    def test_every_file_of_the_page_is_served_and_names_no_address(self, ask):
        for name in studio_app.list_files():
            status, headers, content = ask("GET", f"/page/{name}", headers={})
            assert status == 200
            # The namespaces of SVG and MathML are names; nobody requests them.
            text = content.decode().replace("http://www.w3.org/", "")
            assert not re.search("https?:|//[a-z]", text)
            # Text of users becomes text nodes, never markup.
            for word in ("innerHTML", "insertAdjacentHTML", "document.write"):
                assert word not in text

    def test_the_types_of_this_machine_do_not_matter(self, ask, monkeypatch):
        # A browser would run no script of the type that Windows may state.
        mimetypes.init()
        monkeypatch.setitem(mimetypes.types_map, ".js", "text/plain")
        headers = ask("GET", "/page/studio.js", headers={})[1]
        assert "javascript" in headers["Content-Type"]

    @pytest.mark.parametrize(
        "path",
        [
            "/page/../app.py",
            "/page/%2e%2e/app.py",
            "/page/",
            "/page/__init__.py",
            "/etc/passwd",
            "/frame/none",
            "/frame/",
            "/api/translate",
        ],
    )
    def test_nothing_else_is_served(self, ask, path):
        assert error_of(ask("GET", path, headers={}))[0] == 404

    def test_a_frame_and_its_layers_are_served_for_a_while(self, ask):
        def draw():
            _, _, content = ask("POST", "/api/attention", {"text": "a b"})
            return json.loads(content)["frame"]

        name = draw()
        status, headers, _ = ask("GET", f"/frame/{name}", headers={})
        assert status == 200
        assert headers["Content-Security-Policy"] == "frame-ancestors 'self'"
        status, _, content = ask("GET", f"/frame/{name}/encoder/1", headers={})
        assert status == 200 and len(content) == 2 * 2 * 3 * 3
        parts = ["encoder", "self/1", "encoder/x", "/", "encoder/1/1"]
        numbers = ["9", "0", "-1", "+1", "01", "%201", "1_0", "9" * 5000]
        numbers.append("%EF%BC%91")  # another script's digit 1
        for part in parts + [f"cross/{number}" for number in numbers]:
            response = ask("GET", f"/frame/{name}/{part}", headers={})
            assert error_of(response)[0] == 404
        for _ in range(8):
            draw()
        assert ask("GET", f"/frame/{name}", headers={})[0] == 404


class SignalTest:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_it_ends_the_command_while_the_model_loads(
        self, translation_runs, tmp_path, number
    ):
        program = [sys.executable, "-c", LOADING, translation_runs[0]]
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        with subprocess.Popen(
            program, stderr=subprocess.PIPE, env=environment
        ) as process:
            try:
                assert process.stderr.readline().startswith(b"Open http://")
                assert process.stderr.readline() == b"Loading.\n"
                process.send_signal(number)
                assert process.wait(60) == 128 + number
                assert not process.stderr.read()
                assert not os.listdir(tmp_path)
            finally:
                process.kill()

    def test_a_script_goes_on_after_it(self, translation_runs):
        script = LOADING.replace(
            "studio.run()",
            "try:\n"
            "    studio.run(sys.argv)\n"
            "except SystemExit as error:\n"
            "    print('It ended with', error.code, flush=True)\n"
            "    studio.os._exit(0)  # its thread loads for ever\n",
        )
        program = [sys.executable, "-c", script, translation_runs[0]]
        with subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            try:
                assert process.stderr.readline().startswith(b"Open http://")
                assert process.stderr.readline() == b"Loading.\n"
                process.terminate()
                assert process.wait(60) == 0
                assert process.stdout.read() == b"It ended with 143\n"
            finally:
                process.kill()


class RequestTest:
    def test_a_function_is_called_with_the_fields(self, ask):
        body = {"text": "a b c", "num_hypotheses": 2}
        status, _, content = ask("POST", "/api/translate", body)
        assert status == 200
        assert 1 <= len(json.loads(content)["hypotheses"]) <= 2

    @pytest.mark.parametrize(
        "body,words",
        [
            (b"", "`text` is missing"),
            (b"{", "JSON"),
            (b"[1]", "must be a JSON object"),
            (b'"text"', "must be a JSON object"),
            (b"\xff", "UTF-8"),
            (b"[" * 100_000, "JSON"),
            (b'{"text": 1}', "`text` must be of type str"),
            (b'{"text": null}', "`text` must be of type str"),
            (b'{"text": "a", "run": true}', "`run` must be of type int"),
            (b'{"text": "a", "run": 1e3}', "`run` must be of type int"),
            (b'{"text": "a", "run": %s}' % (b"9" * 5000), "JSON"),
            (b'{"text": "a", "run": -1}', "`run` must be a number"),
            (b'{"text": "a", "step": 99}', "no checkpoint of step 99"),
            (b'{"text": "a", "studio": 1}', "Unknown field"),
            (b'{"text": "a", "self": 1}', "Unknown field"),
            (b'{"text": "\\ud800"}', "must be UTF-8"),
            (b'{"text": "a", "prefix": "\\ud800"}', "must be UTF-8"),
            (b'{"text": "a", "step": %d}' % 2**64, "no checkpoint of step"),
            (b'{"text": "a"} []', "Extra data"),
            (b'{"text": [1]}', "Received: a list."),
        ],
    )
    def test_a_wrong_body_is_refused_in_one_line(self, ask, body, words):
        status, message = error_of(ask("POST", "/api/translate", body))
        assert status == 400
        assert words in message

    @pytest.mark.parametrize("run", [-1, 2])
    @pytest.mark.parametrize("name", ["correct", "origins"])
    def test_an_unknown_run_is_refused(self, ask, name, run):
        body = {"text": "a", "translation": "b", "run": run}
        status, message = error_of(ask("POST", f"/api/{name}", body))
        assert status == 400
        assert "`run` must be a number" in message

    @pytest.mark.parametrize(
        "alpha", ["NaN", "Infinity", "-1", "99", "9" * 400], ids=len
    )
    def test_a_wrong_number_is_refused(self, ask, alpha):
        body = f'{{"text": "a", "alpha": {alpha}}}'
        status, message = error_of(ask("POST", "/api/search", body))
        assert status == 400
        assert message.startswith("`alpha` must be") and "type" not in message

    def test_hostile_text_is_returned_as_it_is(self, ask):
        text = "<img src=x onerror=alert(1)></script> {{x}} \u202e\0 \U0001f642"
        body = {"brackets": f"(S (X {text.split()[0]}))"}
        status, headers, content = ask("POST", "/api/tree", body)
        assert status == 200
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert ask("POST", "/api/translate", {"text": text})[0] == 200

    def test_an_unknown_function_is_refused(self, ask):
        status, message = error_of(ask("POST", "/api/none", {}))
        assert status == 404 and "none" in message

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:80", ""])
    def test_other_names_of_the_host_are_refused(self, ask, host):
        headers = {**JSON, "Host": host}
        assert error_of(ask("GET", "/", headers=headers))[0] == 403

    @pytest.mark.parametrize("kind", ["text/plain", ""])
    def test_other_pages_cannot_ask(self, ask, kind):
        response = ask("POST", "/api/runs", {}, {"Content-Type": kind})
        assert error_of(response) == (400, "The body must be application/json.")

    @pytest.mark.parametrize(
        "size", [studio_app.MAX_BODY_BYTES, limits.MAX_BODY_BYTES]
    )
    def test_a_large_body_is_refused(self, ask, size):
        body = b" " * (size + 1)
        assert error_of(ask("POST", "/api/translate", body))[0] == 413

    def test_a_tree_that_is_too_large_is_refused_before_it_is_built(self, ask):
        # As a tree, it would be refused for its missing brackets.
        body = {"brackets": "(" * 200_000}
        status, message = error_of(ask("POST", "/api/tree", body))
        assert (status, "at most 2,000 nodes" in message) == (400, True)

    def test_the_work_of_a_client_that_left_is_dropped(
        self, server, ask, monkeypatch
    ):
        begun, go, calls = threading.Event(), threading.Event(), []

        def block(studio, text: str = ""):
            begun.set()
            go.wait(30)
            calls.append(text)
            return {}

        monkeypatch.setitem(studio_app.FUNCTIONS, "block", block)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            first = pool.submit(ask, "POST", "/api/block", {"text": "first"})
            begun.wait(30)
            with socket.create_connection(("localhost", server.port)) as client:
                client.sendall(
                    b"POST /api/block HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json\r\n"
                    b'Content-Length: 16\r\n\r\n{"text": "left"}'
                )
                time.sleep(0.3)
            time.sleep(0.3)
            go.set()
            assert first.result()[0] == 200
        assert ask("POST", "/api/block", {"text": "last"})[0] == 200
        assert calls == ["first", "last"]

    def test_nothing_else_waits_for_the_training_pairs(
        self, ask, studio, monkeypatch
    ):
        begun, go = threading.Event(), threading.Event()

        def read_pairs(run):
            begun.set()
            go.wait(120)
            raise UserError("There are none.")

        monkeypatch.setattr(studio, "get_training_pairs", read_pairs)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            body = {"text": "a", "translation": "b"}
            origins = pool.submit(ask, "POST", "/api/origins", body)
            assert begun.wait(30)
            try:
                assert ask("POST", "/api/runs", {})[0] == 200
                assert ask("POST", "/api/translate", {"text": "a"})[0] == 200
            finally:
                go.set()
            assert error_of(origins.result()) == (400, "There are none.")

    def test_running_work_ends_when_its_client_leaves(
        self, server, ask, monkeypatch
    ):
        begun, ended = threading.Event(), threading.Event()

        def search(studio):
            begun.set()
            try:
                while True:
                    studio.job.advance(3, 50)
                    time.sleep(0.01)
            finally:
                ended.set()

        monkeypatch.setitem(studio_app.FUNCTIONS, "search", search)
        with socket.create_connection(("localhost", server.port)) as client:
            client.sendall(
                b"POST /api/search HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\n"
                b"Content-Length: 2\r\n\r\n{}"
            )
            assert begun.wait(30)
            progress = json.loads(ask("POST", "/api/progress", {})[2])
            assert progress == {"done": 3, "total": 50}
        assert ended.wait(30)
        assert ask("POST", "/api/translate", {"text": "a"})[0] == 200

    def test_too_many_waiting_requests_are_refused(self, ask, monkeypatch):
        monkeypatch.setattr(studio_app, "MAX_WAITING", 0)
        for name, body in (
            ("translate", {"text": "a"}),
            ("tree", {"brackets": "(S a)"}),
        ):
            assert error_of(ask("POST", f"/api/{name}", body))[0] == 429

    def test_what_waits_when_the_server_stops_is_told_so(
        self, studio, monkeypatch
    ):
        begun, go = threading.Event(), threading.Event()

        def block(studio):
            begun.set()
            go.wait(30)

        monkeypatch.setitem(studio_app.FUNCTIONS, "block", block)
        server = HttpServer(StudioApp(studio), "localhost", 0)
        server.start()
        with contextlib.closing(
            http.client.HTTPConnection("localhost", server.port, 60)
        ) as client:
            client.request("POST", "/api/block", "{}", JSON)
            begun.wait(30)
            server.stop(0.1)
            response = client.getresponse()
            error = json.loads(response.read())["error"]
        go.set()
        assert (response.status, error) == (503, "The server is stopping.")

    def test_a_bug_is_one_line(self, ask, monkeypatch):
        def fail(studio):
            raise RuntimeError("broken")

        monkeypatch.setitem(studio_app.QUICK, "runs", fail)
        assert error_of(ask("POST", "/api/runs", {}))[0] == 500
