"""A server of exported models, over REST and gRPC."""

import contextlib
import gc
import importlib.util
import socket

from keras_transformer.serving.batcher import Batcher
from keras_transformer.serving.rest import RestServer
from keras_transformer.serving.rest import address_family
from keras_transformer.serving.service import Service
from keras_transformer.serving.versions import POLL_SECONDS
from keras_transformer.serving.versions import Versions
from keras_transformer.serving.versions import versions_in

NUM_BATCH_THREADS = 2  # one prepares and returns while another computes
SECONDS_TO_FINISH = 30  # for requests that run when the server is stopped


class Server:
    """Serves the versions of a model, as TensorFlow Serving would.

    Args:
        export_dir: directory of SavedModels in folders 1, 2, and so on.
        model_name: name that requests call the model by.
        host: address to listen on.
        port: port of gRPC; None turns it off, 0 stands for any that is free.
        rest_api_port: port of REST, likewise.
        max_batch_size: most rows of concurrent requests to run together.
        batch_timeout_micros: microseconds that a batch waits for one more.
        poll_seconds: seconds between looks for new versions.

    Raises:
        ValueError: if there is nothing to serve, or no port to serve it on.
    """

    def __init__(
        self,
        export_dir,
        model_name="translate",
        host="localhost",
        port=None,
        rest_api_port=None,
        max_batch_size=32,
        batch_timeout_micros=2000,
        poll_seconds=POLL_SECONDS,
    ):
        versions_in(export_dir)
        self._host = host
        self._versions = Versions(export_dir, _load, poll_seconds)
        self._batcher = Batcher(
            max_batch_size,
            batch_timeout_micros / 1e6,
            num_threads=NUM_BATCH_THREADS,
        )
        self.service = Service(model_name, self._versions, self._batcher)
        self._rest = self._grpc = None
        self.port, self.rest_api_port = port, rest_api_port
        self._bind()

    def start(self):
        """Load the newest version, then begin to answer."""
        self._versions.start()
        if self._rest:
            self._rest.start()
        if self._grpc:
            self._grpc.start()

    def stop(self):
        """Refuse new requests, finish those that run, and free the ports."""
        grpc_stopped = None
        if self._grpc:
            grpc_stopped = self._grpc.stop(SECONDS_TO_FINISH)
        if self._rest:
            self._rest.stop(SECONDS_TO_FINISH)
        if grpc_stopped:
            grpc_stopped.wait()
        self._batcher.close()
        self._versions.stop()

    def addresses(self):
        """Return where it answers, in words."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        addresses = []
        if self._grpc:
            addresses.append(f"gRPC on {host}:{self.port}")
        if self._rest:
            addresses.append(f"REST on http://{host}:{self.rest_api_port}")
        return " and ".join(addresses)

    def _bind(self):
        if self.rest_api_port is not None:
            with _explain_port_error(
                "rest_api_port", self.rest_api_port, self._host
            ):
                self._rest = RestServer(
                    self.service, self._host, self.rest_api_port
                )
            self.rest_api_port = self._rest.server_port
        if self.port is not None:
            from keras_transformer.serving import grpc_service

            with _explain_port_error("port", self.port, self._host):
                self._grpc, self.port = grpc_service.make_server(
                    self.service, self._host, self.port
                )


def has_grpc():
    """Return whether the extra that gRPC needs is installed."""
    return all(map(importlib.util.find_spec, ("grpc", "tensorflow_serving")))


def check_port(flag, host, port):
    """Raise a `ValueError` if nothing could listen on a port just now.

    Args:
        flag: name of the flag that the port comes from.
        host: address to listen on.
        port: the port.
    """
    with _explain_port_error(flag, port, host):
        with socket.socket(address_family(host)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))


def _load(path):
    from keras_transformer.serving.loaded_model import LoadedModel

    gc.collect()  # versions that are gone hold much memory until then
    return LoadedModel(path)


@contextlib.contextmanager
def _explain_port_error(flag, port, host):
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"`{flag}` must be a free port of this machine. Received: "
            f"{flag}={port} on {host} ({error.strerror or error}). Choose "
            "another port or host."
        ) from error
