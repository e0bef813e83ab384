"""What a server answers while it loads its first version."""

import contextlib
import http.client
import json
import threading

import pytest
import toy_saved_model as toy
from ports import free_port

from keras_transformer.errors import UserError
from keras_transformer.serving import client
from keras_transformer.serving.loaded_model import LoadedModel
from keras_transformer.serving.server import Server


class SlowServer:
    """A server that loads its model when it is told to."""

    def __init__(self, export_dir):
        self.go = threading.Event()
        self.begun = threading.Event()
        self.server = Server(
            export_dir, "toy", port=0, rest_api_port=0, open_model=self._open
        )
        self._thread = threading.Thread(target=self.server.start)
        self._thread.start()
        self.begun.wait(60)

    def _open(self, path):
        self.begun.set()
        self.go.wait(60)
        return LoadedModel(path)

    def finish(self):
        self.go.set()
        self._thread.join()

    def get(self, path):
        port = self.server.rest_api_port
        connection = http.client.HTTPConnection("localhost", port)
        with contextlib.closing(connection):
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def connect(self, protocol):
        server = self.server
        port = server.port if protocol == "grpc" else server.rest_api_port
        return client.connect(f"localhost:{port}", protocol, "toy")


@pytest.fixture
def slow(tmp_path):
    toy.write_version(str(tmp_path), 1)
    slow = SlowServer(str(tmp_path))
    yield slow
    slow.finish()
    slow.server.stop()


class StartTest:
    def test_the_status_tells_that_the_model_is_being_loaded(self, slow):
        def state():
            status, answer = slow.get("/v1/models/toy")
            (version,) = answer["model_version_status"]
            assert (status, version["version"]) == (200, "1")
            return version["state"]

        assert state() == "LOADING"
        status, answer = slow.get("/v1/models/toy/metadata")
        assert (status, list(answer)) == (503, ["error"])
        status, answer = slow.get("/v1/models/other/metadata")
        assert status == 404
        slow.finish()
        assert state() == "AVAILABLE"

    @pytest.mark.parametrize("protocol", ["rest", "grpc"])
    def test_a_client_is_told_and_later_answered(self, slow, protocol):
        with contextlib.closing(slow.connect(protocol)) as ask:
            with pytest.raises(UserError, match="being loaded.*Try again"):
                ask(["dog"])
            slow.finish()
            assert ask(["dog"]).translations[0][0] == toy.best("dog")

    def test_a_model_that_cannot_be_loaded_frees_the_ports(self, tmp_path):
        (tmp_path / "1").mkdir()
        server = Server(str(tmp_path), "toy", rest_api_port=0)
        with pytest.raises(UserError, match="cannot be loaded .there is"):
            server.start()
        port = server.rest_api_port
        with pytest.raises(ConnectionRefusedError):
            http.client.HTTPConnection("localhost", port).connect()

    def test_a_port_that_another_server_listens_on_is_refused(self, tmp_path):
        (tmp_path / "1").mkdir()
        port = free_port()
        first = Server(str(tmp_path), rest_api_port=port)
        second = Server(str(tmp_path), rest_api_port=port)  # both have bound it
        first._rest.start()
        with pytest.raises(UserError, match=f"Cannot listen on .*:{port}: "):
            second.start()
        first.stop()

    def test_any_free_port_is_taken_at_once(self, tmp_path):
        (tmp_path / "1").mkdir()
        first = Server(str(tmp_path), rest_api_port=0)
        port = first.rest_api_port
        with pytest.raises(UserError, match=f"Cannot listen on .*:{port}: "):
            Server(str(tmp_path), rest_api_port=port)
        first.stop()
