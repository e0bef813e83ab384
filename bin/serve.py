"""Serves exported models over the network with TensorFlow Serving's protocol.

    kt-exporter --output_dir=run --export_dir=export
    kt-serve --export_dir=export

The second command keeps running. Then, from another terminal:

    kt-query --text="A dog runs."
    curl -d '{"instances": ["A dog runs."]}' \\
        http://localhost:8501/v1/models/translate:predict

The server answers the same requests as the TensorFlow Serving binary: REST on
--rest_api_port and gRPC on --port. The same clients work with both. gRPC needs
`pip install '.[serving]'`; without it the server offers REST only.

A version is any SavedModel, or a CTranslate2 model of kt-exporter, which needs
`pip install '.[ctranslate2]'`. The latter is faster, and starts without
TensorFlow:

    kt-exporter --output_dir=run --format=ctranslate2 --quantization=int8 \\
        --export_dir=export_int8
    kt-serve --export_dir=export_int8

The server serves all versions in --export_dir. A request that names no version
gets the newest. A new version is loaded while the others serve, and takes over
once it is ready. A version whose folder is deleted is dropped.

The server puts sentences of concurrent requests into one batch. It writes one
line to standard error once it is ready. While it loads the first version, GET
/v1/models/translate tells so, and other requests are refused as UNAVAILABLE,
which is 503 over REST. On SIGTERM or Control-C the server refuses new requests,
answers for up to 30 s those that it has accepted, and then exits.
"""

import signal
import sys
import threading

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend

FLAGS = flags.define(
    flags.path(
        "export_dir",
        "Directory of exported models, with one folder for each version: 1, "
        "2, and so on.",
    ),
    "model_name",
    # The server has no access control, so by default it serves this machine
    # only.
    flags.text(
        "host",
        "Address to listen on; 0.0.0.0 listens on all addresses of this "
        "machine.",
        default="localhost",
    ),
    flags.port("port", "Port of gRPC; 0 turns gRPC off.", default=8500),
    flags.port(
        "rest_api_port", "Port of REST; 0 turns REST off.", default=8501
    ),
    flags.count(
        "max_batch_size",
        "Maximum number of sentences, from one or more requests, to translate "
        "together.",
        default=32,
        maximum=100_000,
    ),
    flags.whole(
        "batch_timeout_micros",
        "Microseconds that a batch waits for each further sentence. In total "
        "it waits at most ten times as long.",
        default=2000,
        maximum=60_000_000,
    ),
)


def main(argv):
    flags.require(FLAGS, "export_dir")
    if not FLAGS.model_name or set("/:") & set(FLAGS.model_name):
        raise ValueError(
            "`--model_name` must be a name without / and :, because addresses "
            f"of requests contain it. Received: {FLAGS.model_name!r}. Leave "
            "the flag out for `translate`."
        )
    # From here on, a signal during the slow start stops the server cleanly.
    stop_requested = _stop_on_signal()
    from keras_transformer.decoding.exported import export_format
    from keras_transformer.decoding.exported import require_ctranslate2
    from keras_transformer.decoding.served_model import open_model
    from keras_transformer.serving import server as serving
    from keras_transformer.serving.versions import versions_in

    # A wrong directory or port fails here, before TensorFlow loads.
    paths = versions_in(FLAGS.export_dir)
    ports = _ports(serving)
    formats = set(map(export_format, paths.values()))
    if formats == {"ctranslate2"}:
        require_ctranslate2()
    if "saved_model" in formats:
        load_backend("tensorflow")
    server = serving.Server(
        FLAGS.export_dir,
        FLAGS.model_name,
        FLAGS.host,
        **ports,
        max_batch_size=FLAGS.max_batch_size,
        batch_timeout_micros=FLAGS.batch_timeout_micros,
        open_model=open_model,
    )
    server.start()
    version = server.service.find(FLAGS.model_name)[0]
    # Scripts wait for this line: the model answers from here on.
    print(
        f"Serving {FLAGS.model_name}, version {version}: {server.addresses()}.",
        file=sys.stderr,
        flush=True,
    )
    server.watch()
    stop_requested.wait()
    server.stop()


def _ports(serving):
    """Returns the ports to listen on, by the server's argument names."""
    ports = {
        name: FLAGS[name].value
        for name in ("port", "rest_api_port")
        if FLAGS[name].value
    }
    if "port" in ports and not serving.has_grpc():
        del ports["port"]
        print(
            "gRPC is off, because it needs `pip install '.[serving]'`.",
            file=sys.stderr,
        )
    if not ports:
        raise ValueError(
            "`port` or `rest_api_port` must be on. Received: "
            f"port={FLAGS.port}, rest_api_port={FLAGS.rest_api_port}. Add "
            "--rest_api_port=8501."
        )
    if len(set(ports.values())) != len(ports):
        raise ValueError(
            "`port` and `rest_api_port` must differ. Received: "
            f"{FLAGS.port} for both. Change one of them."
        )
    for name, port in ports.items():
        serving.check_port(name, FLAGS.host, port)
    return ports


def _stop_on_signal():
    """Returns an event that the first SIGTERM or SIGINT sets."""
    stop_requested = threading.Event()

    def stop(number, frame):
        # The second signal ends the process at once.
        signal.signal(number, signal.SIG_DFL)
        stop_requested.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    return stop_requested


def run(argv=None):
    command.run(main, FLAGS, argv)


if __name__ == "__main__":
    run()
