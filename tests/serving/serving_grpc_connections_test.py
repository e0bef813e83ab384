import threading
import time

import pytest

from keras_transformer.serving import limits
from keras_transformer.serving.service import Service
from keras_transformer.serving.versions import Versions

grpc = pytest.importorskip("grpc")

from keras_transformer.serving import grpc_service  # noqa: E402
from keras_transformer.serving import messages  # noqa: E402

STATUS = "/tensorflow.serving.ModelService/GetModelStatus"
CODES = grpc.StatusCode


@pytest.fixture
def start(tmp_path):
    """Returns a function that starts a server without a model."""
    (tmp_path / "1").mkdir()
    servers = []

    def start():
        service = Service({"toy": Versions(str(tmp_path), None)}, None)
        server, port = grpc_service.make_server(service, "localhost", 0)
        server.start()
        servers.append(server)
        return f"localhost:{port}"

    yield start
    for server in servers:
        server.stop(0).wait()


@pytest.fixture
def connect():
    """Returns a function that makes a channel with its own connection."""
    channels = []

    def connect(address):
        options = [("grpc.use_local_subchannel_pool", 1)]
        channels.append(grpc.insecure_channel(address, options))
        return channels[-1]

    yield connect
    for channel in channels:
        channel.close()


@pytest.fixture
def stall():
    """Returns a function that begins a call and never sends its message."""
    go = threading.Event()
    calls = []  # without a reference, a call is cancelled

    def nothing():
        go.wait()
        yield from ()

    def stall(channel):
        calls.append(channel.stream_unary(STATUS).future(nothing()))
        return calls[-1]

    yield stall
    go.set()


def ask(channel):
    request = messages.GetModelStatusRequest()
    request.model_spec.name = "toy"
    content = channel.unary_unary(STATUS)(request.SerializeToString(), 20)
    response = messages.GetModelStatusResponse.FromString(content)
    return [entry.version for entry in response.model_version_status]


class GrpcConnectionTest:
    def test_stalled_calls_of_two_clients_leave_places_for_others(
        self, start, connect, stall
    ):
        address = start()
        for channel in (connect(address), connect(address)):
            for _ in range(limits.MAX_CALLS):
                stall(channel)
        time.sleep(2)
        assert ask(connect(address)) == [1]

    def test_stalled_calls_end_with_their_connection(
        self, start, connect, stall, monkeypatch
    ):
        monkeypatch.setattr(limits, "GRPC_SECONDS", 1)
        monkeypatch.setattr(limits, "GRPC_GRACE_SECONDS", 1)
        call = stall(connect(start()))
        assert call.exception(20).code() == CODES.UNAVAILABLE

    @pytest.mark.parametrize(
        "name",
        [pytest.param("GRPC_SECONDS", marks=pytest.mark.slow), "IDLE_SECONDS"],
    )
    def test_a_client_survives_the_end_of_its_connection(
        self, start, connect, monkeypatch, name
    ):
        monkeypatch.setattr(limits, name, 1)
        channel = connect(start())
        end = time.monotonic() + 4
        while time.monotonic() < end:
            assert ask(channel) == [1]
            time.sleep(1.2 if name == "IDLE_SECONDS" else 0.001)
