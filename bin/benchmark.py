"""Times the training of a model on this machine, on text of yours.

    kt-benchmark --mode=train --hparams_set=transformer_base \\
        --train_source=train.en --train_target=train.de --precision=bfloat16

Prints the figures to standard output as one line of JSON: real target tokens
per second (the median of the passes, and the range), milliseconds of an update,
floating-point operations per second and their share of what plain matrix
products reach on the same machine in the same precision, padding, seconds from
the start of the process to the end of the first update, peak memory in bytes.

The work is one full batch each of sentences of up to 16, 24 and 32 tokens, of
24 alone where d_model is 512 or more. A batch has at most 4,096 positions per
side, which --hparams=batch_tokens=N changes. With --packed the same sentence
pairs share rows. Before each pass it waits, not for long, until other processes
are quiet, and passes that were disturbed count only if all were.

--vocabulary is any SentencePiece model with ids for padding and for the end of
a sentence. Without it one is trained first, and start-up includes that.

--mode=input times the making of batches alone: all of the text, in pairs per
second.
"""

import dataclasses
import importlib.metadata
import json

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.bin import flags

flags.define(
    "mode",
    "train_source",
    "train_target",
    "vocabulary",
    "vocab_size",
    "hparams_set",
    "hparams",
    "packed",
    "precision",
    "xla",
    "worker_gpu",
    "num_passes",
)
FLAGS = flags.FLAGS
PACKAGES = ("keras_transformer", "keras", "tensorflow", "jax", "numpy")


def main(argv):
    flags.require("mode", "train_source", "train_target", "hparams_set")
    hparams = _hparams()
    figures = MODES[FLAGS.mode](hparams)
    about = {
        "mode": FLAGS.mode,
        "hparams_set": FLAGS.hparams_set,
        "hparams": FLAGS.hparams,
        "packed": hparams.packed,
    }
    print(json.dumps({**about, **figures, "versions": _versions()}))


def _hparams():
    from keras_transformer.benchmark.workload import BATCH_TOKENS

    hparams = dataclasses.replace(
        registry.get_hparams(FLAGS.hparams_set), batch_tokens=BATCH_TOKENS
    )
    hparams = hparam.parse_overrides(hparams, FLAGS.hparams)
    if FLAGS.packed:
        hparams = dataclasses.replace(hparams, packed=True)
    return hparams


def _train(hparams):
    text = _text()
    flags.load_backend()
    import keras

    from keras_transformer.benchmark.train import time_training
    from keras_transformer.engines.precision import resolve_precision

    precision = resolve_precision(FLAGS.precision)
    figures = time_training(
        hparams,
        *text,
        precision,
        FLAGS.worker_gpu,
        FLAGS.xla,
        FLAGS.num_passes,
    )
    return {
        "backend": keras.backend.backend(),
        "precision": precision,
        "xla": FLAGS.xla,
        **figures,
    }


def _input(hparams):
    from keras_transformer.benchmark.input_speed import time_input

    token_pairs, _ = _text()
    return time_input(hparams, token_pairs, FLAGS.num_passes)


MODES = {"train": _train, "input": _input}


def _text():
    """Token arrays, and the number of ids."""
    from keras_transformer.benchmark import workload

    return workload.load_text(
        FLAGS.train_source,
        FLAGS.train_target,
        FLAGS.vocabulary,
        FLAGS.vocab_size or workload.VOCAB_SIZE,
    )


def _versions():
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass  # not installed here
    return versions


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
