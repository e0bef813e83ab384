"""What a server does for clients of REST that have left."""

import concurrent.futures
import json
import socket
import threading
import time

import numpy as np
import pytest
from tool_client import ask
from tool_client import translate
from waiting import wait_until

from keras_transformer.serving import limits
from keras_transformer.serving import text_translator
from keras_transformer.serving.server import Server
from keras_transformer.serving.signature import Signature
from keras_transformer.serving.signature import Tensor

TEXTS = Tensor(np.dtype(object), (None,))


class Echo:
    """A model whose translations are the texts."""

    num_parallel = 1
    features = ()
    max_tokens = None
    signatures = {"serving_default": Signature({"text": TEXTS}, {})}

    def __init__(self, path):
        pass

    def call(self, name, arrays, options):
        return {"translations": arrays["text"][:, None]}

    def find_tag(self, language):
        return ""


@pytest.fixture
def gate(monkeypatch):
    """Lets one text at a time be divided, and the first one block."""
    gate = threading.Event()
    gate.texts, gate.entered = [], threading.Event()
    divide = text_translator.divide

    def wait(text, *options):
        gate.texts.append(text)
        gate.entered.set()
        gate.wait(60)
        return divide(text, *options)

    monkeypatch.setattr(limits, "MAX_DIVIDED_AT_ONCE", 1)
    monkeypatch.setattr(text_translator, "divide", wait)
    yield gate
    gate.set()


@pytest.fixture
def server(tmp_path, gate):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").touch()
    server = Server(
        str(tmp_path),
        rest_api_port=0,
        open_model=Echo,
        routes={("en", "es"): "translate"},
    )
    server.start()
    yield server
    gate.set()
    server.stop()


def ask_and_leave(server, text):
    body = json.dumps({"q": text, "source": "en", "target": "es"})
    running = server._rest._config.app._running
    num_running = len(running)
    with socket.create_connection(("localhost", server.rest_api_port)) as one:
        one.sendall(
            b"POST /translate HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body.encode())
        )
        wait_until(lambda: len(running) > num_running)
    wait_until(lambda: not server._rest._server.server_state.connections)
    time.sleep(0.1)  # until the request is told so


class LeftClientsTest:
    def test_their_texts_that_wait_are_not_read(self, server, gate):
        address = f"http://localhost:{server.rest_api_port}"
        ask_and_leave(server, "first")
        assert gate.entered.wait(60)
        ask_and_leave(server, "second")
        gate.set()
        assert translate(address, "third") == {"translatedText": "third"}
        assert gate.texts == ["first", "third"]

    def test_they_cannot_fill_the_memory(self, monkeypatch, request):
        monkeypatch.setattr(limits, "MAX_RUNNING", 2)
        gate, server = map(request.getfixturevalue, ("gate", "server"))
        address = f"http://localhost:{server.rest_api_port}"
        ask_and_leave(server, "first")
        assert gate.entered.wait(60)
        ask_and_leave(server, "second")
        error = translate(address, "third")["error"]
        assert "busy with 2 requests, of which clients may have left" in error
        for path in ("/health", "/ready"):  # a full server lives and is ready
            assert ask(address, path)[0] == 200
        gate.set()
        wait_until(lambda: "error" not in translate(address, "fourth"))


class FullServerTest:
    def test_it_lives_and_is_ready(self, monkeypatch, request):
        monkeypatch.setattr(limits, "MAX_RUNNING", 2)
        monkeypatch.setattr(limits, "MAX_CONNECTIONS", 4)
        gate, server = map(request.getfixturevalue, ("gate", "server"))
        address = f"http://localhost:{server.rest_api_port}"
        running = server._rest._config.app._running
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answers = [pool.submit(translate, address, "text") for _ in "ab"]
            try:
                wait_until(lambda: len(running) == 2)
                assert "is busy" in translate(address, "more")["error"]
                for path in ("/health", "/ready"):
                    assert ask(address, path)[0] == 200
            finally:
                gate.set()
            for answer in answers:
                assert answer.result() == {"translatedText": "text"}
