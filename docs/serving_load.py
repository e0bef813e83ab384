"""Measures kt-serve under two minutes of load from many clients.

    python docs/serving_load.py RUN EXPORT_DIR test.en

Of 16 clients, half use REST and half gRPC. They send one sentence at a time,
mixed with faulty requests of both protocols. An answer is right if it equals
the translation of the run itself. The server's memory is sampled each second.
"""

import json
import socket
import subprocess
import sys

from keras_transformer.benchmark.serve_load import run_load
from keras_transformer.benchmark.workload import read_sentences
from keras_transformer.decoding.translator import Translator

SECONDS = 120
NUM_SENTENCES = 500


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def main(run_dir, export_dir, text_path):
    texts = read_sentences(text_path)[:NUM_SENTENCES]
    expected = dict(zip(texts, Translator.load(run_dir)(texts)))
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
        report = run_load(
            {"rest": f"localhost:{rest}", "grpc": f"localhost:{grpc}"},
            "translate",
            texts,
            lambda text, best: best == expected[text],
            SECONDS,
            process_id=server.pid,
        )
        print(json.dumps(report.figures(), indent=1))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
