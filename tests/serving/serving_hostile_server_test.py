import contextlib
import json
import socket
import threading
import time

import pytest

from keras_transformer.errors import UserError
from keras_transformer.serving import client
from keras_transformer.serving import limits

OK = b"HTTP/1.1 200 OK\r\n"


def answer(outputs, status=OK):
    """Returns a well-formed answer of HTTP."""
    body = (
        outputs if isinstance(outputs, bytes) else json.dumps(outputs).encode()
    )
    return status + b"Content-Length: %d\r\n\r\n" % len(body) + body


def outputs(translations, scores):
    return answer({"outputs": {"translations": translations, "scores": scores}})


@pytest.fixture
def serve():
    """Returns a function that starts a server, which returns its port."""
    with contextlib.ExitStack() as stack:

        def serve(parts, pause=0.0):
            listener = socket.create_server(("localhost", 0))
            stack.callback(listener.close)

            def run():
                with contextlib.suppress(OSError):
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(2**16)
                        for part in parts:
                            connection.sendall(part)
                            time.sleep(pause)
                        # Closing with unread bytes would destroy the answer.
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(2**16):
                            pass

            threading.Thread(target=run, daemon=True).start()
            return listener.getsockname()[1]

        yield serve


def error_of(port, protocol="rest", timeout_secs=10.0):
    """Returns the error that a request for one text ends in."""
    ask = client.connect(
        f"localhost:{port}", protocol, timeout_secs=timeout_secs
    )
    with contextlib.closing(ask), pytest.raises(UserError) as error:
        ask(["x"])
    message = str(error.value)
    assert message.isprintable()
    assert len(message) < 600
    return message


class RestTest:
    @pytest.mark.parametrize(
        "content",
        [
            answer(b"[" * 100_000),
            answer(b'{"outputs": ' * 10_000),
            answer(b"\xff" * 100),
            answer(b'{"outputs": {"translations": 1' + b"0" * 5000 + b"}}"),
            outputs([["y"]], 1),
            outputs([["y"]], [1]),
            outputs([["y"]], [["1"]]),
            outputs([["y"]], [[True]]),
            outputs([["y"]], [[None]]),
            outputs([["y"]], [[10**400]]),
            outputs([["y"]], [[]]),
            outputs([["y"]], [[1], [2]]),
            outputs([["y"]] * 2, [[1]] * 2),
            outputs([[]], [[]]),
            outputs([], []),
            outputs(["y"], [[1]]),
            outputs([[1]], [[1]]),
            outputs([["\ud800"]], [[1]]),
            outputs([None], [None]),
            outputs({"0": ["y"]}, {"0": [1]}),
            answer(b"", b"HTTP/1.1 301 x\r\nLocation: http://localhost/\r\n"),
            answer(b'{"error": ', b"HTTP/1.1 500 x\r\n"),
            OK + b"Content-Length: 99\r\n\r\n{}",
            OK + b"Content-Length: -5\r\n\r\n{}",
            OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            OK + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b",
        ],
    )
    def test_an_answer_that_is_no_translation_is_an_error(self, serve, content):
        message = error_of(serve([content]))
        assert "is not a translation" in message or "HTTP" in message

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\0" * 1000,
            b"HTTP/1.1 999999 x\r\n\r\n",
            b"HTTP/1.1 200 " + b"x" * 100_000,
            OK + b"X: y\r\n" * 20_000,
            OK + b"X: " + b"y" * 100_000,
            OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n",
            OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        ],
    )
    def test_an_answer_that_is_no_http_is_an_error(self, serve, content):
        assert "No answer from" in error_of(serve([content]))

    @pytest.mark.parametrize(
        "begin",
        [
            b"",
            OK,
            OK + b"X: ",
            OK + b"Content-Length: 1000\r\n\r\n",
            OK + b"\r\n",
            OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n",
        ],
    )
    def test_a_dripping_answer_ends_in_time(self, serve, begin):
        port = serve([begin] + [b"1"] * 100, pause=0.05)
        start = time.monotonic()
        assert "within 0.3 s" in error_of(port, timeout_secs=0.3)
        assert time.monotonic() - start < 2

    def test_all_addresses_of_a_host_share_the_time(self, monkeypatch):
        with contextlib.ExitStack() as stack:
            busy = stack.enter_context(
                socket.create_server(("localhost", 0), backlog=0)
            )
            place = busy.getsockname()
            for _ in range(2):  # the system accepts no more
                client = stack.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex(place)
            kind = (socket.AF_INET, socket.SOCK_STREAM, 0, "", place)
            monkeypatch.setattr(
                socket, "getaddrinfo", lambda *_, **__: 9 * [kind]
            )
            start = time.monotonic()
            assert "within 0.3 s" in error_of(place[1], timeout_secs=0.3)
            assert time.monotonic() - start < 1.5

    def test_an_answer_without_a_pause_ends_in_time(self, serve):
        begin = OK + b"Transfer-Encoding: chunked\r\n\r\n"
        # Small chunks take the client longer than they take to arrive.
        port = serve([begin] + [b"1\r\n1\r\n" * 10_000] * 250)
        start = time.monotonic()
        assert "within 0.3 s" in error_of(port, timeout_secs=0.3)
        assert time.monotonic() - start < 2

    @pytest.mark.parametrize(
        "begin",
        [
            OK + b"\r\n",
            OK + b"Content-Length: 99999999999\r\n\r\n",
            OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffff\r\n",
            b"",
        ],
    )
    def test_an_endless_answer_is_cut_off(self, serve, begin, monkeypatch):
        monkeypatch.setattr(limits, "MAX_RESPONSE_BYTES", 2**20)
        # Without a begin, an endless number of answers before the answer.
        block = b"1" * 2**16 if begin else b"HTTP/1.1 100 x\r\n\r\n" * 4000
        port = serve([begin] + [block] * 1000)
        assert "more than 1048576 bytes" in error_of(port)

    def test_an_error_cannot_send_commands_to_the_terminal(self, serve):
        error = {"error": "\x1b[2J\x07\n\ud800" + "x" * 10_000}
        message = error_of(serve([answer(error, b"HTTP/1.1 400 x\r\n")]))
        assert "refused the request: 400, ?[2J? ?xxx" in message


class GrpcTest:
    @pytest.fixture
    def serve_answer(self):
        """Returns a function that starts a server of a fixed answer."""
        import concurrent.futures

        import grpc

        servers = []

        def start(content):
            def predict(request, context):
                if isinstance(content, str):
                    context.abort(grpc.StatusCode.INTERNAL, content)
                return content

            handler = grpc.unary_unary_rpc_method_handler(predict)
            server = grpc.server(
                concurrent.futures.ThreadPoolExecutor(1),
                [
                    grpc.method_handlers_generic_handler(
                        "tensorflow.serving.PredictionService",
                        {"Predict": handler},
                    )
                ],
            )
            servers.append(server)
            port = server.add_insecure_port("localhost:0")
            server.start()
            return port

        yield start
        for server in servers:
            server.stop(0)

    def response(self, **results):
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2

        response = predict_pb2.PredictResponse()
        for name, value in results.items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(value))
        return response

    @pytest.mark.parametrize(
        "results",
        [
            {},
            {"translations": [["y"]]},
            {"translations": [[1]], "scores": [[1.0]]},
            {"translations": ["y"], "scores": [1.0]},
            {"translations": "y", "scores": 1.0},
            {"translations": [["y"]], "scores": [["1"]]},
            {"translations": [["y"]], "scores": [[True]]},
            {"translations": [["y"]], "scores": [[1j]]},
            {"translations": [["y"], ["z"]], "scores": [[1.0], [1.0]]},
        ],
    )
    def test_results_that_are_no_translations_are_an_error(
        self, serve_answer, results
    ):
        content = self.response(**results).SerializeToString()
        message = error_of(serve_answer(content), "grpc")
        assert "is not a translation" in message

    def test_malformed_messages_are_an_error(self, serve_answer, capfd):
        response = self.response(translations=[["y"]], scores=[[1.0]])
        huge = response.outputs["translations"].tensor_shape
        huge.dim[0].size = 2**40
        for content in (
            response.SerializeToString(),
            b"\xff" * 100,
            b"x" * (limits.MAX_RESPONSE_BYTES + 1),
            "\x1b[2J\n" * 100,
        ):
            error_of(serve_answer(content), "grpc")
        assert capfd.readouterr().err == ""

    def test_a_server_of_another_protocol_is_an_error(self, serve):
        content = answer({"error": "not gRPC"})
        assert "No answer" in error_of(
            serve([content] * 10, pause=0.1), "grpc", timeout_secs=1
        )
