"""Asks a server for translations: kt-serve, or TensorFlow Serving itself.

    kt-query --text="A dog runs."
    kt-query --server=translator.example:8501 --protocol=rest <news.en >news.de

Reads standard input without --text, and prints the best translation of each
line on a line of its own, in order; with --write_scores a tab and its score
follow. gRPC, the default, needs `pip install '.[serving]'`
and takes some seconds to start; REST needs nothing and starts at once.
"""

import itertools
import sys

from keras_transformer.bin import flags
from keras_transformer.bin import text_io

flags.define(
    "server",
    "protocol",
    "model_name",
    "model_version",
    "timeout_secs",
    "text",
    "write_scores",
)
FLAGS = flags.FLAGS

LINES_AT_ONCE = 32


def main(argv):
    sys.stdout.reconfigure(encoding="utf-8")
    if FLAGS.protocol == "grpc":
        flags.load_backend("tensorflow")
    from keras_transformer.serving import client

    server = client.connect(
        FLAGS.server,
        FLAGS.protocol,
        FLAGS.model_name,
        FLAGS.model_version,
        FLAGS.timeout_secs,
    )
    for texts in _batches():
        translations, scores = server(texts)
        for (best, *_), (score, *_) in zip(translations, scores):
            after = f"\t{score:.6f}" if FLAGS.write_scores else ""
            print(" ".join(best.splitlines()) + after)
        sys.stdout.flush()
    server.close()


def _batches():
    """Lists of lines: many at once, but each as it is typed."""
    if FLAGS.text is not None:
        try:
            FLAGS.text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                "`text` must be UTF-8. Received: text="
                f"{FLAGS.text.encode(errors='backslashreplace').decode()}. "
                "Use a terminal that writes UTF-8."
            ) from error
        yield [FLAGS.text]
        return
    lines = text_io.standard_input()
    size = 1 if sys.stdin.isatty() else LINES_AT_ONCE
    while texts := list(itertools.islice(lines, size)):
        yield texts


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
