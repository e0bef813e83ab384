"""The server of exported models, over REST and gRPC."""

import gc

from keras_transformer.serving import grpc_service
from keras_transformer.serving.batcher import Batcher
from keras_transformer.serving.errors import format_address
from keras_transformer.serving.http_server import HttpServer
from keras_transformer.serving.http_server import load_tls
from keras_transformer.serving.loaded_model import LoadedModel
from keras_transformer.serving.rest import RestApp
from keras_transformer.serving.service import Service
from keras_transformer.serving.versions import LazyVersions
from keras_transformer.serving.versions import Memory
from keras_transformer.serving.versions import Versions

NUM_BATCH_THREADS = 2  # one moves data while the other computes
SECONDS_TO_FINISH = 30  # for running requests when the server stops


class Server:
    """Serves the versions of a model as TensorFlow Serving does.

    `port` is for gRPC and `rest_api_port` for REST. 0 is any free port, and
    None turns the protocol off. `max_batch_size` rows of concurrent requests
    run together, and a batch waits `batch_timeout_micros` for one more request.
    `open_model` takes the path of a version and returns a model like
    `LoadedModel`. `tls` has the paths of a certificate and its private key,
    which encrypt both protocols. `routes` and `allowed_origin` are as in
    `RestApp`. With `models`, which has directories by name instead of
    `export_dir`, each is loaded when it is first asked for, and those that were
    not used for longest are unloaded if the files have more than `max_bytes`.
    `keys` are the `Keys` of the clients; None lets everybody ask.
    `monitor` is a `Monitor`, which the server closes. `memories` are as in
    `LibreTranslate`.
    """

    def __init__(
        self,
        export_dir=None,
        model_name="translate",
        host="localhost",
        port=None,
        rest_api_port=None,
        max_batch_size=32,
        batch_timeout_micros=2000,
        open_model=LoadedModel,
        tls=None,
        routes=None,
        allowed_origin=None,
        keys=None,
        monitor=None,
        models=None,
        max_bytes=None,
        memories=None,
    ):
        if tls is not None:
            load_tls(*tls)  # for gRPC, which names no fault
        self._host = host
        self._tls = tls
        self._open_model = open_model
        seconds = batch_timeout_micros / 1e6
        self._batcher = Batcher(max_batch_size, seconds, NUM_BATCH_THREADS)
        if models:
            memory = Memory(max_bytes)
            by_directory = {
                one: LazyVersions(one, self._load, memory)
                for one in models.values()
            }
            served = {name: by_directory[one] for name, one in models.items()}
        else:
            served = {model_name: Versions(export_dir, self._load)}
        self._versions = list(dict.fromkeys(served.values()))
        self.service = Service(served, self._batcher, monitor)
        self._rest = self._grpc = None
        # Ports are taken before the model is loaded, which may take minutes.
        if rest_api_port is not None:
            app = RestApp(self.service, routes, allowed_origin, keys, memories)
            self._rest = HttpServer(app, host, rest_api_port, tls)
            self.rest_api_port = self._rest.port
        if port is not None:
            self._grpc, self.port = grpc_service.make_server(
                self.service, host, port, tls, keys
            )

    def start(self):
        """Starts to respond, and loads the newest version.

        Until that is loaded, the server reports the status of the model and
        refuses all other requests as UNAVAILABLE.
        """
        if self._rest:
            self._rest.start()
        if self._grpc:
            self._grpc.start()
        try:
            for versions in self._versions:
                versions.start()
        except BaseException:
            self.stop()
            raise

    def watch(self):
        """Loads other versions in the background, old ones and new ones.

        Loading silences standard error, so print important messages before.
        """
        for versions in self._versions:
            versions.watch()

    def stop(self):
        """Refuses new requests, finishes running ones and frees the ports.

        After `SECONDS_TO_FINISH`, it refuses the requests that still wait.
        """
        # gRPC stops in the background while REST stops in this thread.
        stopped = self._grpc and self._grpc.stop(SECONDS_TO_FINISH)
        if self._rest:
            self._rest.stop(SECONDS_TO_FINISH)
        if stopped:
            stopped.wait()
        # Last, because running requests need both; waiting ones are refused.
        self._batcher.close()
        for versions in self._versions:
            versions.stop()
        self.service.monitor.close()

    def list_addresses(self):
        """Returns the addresses of the server as text for people."""
        addresses = []
        if self._grpc:
            addresses.append(f"gRPC on {format_address(self._host, self.port)}")
        if self._rest:
            scheme = "https" if self._tls else "http"
            address = format_address(self._host, self.rest_api_port)
            addresses.append(f"REST on {scheme}://{address}")
        return " and ".join(addresses)

    def _load(self, path):
        gc.collect()  # frees the memory of removed versions before loading
        model = self._open_model(path)
        # No more threads than this: a batch that waits for the model could not
        # take in the requests that arrive meanwhile.
        self._batcher.ensure_threads(model.num_parallel)
        return model
