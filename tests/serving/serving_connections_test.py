import contextlib
import json
import socket
import threading
import time

import pytest

from keras_transformer.serving import limits
from keras_transformer.serving.addresses import address_family
from keras_transformer.serving.connections import Connections
from keras_transformer.serving.deadline_reader import DeadlineReader
from keras_transformer.serving.rest import RestServer
from keras_transformer.serving.service import Service
from keras_transformer.serving.versions import Versions

STATUS = b"GET /v1/models/none HTTP/1.1\r\nHost: x\r\n\r\n"
PLACES = 4


@pytest.fixture
def start(tmp_path):
    """Returns a function that starts a server without a model."""
    (tmp_path / "1").mkdir()
    servers = []

    def start(places=PLACES):
        service = Service("toy", Versions(str(tmp_path), None), None)
        server = RestServer(service, "localhost", 0, places)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        if not server.is_stopping:
            server.stop(5)


@pytest.fixture
def connect():
    """Returns a function that opens a connection and sends bytes."""
    with contextlib.ExitStack() as stack:

        def connect(server, content=b""):
            address = ("localhost", server.server_port)
            client = stack.enter_context(socket.create_connection(address))
            client.settimeout(10)
            client.sendall(content)
            return client

        yield connect


def receive(client):
    """Returns the status and the error of the answer on a connection."""
    answer = b""
    while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
        part = client.recv(2**16)
        if not part:
            return None
        answer += part
    head, body = answer.split(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]


def wait_until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def num_threads():
    return sum("process_request" in t.name for t in threading.enumerate())


class HostTest:
    @pytest.mark.parametrize("host", ["", "nowhere.invalid", "x" * 99])
    def test_a_host_without_an_address_is_refused(self, host):
        with pytest.raises(ValueError, match="`host` must be.*Received"):
            address_family(host)


class TimeLimitTest:
    @pytest.mark.parametrize(
        "begin", [b"GET", b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n"]
    )
    def test_a_dripping_request_ends_in_time(
        self, start, connect, begin, monkeypatch
    ):
        monkeypatch.setattr(limits, "REQUEST_SECONDS", 0.5)
        client = connect(start(), begin)
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
        assert "must arrive in 0.5 s" in error
        assert time.monotonic() - begin < 3

    def test_reading_goes_on_with_more_time(self):
        # So that a client that was too late can read why.
        ours, theirs = socket.socketpair()
        with ours, theirs:
            end = time.monotonic() + 0.01
            reader = DeadlineReader(ours.makefile("rb", 0), ours, end)
            with pytest.raises(TimeoutError):
                reader.read(5)
            reader.deadline = time.monotonic() + 10
            theirs.sendall(b"hello")
            assert reader.read(5) == b"hello"

    def test_an_idle_connection_is_closed_without_an_answer(
        self, start, connect, monkeypatch
    ):
        monkeypatch.setattr(limits, "IDLE_SECONDS", 0.2)
        client = connect(start(), STATUS)
        assert receive(client)[0] == 404
        assert client.recv(1) == b""

    def test_a_client_that_takes_no_answers_is_given_up(
        self, start, connect, monkeypatch
    ):
        monkeypatch.setattr(limits, "ANSWER_SECONDS", 0.2)
        client = connect(start())
        client.settimeout(0.5)
        # Requests until no more fit into the buffers of either side.
        long_name = STATUS.replace(b"none", b"none" * 300)
        with contextlib.suppress(OSError):
            while True:
                client.sendall(long_name * 1000)
        wait_until(lambda: num_threads() == 0)


class PlacesTest:
    def test_stalled_clients_hold_no_more_threads_than_places(
        self, start, connect
    ):
        server = start()
        clients = [connect(server, b"GET") for _ in range(3 * PLACES)]
        refused = [receive(client) for client in clients[PLACES:]]
        assert {status for status, _ in refused} == {503}
        assert "all of its 4 connections are in use" in refused[0][1]
        assert num_threads() == PLACES

    def test_a_stalled_client_loses_its_place_to_a_new_one(
        self, start, connect, monkeypatch
    ):
        monkeypatch.setattr(limits, "MIN_IDLE_SECONDS", 0)
        server = start()
        stalled = [connect(server, b"GET") for _ in range(PLACES)]
        wait_until(lambda: num_threads() == PLACES)
        assert receive(connect(server, STATUS))[0] == 404
        assert receive(stalled[0])[0] == 503

    def test_an_answered_request_is_not_cut_off(
        self, start, connect, monkeypatch
    ):
        monkeypatch.setattr(limits, "MIN_IDLE_SECONDS", 0)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            connections = Connections(max_number=1)
            assert connections.enter(ours)
            assert connections.mark_busy(ours)
            assert not connections.enter(object())
            connections.mark_idle(ours)
            with socket.socket() as other:
                assert connections.enter(other)
            # Ended, so it gets no further request.
            assert ours.recv(1) == b""
            assert not connections.mark_busy(ours)

    def test_refused_connections_are_closed_and_their_number_limited(
        self, start, connect, monkeypatch
    ):
        monkeypatch.setattr(limits, "MAX_REFUSED", 3)
        monkeypatch.setattr(limits, "LINGER_SECONDS", 0.2)
        server = start(places=0)
        clients = [connect(server) for _ in range(10)]
        assert {receive(client)[0] for client in clients} == {503}
        wait_until(lambda: not server._refused)

    def test_stopping_ends_stalled_clients_at_once(self, start, connect):
        server = start()
        clients = [connect(server, b"GET") for _ in range(PLACES)]
        wait_until(lambda: num_threads() == PLACES)
        begin = time.monotonic()
        server.stop(10)
        assert time.monotonic() - begin < 5
        assert {receive(client)[0] for client in clients} == {503}
