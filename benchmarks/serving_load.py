"""Measures kt-serve under two minutes of load from many clients.

    python benchmarks/serving_load.py test.en EXPORT EXPORT_INT8

Each EXPORT is a directory of SavedModels or of CTranslate2 models. They are
served and loaded one after the other. Of 16 clients, half use REST and half
gRPC. They send one sentence at a time, mixed with faulty requests of both
protocols. An answer is right if it equals the translation that `load` gives
with the same export. The server's memory is sampled each second.

One line of JSON for each EXPORT has the figures. `startup_seconds` is the time
from the start of kt-serve to its first answer.
"""

import contextlib
import json
import socket
import subprocess
import sys
import time

from measurements.workload import read_sentences
from serve_load import run_load

from keras_transformer.decoding.translator import Translator
from keras_transformer.serving.client import connect

SECONDS = 120
NUM_SENTENCES = 500


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def run_server(export_dir):
    """Runs kt-serve; yields its process, and its ports of gRPC and of REST."""
    grpc, rest = free_port(), free_port()
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "keras_transformer.bin.serve"),
            f"--export_dir={export_dir}",
            f"--port={grpc}",
            f"--rest_api_port={rest}",
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in server.stderr:
            if line.startswith("Serving"):
                break
        yield server, grpc, rest
    finally:
        server.terminate()
        server.wait()


def measure(export_dir, texts):
    """Returns the figures of a server of one export, a dictionary."""
    expected = dict(zip(texts, Translator.load(export_dir)(texts)))
    begin = time.monotonic()
    with run_server(export_dir) as (server, grpc, rest):
        connect(f"localhost:{rest}", "rest")(texts[:1])
        startup_seconds = time.monotonic() - begin
        report = run_load(
            {"rest": f"localhost:{rest}", "grpc": f"localhost:{grpc}"},
            "translate",
            texts,
            lambda text, best: best == expected[text],
            SECONDS,
            process_id=server.pid,
        )
    return {
        "export_dir": export_dir,
        "startup_seconds": round(startup_seconds, 2),
        **report.figures(),
    }


def main(text_path, *export_dirs):
    texts = read_sentences(text_path)[:NUM_SENTENCES]
    for export_dir in export_dirs:
        print(json.dumps(measure(export_dir, texts)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
