import http.client
import json
import os
import socket
import threading
import time

import pytest
import toy_saved_model as toy
from waiting import wait_until

from keras_transformer.serving import limits
from keras_transformer.serving.server import NUM_BATCH_THREADS


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    export_dir = str(tmp_path_factory.mktemp("export"))
    # Version 1 has a limit, as if kt-exporter had written it.
    extra = os.path.join(toy.write_version(export_dir, 1), "assets.extra")
    os.mkdir(extra)
    with open(os.path.join(extra, "export.json"), "w") as file:
        file.write('{"max_tokens": 8}')
    toy.write_version(export_dir, 2)
    server = toy.start_server(export_dir, num_versions=0, rest_api_port=0)
    yield server
    server.stop()


@pytest.fixture
def connection(server):
    connection = http.client.HTTPConnection(
        "localhost", server.rest_api_port, timeout=20
    )
    yield connection
    connection.close()


@pytest.fixture
def ask(connection):
    def ask(method, path, body=None, headers={}):
        if isinstance(body, dict):
            body = json.dumps(body)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        assert response.headers["Content-Type"] == "application/json"
        return response.status, json.loads(response.read())

    return ask


def raw(server, content):
    """Sends bytes on a new connection and returns the whole answer."""
    with socket.create_connection(("localhost", server.rest_api_port)) as s:
        s.settimeout(20)
        s.sendall(content)
        answer = b""
        while part := s.recv(2**16):
            answer += part
    return answer


class PredictTest:
    def test_row_format(self, ask):
        status, answer = ask(
            "POST", "/v1/models/toy:predict", {"instances": ["ä", "b"]}
        )
        assert status == 200
        assert answer == {
            "predictions": [
                {"translations": ["2:Ä", "ä"], "scores": [3, 1]},
                {"translations": ["2:B", "b"], "scores": [3, 1]},
            ]
        }

    def test_column_format(self, ask):
        status, answer = ask(
            "POST", "/v1/models/toy:predict", {"inputs": {"text": ["ä"]}}
        )
        assert (status, answer) == (
            200,
            {"outputs": {"translations": [["2:Ä", "ä"]], "scores": [[3, 1]]}},
        )

    def test_a_version_can_be_named(self, ask):
        for version in (1, 2):
            path = f"/v1/models/toy/versions/{version}:predict"
            _, answer = ask("POST", path, {"inputs": ["x"]})
            best = answer["outputs"]["translations"][0][0]
            assert best == toy.best("x", version)

    def test_other_signatures(self, ask):
        path = "/v1/models/toy:predict"
        pair = {"text": "abc", "targets": "d"}
        body = {"signature_name": "score", "instances": [pair, pair]}
        assert ask("POST", path, body) == (200, {"predictions": [2, 2]})
        body = {"signature_name": "ids", "inputs": [[1, 2]]}
        _, answer = ask("POST", path, body)
        assert answer["outputs"]["outputs"] == [[[1, 2], [-1, -2]]]
        body = {"options": {"signature_name": "ids"}, "inputs": ["x"]}
        assert ask("POST", path, body)[1]["outputs"]["scores"] == [[3, 1]]

    def test_a_name_is_unquoted_and_a_query_ignored(self, ask):
        path = "/V1/Models/%74oy:Predict?a=b"
        assert ask("POST", path, {"inputs": ["x"]})[0] == 200

    @pytest.mark.parametrize(
        "path, body, status, words",
        [
            ("toy", "{", 400, "JSON Parse error"),
            ("toy", "", 400, "JSON Parse error"),
            ("toy", '{"instances": ["\\ud800"]}', 400, "surrogates"),
            ("toy", '{"signature_name": "\\udfff"}', 400, "surrogates"),
            ("toy", '{"\\ud800": 0, "inputs": ["a"]}', 400, "surrogates"),
            ("toy", '{"inputs": [[["\\ud83d"]]]}', 400, "must have shape (?)"),
            (
                "toy",
                {"inputs": ["a"], "signature_name": "x" * 10**6},
                400,
                "xxx...",
            ),
            ("toy", {"signature_name": 3}, 400, "must be a string: 3"),
            ("toy", {"instances": [1]}, 400, "type: string"),
            ("toy", {"inputs": [["a"]]}, 400, "must have shape (?)"),
            ("toy", {"inputs": "a"}, 400, "must have shape (?)"),
            ("toy", {"inputs": {"txet": ["a"]}}, 400, "{txet}"),
            ("toy", {"inputs": ["poison"]}, 400, "assertion failed"),
            ("toy", {"inputs": ["a"] * 5000}, 400, "at most 2048 rows"),
            (
                "toy",
                {"signature_name": "other", "inputs": ["a"]},
                400,
                '"other" not found',
            ),
            (
                "toy/versions/1",
                {"inputs": ["a", "b" * 513]},
                400,
                "at most 512 bytes, because the model takes 8 tokens",
            ),
            (
                "toy/versions/1",
                {"signature_name": "ids", "inputs": [[0] * 9]},
                400,
                "at most 8 ids",
            ),
            ("other", {"inputs": ["a"]}, 404, "Latest(other)"),
            ("toy/versions/9", {"inputs": ["a"]}, 404, "Specific(toy, 9)"),
            (
                "toy/versions/9223372036854775807",
                {"inputs": ["a"]},
                404,
                "807)",
            ),
            ("toy", b"\x1f\x8b\x08\0", 400, "compressed"),
            ("toy/labels/stable", {"inputs": ["a"]}, 400, "label: stable"),
            ("toy/versions/x", {"inputs": ["a"]}, 400, "Unknown request"),
            ("toy/more", {"inputs": ["a"]}, 400, "Unknown request"),
        ],
    )
    def test_malformed_requests_get_their_error(
        self, ask, path, body, status, words
    ):
        received, answer = ask("POST", f"/v1/models/{path}:predict", body)
        assert list(answer) == ["error"]
        assert words in answer["error"]
        assert received == status

    def test_other_methods_are_refused(self, ask):
        for name in ("classify", "regress"):
            status, answer = ask("POST", f"/v1/models/toy:{name}", {})
            assert (status, list(answer)) == (501, ["error"])
        assert ask("GET", "/v1/models/toy:predict")[0] == 400
        assert ask("POST", "/v1/models/toy", {})[0] == 400
        assert ask("DELETE", "/v1/models/toy")[0] == 400
        assert ask("GET", "/elsewhere")[0] == 400

    def test_errors_and_answers_share_a_connection(self, ask):
        path = "/v1/models/toy:predict"
        for _ in range(5):
            assert ask("POST", path, "[")[0] == 400
            assert ask("POST", path, {"inputs": ["x"]})[0] == 200


class StatusTest:
    def test_all_versions_or_one(self, ask):
        status, answer = ask("GET", "/v1/models/toy")
        good = {"error_code": "OK", "error_message": ""}
        entries = [
            {"version": version, "state": "AVAILABLE", "status": good}
            for version in ("2", "1")
        ]
        assert (status, answer) == (200, {"model_version_status": entries})
        _, answer = ask("GET", "/v1/models/toy/versions/1")
        assert answer == {"model_version_status": entries[1:]}

    def test_unknown_models_and_versions_are_not_found(self, ask):
        assert ask("GET", "/v1/models/other")[0] == 404
        assert ask("GET", "/v1/models/toy/versions/9")[0] == 404
        assert ask("GET", "/v1/models")[0] == 400

    def test_metadata(self, ask):
        status, answer = ask("GET", "/v1/models/toy/versions/1/metadata")
        assert status == 200
        assert answer["model_spec"]["name"] == "toy"
        assert answer["model_spec"]["version"] == "1"
        signatures = answer["metadata"]["signature_def"]["signature_def"]
        ids = signatures["ids"]["inputs"]["inputs"]
        assert ids["dtype"] == "DT_INT32"
        assert [d["size"] for d in ids["tensor_shape"]["dim"]] == ["-1", "-1"]
        assert (
            signatures["score"]["method_name"] == "tensorflow/serving/predict"
        )
        _, newest = ask("GET", "/v1/models/toy/metadata")
        assert newest["model_spec"]["version"] == "2"


class HttpTest:
    def test_a_body_that_is_too_large_is_refused_with_a_message(self, ask):
        body = b" " * (limits.MAX_BODY_BYTES + 1)
        status, answer = ask("POST", "/v1/models/toy:predict", body)
        assert status == 413
        assert "must have at most" in answer["error"]

    @pytest.mark.parametrize("num_bytes", [17, limits.MAX_BODY_BYTES + 1])
    def test_a_body_can_arrive_in_chunks(self, ask, num_bytes):
        body = b'{"inputs": ["x"]}'.ljust(num_bytes)
        chunks = [body[i : i + 2**16] for i in range(0, num_bytes, 2**16)]
        status, answer = ask("POST", "/v1/models/toy:predict", iter(chunks))
        if num_bytes > limits.MAX_BODY_BYTES:
            assert status == 413
            assert "must have at most" in answer["error"]
        else:
            assert answer["outputs"]["translations"][0][0] == "2:X"

    @pytest.mark.parametrize(
        "content, status",
        [
            (b"hello\r\n\r\n", 400),
            (b"GET /v1/models/toy\r\n\r\n", 400),  # HTTP/0.9
            (b"GET /v1/models/toy HTTP/1.1\r\n\r\n", 400),  # without a host
            (b"GET http://[/x HTTP/1.0\r\nHost: x\r\n\r\n", 400),
            (b"G" * 70_000 + b"\r\n", 431),
            (b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000, 431),
            (b"GET / HTTP/1.1\r\nHost: x\r\nX : y\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: x\r\nX: y\0\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
            (b"\x16\x03\x01\x02\0\x01\0\r\n", 400),  # the start of TLS
            (b"\0" * 1000 + b"\r\n", 400),
            (bytes(range(256)) * 10, 400),
            (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        ],
    )
    def test_malformed_http_gets_an_error_too(self, server, content, status):
        head, body = raw(server, content).split(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"\r\nconnection: close" in head.lower()
        assert list(json.loads(body)) == ["error"]
        assert b"\n" not in body

    def test_the_body_of_a_request_is_never_taken_for_another(self, server):
        hidden = b"GET /v1/models/toy HTTP/1.1\r\nHost: x\r\n\r\n"
        for headers in (
            b"Content-Length: 0\r\nContent-Length: %d\r\n",
            b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\nX: %d\r\n",
            b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n",
            b"Content-Length : %d\r\n",
            b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n0\r\n",
        ):
            request = b"POST / HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n"
            answer = raw(server, request % len(hidden) + hidden)
            assert answer.count(b"HTTP/1.1 ") == 1
            assert answer.startswith(b"HTTP/1.1 400 ")

    def test_requests_that_arrive_together_are_answered_in_order(self, server):
        paths = (b"toy/versions/1", b"none", b"toy/versions/2")
        request = (
            b"GET /v1/models/%s HTTP/1.1\r\nHost: x\r\nConnection: %s\r\n\r\n"
        )
        options = (b"keep-alive", b"keep-alive", b"close")
        answer = raw(
            server, b"".join(request % each for each in zip(paths, options))
        )
        first, second, third = answer.split(b"HTTP/1.1 ")[1:]
        assert first.startswith(b"200") and b'"version": "1"' in first
        assert second.startswith(b"404")
        assert third.startswith(b"200") and b'"version": "2"' in third

    def test_head_is_answered_as_get_without_a_body(self, server):
        request = (
            b"%s /v1/models/toy HTTP/1.1\r\nHost: x\r\n"
            b"Connection: close\r\n\r\n"
        )
        head, nothing = raw(server, request % b"HEAD").split(b"\r\n\r\n")
        whole, body = raw(server, request % b"GET").split(b"\r\n\r\n")
        assert nothing == b""
        assert b"content-length: %d" % len(body) in head
        assert head.splitlines()[0] == whole.splitlines()[0]

    def test_a_disconnecting_client_does_no_harm(self, server, ask):
        for end in (b"", b"Host: x\r\nContent-Length: 100\r\n\r\n{"):
            with socket.create_connection(
                ("localhost", server.rest_api_port)
            ) as s:
                s.sendall(b"POST /v1/models/toy:predict HTTP/1.1\r\n" + end)
        assert (
            ask("POST", "/v1/models/toy:predict", {"inputs": ["x"]})[0] == 200
        )

    def test_a_client_that_has_left_takes_its_sentences_along(
        self, server, monkeypatch
    ):
        batcher = server._batcher
        model = server.service.find("toy")[1]
        calls = []

        def count_call(name, *arguments, call=model.call):
            calls.append(name)
            return call(name, *arguments)

        monkeypatch.setattr(model, "call", count_call)
        # Each fills a batch, so that the last two have to wait.
        body = json.dumps({"inputs": ["slow"] * batcher.max_batch_size})
        clients = [
            http.client.HTTPConnection("localhost", server.rest_api_port)
            for _ in range(NUM_BATCH_THREADS + 2)
        ]
        for client in clients:
            client.request("POST", "/v1/models/toy:predict", body)
        wait_until(lambda: len(calls) == NUM_BATCH_THREADS)
        wait_until(lambda: len(batcher._waiting) == 2)
        for client in clients:
            client.close()
        wait_until(lambda: not batcher._waiting)
        assert len(calls) == NUM_BATCH_THREADS

    def test_a_client_that_expects_continue_gets_it(self, server):
        body = b'{"inputs": ["x"]}'
        with socket.create_connection(("localhost", server.rest_api_port)) as s:
            s.settimeout(60)  # the batches of the test before may still run
            s.sendall(
                b"POST /v1/models/toy:predict HTTP/1.1\r\nHost: x\r\n"
                b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n"
                % len(body)
            )
            assert s.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            s.sendall(body)
            assert s.recv(1000).startswith(b"HTTP/1.1 200 ")


class StopTest:
    def test_running_requests_finish_and_new_ones_are_refused(self, tmp_path):
        server = toy.start_server(str(tmp_path), rest_api_port=0)
        address = ("localhost", server.rest_api_port)
        idle = http.client.HTTPConnection(*address, timeout=20)
        idle.request("GET", "/v1/models/toy")
        idle.getresponse().read()
        busy = http.client.HTTPConnection(*address, timeout=20)
        busy.request("POST", "/v1/models/toy:predict", '{"inputs": ["slow"]}')
        time.sleep(0.3)
        begin = time.monotonic()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        response = busy.getresponse()
        assert response.status == 200
        answer = json.loads(response.read())
        assert answer["outputs"]["translations"][0][0] == "1:SLOW"
        assert busy.sock.recv(1) == b""
        stopping.join(20)
        assert not stopping.is_alive()
        assert time.monotonic() - begin < 20
        with pytest.raises(OSError):
            socket.create_connection(address)
