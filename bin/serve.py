"""Serves exported models over the network with TensorFlow Serving's protocol.

    kt-exporter --output_dir=run --export_dir=export
    kt-serve --export_dir=export

The second command keeps running. Then, from another terminal:

    kt-query --text="A dog runs."
    curl -d '{"instances": ["A dog runs."]}' \\
        http://localhost:8501/v1/models/translate:predict

The server answers the same requests as the TensorFlow Serving binary: REST on
--rest_api_port and gRPC on --port. The same clients work with both.

A version is any SavedModel, or a CTranslate2 model of kt-exporter. The latter
is faster, and starts without TensorFlow:

    kt-exporter --output_dir=run --format=ctranslate2 --quantization=int8 \\
        --export_dir=export_int8
    kt-serve --export_dir=export_int8

The server serves all versions in --export_dir. A request that names no version
gets the newest. A new version is loaded while the others serve, and takes over
once it is ready. A version whose folder is deleted is dropped.

The server puts sentences of concurrent requests into one batch. It writes one
line to standard error once it is ready. While it loads the first version, GET
/v1/models/translate says so, and other requests are refused as UNAVAILABLE,
which is 503 over REST. On SIGTERM or Control-C the server refuses new requests,
spends up to 30 s on those that it has accepted, and then exits.
"""

import os
import signal
import sys
import time

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.errors import UserError

FLAGS = flags.define(
    export_dir=flags.path(
        "Directory of exported models, with one folder for each version: 1, 2, "
        "and so on."
    ),
    model_name=flags.SHARED,
    # There is no access control, so by default it serves this machine only.
    host=flags.SHARED,
    port=flags.port("Port of gRPC; 0 turns gRPC off.", default=8500),
    rest_api_port=flags.port("Port of REST; 0 turns REST off.", default=8501),
    languages=flags.text(
        "Codes of source and target, such as en-de, for LibreTranslate's "
        "protocol. Default: those of the export, if it records them."
    ),
    allow_origin=flags.text(
        "Origin of pages in browsers that may ask, such as "
        "https://example.org, or * for any. Default: none."
    ),
    api_keys=flags.path(
        "File of the keys that clients must have, one a line, each with its "
        "number of requests a minute if that is limited. Default: none needed."
    ),
    access_log=flags.path(
        "File for a line of JSON about each request, without its texts; - is "
        "standard output. Default: none."
    ),
    metrics=flags.switch("Answer GET /metrics on the port of REST."),
    tls_certificate=flags.path(
        "Certificate of this server, or a chain of them, in PEM. With it both "
        "protocols are encrypted. Default: neither is."
    ),
    tls_key=flags.path("Private key of the certificate, without a password."),
    max_batch_size=flags.count(
        "Maximum number of sentences, from one or more requests, to translate "
        "together.",
        default=32,
        maximum=100_000,
    ),
    batch_timeout_micros=flags.whole(
        "Microseconds that a batch waits for each further sentence. In total "
        "it waits at most ten times as long.",
        default=2000,
        maximum=60_000_000,
    ),
)
_SECONDS_BETWEEN_CHECKS = 0.2  # for a request to stop


def main(argv):
    flags.require(FLAGS, "export_dir")
    if not FLAGS.model_name or set("/:") & set(FLAGS.model_name):
        raise UserError(
            "`--model_name` must be a name without / and :, because addresses "
            f"of requests contain it. Received: {FLAGS.model_name!r}. Leave "
            "the flag out for `translate`."
        )
    # From here on, a signal during the slow start stops the server cleanly.
    stop_requests = collect_signals()
    from keras_transformer.decoding.served_model import open_model
    from keras_transformer.formats.exported import find_export_format
    from keras_transformer.formats.exported import require_ctranslate2
    from keras_transformer.serving.keys import Keys
    from keras_transformer.serving.monitor import Monitor
    from keras_transformer.serving.server import Server
    from keras_transformer.serving.versions import find_versions

    export_dir = _find_exports(FLAGS.export_dir)
    paths = find_versions(export_dir).values()
    formats = set(map(find_export_format, paths))
    if formats == {"ctranslate2"}:
        require_ctranslate2()
    # A taken port and a bad certificate fail here, before TensorFlow loads.
    server = Server(
        export_dir,
        FLAGS.model_name,
        FLAGS.host,
        **_select_ports(),
        max_batch_size=FLAGS.max_batch_size,
        batch_timeout_micros=FLAGS.batch_timeout_micros,
        open_model=open_model,
        tls=_find_tls(),
        languages=_find_languages(paths),
        allowed_origin=FLAGS.allow_origin,
        # An empty path, as of a variable that is not set, is refused.
        keys=None if FLAGS.api_keys is None else Keys(FLAGS.api_keys),
        monitor=Monitor(FLAGS.metrics, FLAGS.access_log),
    )
    if "saved_model" in formats:
        load_backend("tensorflow")
    server.start()
    _announce(server)
    server.watch()
    wait_for(stop_requests)
    server.stop()


def _find_tls():
    """Returns the paths of the certificate and its key, or None."""
    # Empty values, as of variables that are not set, are refused, since serving
    # without encryption would go unnoticed.
    if {FLAGS.tls_certificate, FLAGS.tls_key} == {None}:
        return None
    flags.require(FLAGS, "tls_certificate", "tls_key")
    return FLAGS.tls_certificate, FLAGS.tls_key


def _find_exports(path):
    """Returns the directory of exports; that of a demo is made here."""
    # Imported here because they import NumPy, which would slow --help down.
    from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
    from keras_transformer.formats.demo import find_directory
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.search.options import DecodeOptions

    run_path = find_directory(path)
    if run_path == path:
        return path
    export_dir = os.path.join(run_path, "export")
    if not os.path.isdir(export_dir):
        run = RunDirectory(run_path)
        options = DecodeOptions.from_hparams(run.hparams)
        export_ctranslate2(run, export_dir, options, quantization="int8")
    return export_dir


def _find_languages(paths):
    """Returns the codes of source and target; None if they are unknown."""
    if FLAGS.languages:
        codes = FLAGS.languages.split("-")
        if len(codes) != 2 or not all(codes):
            raise UserError(
                "`--languages` must be two codes such as en-de. Received: "
                f"--languages={FLAGS.languages}. Leave it out where the export "
                "records them."
            )
        return codes
    from keras_transformer.files.records import read_record
    from keras_transformer.formats.exported import EXPORT_FILE

    path = os.path.join([*paths][-1], EXPORT_FILE)
    if not os.path.isfile(path):
        return None  # a SavedModel of another origin
    return read_record(path, {"languages?": ([str, str], None)}).get(
        "languages"
    )


def _announce(server):
    version = server.service.find(FLAGS.model_name)[0]
    # Scripts wait for this line: from here on the model can answer.
    print(
        f"Serving {FLAGS.model_name}, version {version}: "
        f"{server.list_addresses()}.",
        file=sys.stderr,
        flush=True,
    )


def _select_ports():
    """Returns the ports to listen on, by the server's argument names."""
    ports = {"port": FLAGS.port, "rest_api_port": FLAGS.rest_api_port}
    ports = {name: port for name, port in ports.items() if port}
    if not ports:
        raise UserError(
            "`port` or `rest_api_port` must be on. Received: "
            f"port={FLAGS.port}, rest_api_port={FLAGS.rest_api_port}. Add "
            "--rest_api_port=8501."
        )
    if len(set(ports.values())) != len(ports):
        raise UserError(
            "`port` and `rest_api_port` must differ. Received: "
            f"{FLAGS.port} for both. Change one of them."
        )
    if FLAGS.metrics and "rest_api_port" not in ports:
        raise UserError(
            "`metrics` needs the port of REST. Received: --metrics and "
            f"--rest_api_port={FLAGS.rest_api_port}. Add --rest_api_port=8501."
        )
    return ports


def collect_signals():
    """Returns a list to which the first SIGTERM or SIGINT is added."""
    stop_requests = []

    def request_stop(number, frame):
        # The second signal ends the process at once.
        signal.signal(number, signal.SIG_DFL)
        stop_requests.append(number)

    signal.signal(signal.SIGTERM, request_stop)
    signal.signal(signal.SIGINT, request_stop)
    return stop_requests


def wait_for(stop_requests):
    """Waits until the list has a request to stop."""
    # A `threading.Event` has a lock. The handler would wait for it for ever if
    # it interrupts this thread while it holds the lock. Besides, a signal that
    # comes just before a thread waits for a lock does not end that wait.
    while not stop_requests:
        time.sleep(_SECONDS_BETWEEN_CHECKS)


run = command.make_script(main, FLAGS)
