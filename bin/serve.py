"""Serves exported models over a network, in TF Serving's protocol.

    kt-exporter --output_dir=run --export_dir=export
    kt-serve --export_dir=export

    curl -d '{"instances": ["A dog runs."]}' \\
        http://localhost:8501/v1/models/translate:predict
    kt-query --text="A dog runs."

For people without the TensorFlow Serving binary: it answers the same requests,
REST on --rest_api_port and gRPC on --port, so that the same clients work, and
serves any SavedModel. gRPC needs `pip install '.[serving]'`;
without it there is REST alone.

All versions in --export_dir are served, the newest to who asks for none. One
that appears is loaded beside the others and takes over once it is ready; one
that is deleted is dropped. Sentences of concurrent requests are translated
together. One line on standard error says when it is ready. SIGTERM or Control-C
ends it, once the requests that run are answered.
"""

import signal
import sys
import threading

from keras_transformer.bin import flags

flags.define(
    "export_dir",
    "model_name",
    "host",
    "port",
    "rest_api_port",
    "max_batch_size",
    "batch_timeout_micros",
)
FLAGS = flags.FLAGS


def main(argv):
    flags.require("export_dir")
    end = _end_on_signal()
    from keras_transformer.serving import server as serving
    from keras_transformer.serving.versions import versions_in

    # What is wrong shows at once, before the seconds that TensorFlow takes.
    versions_in(FLAGS.export_dir)
    ports = _ports(serving)
    flags.load_backend("tensorflow")
    server = serving.Server(
        FLAGS.export_dir,
        FLAGS.model_name,
        FLAGS.host,
        **ports,
        max_batch_size=FLAGS.max_batch_size,
        batch_timeout_micros=FLAGS.batch_timeout_micros,
    )
    server.start()
    version, _ = server.service.find(FLAGS.model_name)
    print(
        f"Serving {FLAGS.model_name}, version {version}: {server.addresses()}.",
        file=sys.stderr,
        flush=True,
    )
    end.wait()
    server.stop()


def _ports(serving):
    """The ports to listen on, by the name of the server's argument."""
    ports = {
        name: FLAGS[name].value
        for name in ("port", "rest_api_port")
        if FLAGS[name].value
    }
    if "port" in ports and not serving.has_grpc():
        del ports["port"]
        print(
            "Without gRPC, which needs `pip install '.[serving]'`.",
            file=sys.stderr,
        )
    if not ports:
        raise ValueError(
            "One of `port` and `rest_api_port` must be on. Received: "
            f"port={FLAGS.port}, rest_api_port={FLAGS.rest_api_port}. Give "
            "--rest_api_port=8501."
        )
    if len(set(ports.values())) != len(ports):
        raise ValueError(
            "`port` and `rest_api_port` must differ. Received: "
            f"{FLAGS.port} for both. Change one."
        )
    for name, port in ports.items():
        serving.check_port(name, FLAGS.host, port)
    return ports


def _end_on_signal():
    """An event that the first SIGTERM or SIGINT sets; a second kills."""
    end = threading.Event()

    def stop(number, frame):
        signal.signal(number, signal.SIG_DFL)
        end.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    return end


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
