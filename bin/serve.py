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

import functools
import os
import re
import signal
import sys
import time

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import text_io
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.errors import UserError
from keras_transformer.files.signals import list_stop_signals

FLAGS = flags.define(
    """
  export_dir (path): Directory of exported models, with one folder for each
    version: 1, 2, and so on.
  models (text): Several exports instead, by their pairs, such as
    en-es=DIRECTORY,es-en=DIRECTORY, or a directory that holds one export for
    each pair, named en-es and so on. Each is loaded when it is first asked for.
  max_models_memory (count, default 4096): Megabytes of models to keep loaded,
    by the size of their files, if there are --models. The last one in use
    always stays.
  model_name
  host
  port (port, default 8500): Port of gRPC; 0 turns gRPC off.
  rest_api_port (port, default 8501): Port of REST; 0 turns REST off.
  languages (text): Codes of source and target, such as en-de, for
    LibreTranslate's protocol. Default: the export's, if it records them.
  allow_origin (text): Origin of pages in browsers that may ask, such as
    https://example.org, or * for any. Default: none.
  api_keys (path): File of the keys that clients must have, one per line, each
    with its number of requests per minute if limited. Default: none needed.
  memory (path): File of corrections that LibreTranslate's protocol uses, and
    keeps if there are --api_keys; with --models a directory of such files, such
    as en-es. Default: none.
  access_log (path): File for a line of JSON about each request, without its
    texts; - is standard output. Default: none.
  metrics (switch, needs rest_api_port): Answer GET /metrics on the port of
    REST.
  tls_certificate (path, needs tls_key): Certificate of this server, or a chain
    of them, in PEM. With it both protocols are encrypted. Default: neither is.
  tls_key (path, needs tls_certificate): Private key of the certificate, without
    a password.
  max_batch_size (count, default 32, maximum 100_000): Maximum number of
    sentences, from one or more requests, to translate together.
  batch_timeout_micros (whole, default 2000, maximum 60_000_000): Microseconds
    that a batch waits for each further sentence. In total it waits at most ten
    times as long.
"""
)
# The codes of a pair; a code with a region is written as pt_BR.
_PAIR = re.compile(r"[A-Za-z]{2,3}(_\w+)?-[A-Za-z]{2,3}(_\w+)?", re.ASCII)
_SECONDS_BETWEEN_CHECKS = 0.2  # for a request to stop


def main(argv):
    _check_flags()
    # From here on, a signal during the slow start stops the server cleanly.
    stop_requests = collect_signals()
    from keras_transformer.decoding.served_model import open_model
    from keras_transformer.formats import exported
    from keras_transformer.serving.keys import Keys
    from keras_transformer.serving.monitor import Monitor
    from keras_transformer.serving.server import Server
    from keras_transformer.serving.versions import find_versions

    directories = _find_models()
    versions = {name: find_versions(one) for name, one in directories.items()}
    paths = [path for each in versions.values() for path in each.values()]
    formats = set(map(exported.find_export_format, paths))
    if formats == {"ctranslate2"}:
        exported.require_ctranslate2()
    routes = _find_routes(versions)
    tls = FLAGS.tls_certificate, FLAGS.tls_key
    # A taken port and a bad certificate fail here, before TensorFlow loads.
    server = Server(
        None if FLAGS.models else directories[FLAGS.model_name],
        FLAGS.model_name,
        FLAGS.host,
        port=FLAGS.port or None,
        rest_api_port=FLAGS.rest_api_port or None,
        max_batch_size=FLAGS.max_batch_size,
        batch_timeout_micros=FLAGS.batch_timeout_micros,
        open_model=open_model,
        tls=tls if any(tls) else None,
        routes=routes,
        memories=_open_memories(routes),
        models=FLAGS.models and directories,
        max_bytes=FLAGS.max_models_memory * 10**6,
        allowed_origin=FLAGS.allow_origin,
        keys=FLAGS.api_keys and Keys(FLAGS.api_keys),
        monitor=Monitor(FLAGS.metrics, FLAGS.access_log),
    )
    if "saved_model" in formats:
        load_backend("tensorflow")
    server.start()
    _announce(server, directories)
    server.watch()
    wait_for(stop_requests)
    server.stop()


def _announce(server, models):
    served = ", ".join(models)
    if not FLAGS.models:
        served += f", version {server.service.find(served)[0]}"
    # Scripts wait for this line: from here on the model can answer.
    print(f"Serving {served}: {server.list_addresses()}.", file=sys.stderr)


def _check_flags():
    if FLAGS.models is None:
        flags.require(FLAGS, "export_dir")
    flags.exclude(FLAGS, "models", "export_dir", "languages")
    if not FLAGS.model_name or set("/:") & set(FLAGS.model_name):
        rule = "must be a name without / and :, because addresses of requests "
        way_out = "Leave the flag out for `translate`."
        flags.refuse(FLAGS, ["model_name"], f"{rule}contain it", way_out)
    if FLAGS.languages and not _PAIR.fullmatch(FLAGS.languages):
        way_out = "Leave it out where the export records them."
        rule = "must be two codes such as en-de"
        flags.refuse(FLAGS, ["languages"], rule, way_out)
    # Serving without keys or encryption would go unnoticed.
    flags.require_given(FLAGS, "api_keys", "access_log", "memory")
    if FLAGS.access_log != "-":
        for name in ("api_keys", "memory", "tls_certificate", "tls_key"):
            # Its lines would be added to the other file. It is checked as an
            # input is, because a device or a pipe will do, too.
            files = name, "access_log"
            text_io.check_outputs(FLAGS, (), files, distinct_inputs=True)
    if FLAGS.port == FLAGS.rest_api_port:
        rule, way_out = "and `rest_api_port` must differ", "Change one of them."
        if not FLAGS.port:
            rule = "or `rest_api_port` must be on"
            way_out = "Add --rest_api_port=8501."
        raise UserError(
            f"`port` {rule}. Received: {FLAGS.port} for both. {way_out}"
        )


def _find_exports(path):
    """Returns the directory of exports, and makes it for a demo."""
    # Imported here because they import NumPy, which would slow --help down.
    from keras_transformer.files.directories import find_versions
    from keras_transformer.formats import demo
    from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.search.options import DecodeOptions

    run_path = demo.find_directory(path)
    if run_path == path:
        return path
    export_dir = os.path.join(run_path, "export")
    # An earlier command may have been killed before it wrote a version.
    if find_versions(export_dir):
        return export_dir
    run = RunDirectory(run_path)
    options = DecodeOptions.from_hparams(run.hparams)
    write = functools.partial(export_ctranslate2, run, quantization="int8")
    try:
        write(export_dir, options)
    except UserError:  # the cache is read-only, or another server writes there
        export_dir = demo.make_temporary_directory()
        write(export_dir, options)
    return export_dir


def _find_models():
    """Returns the directories of the exports by the names of the models."""
    if FLAGS.models is None:
        return {FLAGS.model_name: _find_exports(FLAGS.export_dir)}
    entries = FLAGS.models.split(",")
    if os.path.isdir(FLAGS.models):
        names = sorted(os.listdir(FLAGS.models))
        entries = [
            f"{name}={os.path.join(FLAGS.models, name)}"
            for name in names
            if _PAIR.fullmatch(name)
        ]
    models = {}
    for entry in entries or [""]:
        name, _, path = entry.partition("=")
        if not (_PAIR.fullmatch(name) and path) or name in models:
            rule = "must be pairs with a directory each, such as "
            rule += "en-es=DIRECTORY,es-en=DIRECTORY, or a directory of such "
            rule += "directories"
            way_out = "Write codes of two or three letters, each pair once."
            flags.refuse(FLAGS, ["models"], rule, way_out)
        models[name] = os.path.realpath(_find_exports(path))
    return models


def _find_routes(versions):
    """Returns the model of each known pair of languages.

    `versions` has the paths of each model's versions.
    """
    from keras_transformer.files.reading import read_record
    from keras_transformer.formats import exported

    routes = {}
    for model_name, paths in versions.items():
        name = model_name if FLAGS.models else FLAGS.languages
        codes = name.split("-") if name else None
        for folder in ("", exported.EXTRA):
            path = os.path.join(paths[max(paths)], folder, exported.EXPORT_FILE)
            # A SavedModel of another origin has no record.
            if not codes and os.path.isfile(path):
                record = read_record(path, {"languages?": ([str, str], None)})
                codes = record.get("languages")
        if codes:
            routes[tuple(codes)] = model_name
    return routes


def _open_memories(routes):
    """Returns the memory of each pair of languages, if there are any."""
    if FLAGS.memory is None:
        return {}
    from keras_transformer.data.memory.store import TranslationMemory

    if not routes:
        rule = "needs the languages of the export"
        way_out = "Add --languages, such as en-de."
        flags.refuse(FLAGS, ["memory"], rule, way_out)
    memories = {}
    for pair in routes:
        # A file, or a file for each pair in a directory.
        parts = ["-".join(pair)] if FLAGS.models else []
        memories[pair] = TranslationMemory(os.path.join(FLAGS.memory, *parts))
    return memories


def collect_signals():
    """Returns a list to which the first stop signal is added."""
    stop_requests = []

    def request_stop(number, frame):
        # The second signal ends the process at once.
        signal.signal(number, signal.SIG_DFL)
        stop_requests.append(number)

    for number in list_stop_signals():
        signal.signal(number, request_stop)
    return stop_requests


def wait_for(stop_requests):
    """Waits until the list has a request to stop."""
    # A `threading.Event` has a lock. The handler would wait for it for ever if
    # it interrupts this thread while it holds the lock. Besides, a signal that
    # comes just before a thread waits for a lock does not end that wait.
    while not stop_requests:
        time.sleep(_SECONDS_BETWEEN_CHECKS)


run = command.make_script(main, FLAGS)
