"""Asks kt-serve or TensorFlow Serving for translations.

    kt-query --text="A dog runs."
    kt-query --server=translator.example:8501 --protocol=rest <news.en >news.de

Without --text, the command reads sentences from standard input, one per line.
It prints the best translation of each on a line, in order.

--glossary=terms.tsv names terms whose translations are prescribed, as in
kt-decoder. The server then needs a SavedModel with a beam of at least 2.

`https://` before the host encrypts the connection, with either protocol. The
environment variable SSL_CERT_FILE names the certificates to trust, for example
a self-signed one.

If the server is still loading its model, the command exits with an error.
"""

import itertools
import re
import sys

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import text_io

FLAGS = flags.define(
    f"""
  text (text): Sentence to translate. Default: the lines of standard input.
  server (text, default localhost): Host of the server. Append :PORT if the port
    is not the usual one, which is 8500 for gRPC and 8501 for REST. REST also
    takes a path.
  protocol (grpc|rest, default grpc): Protocol to use: grpc or rest.
  model_name
  model_version (count, maximum {2**63 - 1}): Version of the model that
    translates. Default: the newest version.
  timeout_secs (amount, default 10.0, maximum 1_000_000): Maximum number of
    seconds to wait for an answer.
  api_key_file (path): File whose first line is the key that the server asks
    for. Default: none.
  write_scores
  glossary
"""
)
LINES_PER_REQUEST = 32  # the default --max_batch_size of kt-serve
# A server could send commands to the terminal with them.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")


def main(argv):
    from keras_transformer.decoding.steps.glossary import Glossary
    from keras_transformer.serving import client
    from keras_transformer.serving.keys import read_keys

    api_key = None
    if FLAGS.api_key_file is not None:
        api_key = next(iter(read_keys(FLAGS.api_key_file)))
    glossary = Glossary.read(FLAGS.glossary) if FLAGS.glossary else None
    server = client.connect(
        FLAGS.server,
        FLAGS.protocol,
        FLAGS.model_name,
        FLAGS.model_version,
        FLAGS.timeout_secs,
        api_key,
    )
    if glossary:
        server([""], [[""]])  # a model that takes no terms is refused at once
    for texts in _requests():
        for (best,) in _translate(server, texts, glossary):
            score_column = f"\t{best.score:.6f}" if FLAGS.write_scores else ""
            # A translation with line breaks would shift the lines after it.
            line = " ".join(best.text.splitlines())
            print(_CONTROL_CHARACTERS.sub("\ufffd", line) + score_column)
        sys.stdout.flush()  # the next answer may take a while
    server.close()


def _translate(server, texts, glossary):
    """Returns a list with the best `Hypothesis` of each text."""
    # Imported here because it imports NumPy, which would slow --help down.
    from keras_transformer.decoding.engines.batching import fill_rows
    from keras_transformer.decoding.steps.glossary import find_missing_terms
    from keras_transformer.decoding.steps.glossary import merge_hypotheses

    hypotheses = _ask(server, texts)
    terms = find_missing_terms(glossary, texts, hypotheses) if glossary else []
    numbers = [i for i, required in enumerate(terms) if required]
    if not numbers:
        return hypotheses
    rows = fill_rows([terms[i] for i in numbers])
    answers = _ask(server, [texts[i] for i in numbers], rows)
    constrained = dict(zip(numbers, answers))
    answers = [constrained.get(i) for i in range(len(texts))]
    return merge_hypotheses(answers, hypotheses, terms)


def _ask(server, texts, terms=None):
    """Returns the best `Hypothesis` that a server finds for each text."""
    from keras_transformer.decoding.engines.engine import Hypothesis

    return [
        [Hypothesis(translations[0], scores[0])]
        for translations, scores in zip(*server(texts, terms))
    ]


def _requests():
    """Yields a list of sentences for each request."""
    if FLAGS.text is not None:
        yield [FLAGS.text]
        return
    lines = text_io.open_text()
    # A person who types waits for the answer to each line.
    size = 1 if sys.stdin.isatty() else LINES_PER_REQUEST
    while texts := list(itertools.islice(lines, size)):
        yield texts


run = command.make_script(main, FLAGS)
