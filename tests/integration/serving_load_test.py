"""Two minutes of both protocols at once, with faults mixed in.

    pytest -q -m slow tests/integration/serving_load_test.py

prints the figures of each model.
"""

import json
import pathlib
import shutil
import socket
import threading

import pytest
import toy_saved_model as toy
from serve_load import run_load
from served import Served

from keras_transformer.decoding.translator import Translator

SECONDS = 120
V01 = pathlib.Path(__file__).parents[1] / "fixtures/v0.1"


@pytest.fixture
def load(show):
    """Returns a function that loads a server and returns the figures."""
    servers = []

    def load(export_dir, texts, is_right, num_clients, min_requests):
        served = Served(export_dir)
        servers.append(served)
        stopping = threading.Event()
        stalling = threading.Thread(target=_stall, args=(served.rest, stopping))
        stalling.start()
        report = run_load(
            served.addresses,
            "translate",
            texts,
            is_right,
            SECONDS,
            num_clients,
            process_id=served.process.pid,
            min_requests=min_requests // num_clients,
        )
        stopping.set()
        stalling.join()
        figures = report.figures()
        show(json.dumps(figures, indent=1))
        assert served.end() == (0, "")  # not a line in its log
        return figures

    yield load
    for served in servers:
        served.process.kill()
        served.process.communicate()


def _stall(port, stopping):
    """Opens 20 connections a second that never send a whole request."""
    clients = []
    while not stopping.wait(0.05):
        clients.append(socket.create_connection(("localhost", port)))
        clients[-1].sendall(b"POST")
        if len(clients) > 400:
            clients.pop(0).close()
    for client in clients:
        client.close()


def check(figures):
    assert figures["wrong_answers"] == 0
    assert figures["errors"] == {}
    assert figures["malformed_not_refused_rightly"] == 0
    assert abs(figures["memory_growth_percent"]) < 5


class MixedLoadTest:
    @pytest.mark.slow
    def test_a_toy_gives_right_answers_in_flat_memory(self, load, tmp_path):
        toy.write_version(str(tmp_path), 1)
        texts = [f"Sentence {i} of {'few ' * (i % 7)}words" for i in range(50)]
        figures = load(
            str(tmp_path),
            texts,
            lambda text, best: best == toy.best(text),
            num_clients=32,
            min_requests=10_000,
        )
        check(figures)

    @pytest.mark.slow
    @pytest.mark.parametrize("format", ["saved_model", "ctranslate2"])
    def test_a_transformer_gives_right_answers_in_flat_memory(
        self, load, tmp_path, format
    ):
        if format == "ctranslate2":
            pytest.importorskip("ctranslate2")
        export_dir = str(tmp_path / "export")
        shutil.copytree(V01 / format, export_dir)
        texts = [" ".join("abcdefgh"[i % 8 :][: 1 + i % 5]) for i in range(40)]
        expected = dict(
            zip(texts, Translator.load(str(V01 / "run"), engine="keras")(texts))
        )
        figures = load(
            export_dir,
            texts,
            lambda text, best: best == expected[text],
            num_clients=16,
            min_requests=1000,
        )
        check(figures)
