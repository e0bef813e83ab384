import contextlib
import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
from certificates import make_certificate
from processes import environment
from waiting import wait_until

from keras_transformer.errors import UserError
from keras_transformer.serving import limits
from keras_transformer.serving.http_server import HttpServer
from keras_transformer.serving.http_server import bind
from keras_transformer.serving.rest import RestApp
from keras_transformer.serving.service import Service
from keras_transformer.serving.versions import Versions

STATUS = b"GET /v1/models/none HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
PLACES = 4
# A server with few descriptors, which ends with its standard input.
SMALL_SERVER = """
import resource, sys
from keras_transformer.serving import limits
from keras_transformer.serving.http_server import HttpServer
from keras_transformer.serving.rest import RestApp
from keras_transformer.serving.service import Service

limits.MAX_CONNECTIONS = 16
resource.setrlimit(resource.RLIMIT_NOFILE, (112, 112))
app = RestApp(Service({}, None))
server = HttpServer(app, "localhost", 0, sys.argv[1:])
server.start()
print(server.port, flush=True)
sys.stdin.read()
server.stop(1)
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Returns a function that starts a server without a model."""
    monkeypatch.setattr(limits, "MAX_CONNECTIONS", PLACES)
    (tmp_path / "1").mkdir()
    with contextlib.ExitStack() as stack:

        def start(tls=None, **changed_limits):
            for name, value in changed_limits.items():
                monkeypatch.setattr(limits, name, value)
            service = Service({"toy": Versions(str(tmp_path), None)}, None)
            server = HttpServer(RestApp(service), "localhost", 0, tls)
            server.start()
            stack.callback(server.stop, 5)
            return server

        yield start


@pytest.fixture
def connect():
    """Returns a function that opens a connection and sends bytes."""
    with contextlib.ExitStack() as stack:

        def connect(server, content=b""):
            address = ("localhost", server.port)
            client = stack.enter_context(socket.create_connection(address))
            client.settimeout(10)
            client.sendall(content)
            return client

        yield connect


def receive(client):
    """Returns the status and the error of the response on a connection."""
    response = b""
    while b"\r\n\r\n" not in response or not response.endswith(b"}"):
        part = client.recv(2**16)
        if not part:
            return None
        response += part
    head, body = response.split(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]


def open_connections(server):
    return server._server.server_state.connections


class HostTest:
    @pytest.mark.parametrize("host", ["", "nowhere.invalid", "x" * 99])
    def test_a_host_without_an_address_is_refused(self, host):
        with pytest.raises(UserError, match="`host` must be.*Received"):
            bind(host, 0)


class BodyTest:
    @pytest.mark.parametrize(
        "head",
        [
            b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
            b"POST / HTTP/1.0\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\n",
        ],
    )
    def test_a_client_that_sends_too_much_reads_why(self, start, connect, head):
        # More than the buffers of the system hold.
        body = bytes(4 * limits.MAX_BODY_BYTES)
        client = connect(start())
        client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert receive(client)[0] == 413

    def test_a_request_that_came_in_part_with_another_is_answered(
        self, start, connect
    ):
        body = 100 * b" "
        request = POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
        client = connect(start(), STATUS + request[:-50])
        assert receive(client)[0] == 404
        client.sendall(request[-50:])
        assert receive(client)[0] == 400

    def test_a_compressed_one_is_named_as_such(self, start, connect):
        head = POST + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n"
        status, error = receive(connect(start(), head + b"{}"))
        assert status == 415
        assert (
            "must not be compressed. Received: Content-Encoding: gzip" in error
        )

    def test_its_rest_has_to_come_in_time(self, start, connect):
        request = POST + b"Content-Length: 99\r\n\r\n"
        client = connect(start(REQUEST_SECONDS=0.5), STATUS + request)
        assert [receive(client)[0] for _ in range(2)] == [404, 408]


class TimeLimitTest:
    @pytest.mark.parametrize(
        "begin", [b"", b"GET", POST + b"Content-Length: 99\r\n\r\n"]
    )
    def test_a_dripping_request_ends_in_time(self, start, connect, begin):
        client = connect(start(REQUEST_SECONDS=0.5), begin)
        dripping = threading.Event()

        def drip():
            with contextlib.suppress(OSError):
                while not dripping.wait(0.05):
                    client.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        begin = time.monotonic()
        status, error = receive(client)
        dripping.set()
        thread.join()
        assert status == 408
        assert "No whole request in 0.5 s" in error
        assert time.monotonic() - begin < 3

    def test_an_idle_connection_is_closed_without_a_response(
        self, start, connect
    ):
        client = connect(start(IDLE_SECONDS=0.2), STATUS)
        assert receive(client)[0] == 404
        assert client.recv(1) == b""

    def test_a_request_that_follows_another_has_its_own_time(
        self, start, connect
    ):
        client = connect(start(REQUEST_SECONDS=0.5))
        for _ in range(4):
            time.sleep(0.2)
            client.sendall(STATUS)
            assert receive(client)[0] == 404

    def test_a_client_that_takes_no_responses_is_given_up(self, start, connect):
        server = start(RESPONSE_SECONDS=0.2)
        # Small buffers of the system, which are full sooner.
        server._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        client = connect(server)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(0.5)
        # Requests until no more fit into the buffers of either side.
        long_name = STATUS.replace(b"none", b"none" * 300)
        with contextlib.suppress(OSError):
            while True:
                client.sendall(long_name * 1000)
        wait_until(lambda: not open_connections(server))


class PlacesTest:
    def test_a_client_without_a_place_is_refused(self, start, connect):
        server = start(LINGER_SECONDS=0.2)
        stalled = [connect(server, b"GET") for _ in range(PLACES)]
        wait_until(lambda: len(open_connections(server)) == PLACES)
        refused = [receive(connect(server)) for _ in range(PLACES)]
        assert {status for status, _ in refused} == {503}
        assert "All of the server's 4 connections are in use" in refused[0][1]
        wait_until(lambda: len(open_connections(server)) == PLACES)
        stalled[0].sendall(STATUS.removeprefix(b"GET"))
        assert receive(stalled[0])[0] == 404

    def test_a_stalled_client_loses_its_place_to_a_new_one(
        self, start, connect
    ):
        server = start(MIN_IDLE_SECONDS=0)
        stalled = [connect(server, b"GET") for _ in range(PLACES)]
        wait_until(lambda: len(open_connections(server)) == PLACES)
        assert receive(connect(server, STATUS))[0] == 404
        assert receive(stalled[0])[0] == 503

    def test_the_number_of_connections_is_limited(self, start, connect):
        server = start()
        clients = [connect(server) for _ in range(10 * PLACES)]
        time.sleep(0.5)
        assert len(open_connections(server)) <= 2 * PLACES
        del clients

    def test_silent_clients_of_tls_have_places_like_others(
        self, start, connect, tmp_path
    ):
        pair = make_certificate(tmp_path, "server")
        server = start(pair, MIN_IDLE_SECONDS=0, REQUEST_SECONDS=2)
        silent = [connect(server) for _ in range(10 * PLACES)]
        time.sleep(0.5)
        context = ssl.create_default_context(cafile=pair[0])
        for _ in range(3):
            client = connect(server)
            with context.wrap_socket(client, server_hostname="localhost") as s:
                s.sendall(STATUS)
                assert receive(s)[0] == 404
        assert len(open_connections(server)) <= 2 * PLACES
        # They are closed without a response, which they could not read.
        for client in silent:
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
        wait_until(lambda: not open_connections(server))

    def test_a_burst_of_them_leaves_descriptors(self, tmp_path):
        pair = make_certificate(tmp_path, "server")
        process = subprocess.Popen(
            [sys.executable, "-c", SMALL_SERVER, *pair],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(__file__),
        )
        address = "localhost", int(process.stdout.readline())
        with contextlib.ExitStack() as stack:
            # So that all of them wait when it accepts the first one.
            process.send_signal(signal.SIGSTOP)
            for _ in range(120):
                stack.enter_context(socket.create_connection(address))
            process.send_signal(signal.SIGCONT)
            assert process.communicate(timeout=30) == ("", "")

    def test_stopping_ends_stalled_clients_at_once(self, start, connect):
        server = start()
        begins = [b"GET", POST + b"Content-Length: 99\r\n\r\n"]
        clients = [connect(server, begin) for begin in begins]
        wait_until(lambda: len(open_connections(server)) == len(clients))
        begin = time.monotonic()
        server.stop(10)
        assert time.monotonic() - begin < 5
        assert {receive(client)[0] for client in clients} == {503}
