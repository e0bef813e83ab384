import http.server
import json
import socket
import threading

import pytest
import toy_saved_model as toy
from ports import free_port

from keras_transformer.errors import UserError
from keras_transformer.serving import client
from keras_transformer.serving import limits


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    export_dir = str(tmp_path_factory.mktemp("export"))
    server = toy.start_server(export_dir, port=0, rest_api_port=0)
    yield server
    server.stop()


@pytest.fixture(params=["rest", "grpc"])
def connect(request, server):
    port = server.port if request.param == "grpc" else server.rest_api_port
    clients = []

    def connect(server=f"localhost:{port}", **options):
        options = {"model_name": "toy", "protocol": request.param, **options}
        clients.append(client.connect(server, **options))
        return clients[-1]

    yield connect
    for each in clients:
        each.close()


class ClientTest:
    def test_texts_become_translations_with_scores(self, connect):
        ask = connect()
        for texts in (["ä", "b c"], ["x"], []):
            answer = ask(texts)
            assert answer.translations == [[toy.best(t), t] for t in texts]
            assert answer.scores == [[len(t) + 2, len(t)] for t in texts]

    def test_terms_go_with_some_requests(self, connect):
        ask = connect()
        for texts, terms in (
            (["ä", "b"], [["é", "c d"], ["e", ""]]),
            (["x"], [[""]]),
        ):
            best = [best for best, _ in ask(texts, terms).translations]
            assert best == [
                " ".join([toy.best(text), *filter(None, own)])
                for text, own in zip(texts, terms)
            ]
            assert ask(texts).translations == [[toy.best(t), t] for t in texts]

    def test_a_version_can_be_chosen(self, connect):
        assert connect(model_version=1)(["x"]).translations[0][0] == "1:X"
        with pytest.raises(UserError, match="refused.*: (NOT_FOUND|404)"):
            connect(model_version=2)(["x"])

    def test_errors_of_the_server_are_reported(self, connect):
        ask = connect()
        with pytest.raises(UserError, match="localhost.*assertion failed"):
            ask(["poison"])
        assert ask(["x"]).translations[0][0] == "1:X"
        with pytest.raises(UserError, match="Servable not found.*model_name"):
            connect(model_name="other name")(["x"])

    def test_a_full_queue_is_told_from_a_missing_server(
        self, connect, server, monkeypatch
    ):
        batcher = server._batcher
        monkeypatch.setattr(batcher, "num_waiting", batcher.max_waiting)
        with pytest.raises(UserError, match="queue is full.*Try again"):
            connect()(["x"])

    def test_a_fault_of_the_server_is_in_its_log(
        self, server, connect, monkeypatch, caplog
    ):
        def divide(*arguments):
            return 1 / 0

        monkeypatch.setattr(server.service, "submit", divide)
        with pytest.raises(UserError, match="ZeroDivisionError"):
            connect()(["x"])
        assert "in divide" in caplog.text

    def test_an_unreachable_server_is_an_error(self, connect):
        address = f"localhost:{free_port()}"
        ask = connect(address)
        with pytest.raises(ValueError, match=f"{address}.*kt-serve"):
            ask(["x"])

    def test_a_slow_server_is_an_error(self, connect):
        ask = connect(timeout_secs=0.2)
        with pytest.raises(UserError, match="within 0.2 s"):
            ask(["slow"])

    def test_the_server_limits_the_time_of_a_request(
        self, connect, monkeypatch
    ):
        monkeypatch.setattr(limits, "PREDICT_SECONDS", 0.2)
        with pytest.raises(UserError, match="within"):
            connect()(["slow"])

    def test_an_unknown_host_is_an_error(self, connect):
        for name in ("nowhere.invalid", "a..b", "x" * 99, "[::1]:1"):
            with pytest.raises(UserError, match="No answer from .*kt-serve"):
                connect(name)(["x"])

    @pytest.mark.parametrize(
        "address", ["", "host:port", "ftp://host", "host:70000", ":8500", "a b"]
    )
    def test_a_malformed_address_is_an_error(self, connect, address):
        with pytest.raises(UserError, match="`server` must be a host"):
            connect(address)

    def test_grpc_takes_no_path(self):
        with pytest.raises(UserError, match="`server` must be a host"):
            client.connect("http://host:8500/models")


class RestClientTest:
    @pytest.fixture
    def foreign(self):
        """Returns a function that starts a server with a fixed answer."""
        servers = []

        def start(status, body, protocol="HTTP/1.1"):
            class Handler(http.server.BaseHTTPRequestHandler):
                protocol_version = protocol

                def do_POST(self):
                    self.rfile.read(int(self.headers["Content-Length"]))
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *args):
                    pass

            server = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
            server.daemon_threads = True
            threading.Thread(
                target=server.serve_forever, args=(0.01,), daemon=True
            ).start()
            servers.append(server)
            return client.connect(f"localhost:{server.server_port}", "rest")

        yield start
        for server in servers:
            server.shutdown()
            server.server_close()

    @pytest.mark.parametrize(
        "status, body",
        [
            (200, b"<html>hello</html>"),
            (200, b"[]"),
            (200, b'{"outputs": {"scores": [1]}}'),
            (200, b'{"outputs": 1}'),
            (502, b"<html>Bad Gateway</html>"),
            (500, b'{"message": "no"}'),
            (200, b"\xff"),
        ],
    )
    def test_an_answer_of_another_kind_is_an_error(self, foreign, status, body):
        with pytest.raises(UserError, match="is not a translation"):
            foreign(status, body)(["x"])

    def test_a_closed_connection_is_opened_again(self, foreign):
        answer = {"outputs": {"translations": [["y"]], "scores": [[0]]}}
        ask = foreign(200, json.dumps(answer).encode())
        assert ask(["x"]).translations == [["y"]]
        ask._connection.sock.shutdown(socket.SHUT_RDWR)
        assert ask(["x"]).translations == [["y"]]

    def test_a_url_can_have_a_path(self, server):
        ask = client.connect("https://host/models", "rest")
        assert ask._path == "/models/v1/models/translate:predict"
        assert ask._address.netloc == "host:443"
