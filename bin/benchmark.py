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

    kt-benchmark --mode=decode --hparams_set=transformer_base \\
        --decode_from_file=test.en --vocabulary=spm.model --target_length=24

times translation: sentences and target tokens per second, seconds from the
start of the process to the first translation, peak memory. With --target_length
every translation has as many tokens, so that random weights do; without, and
with --output_dir=RUN instead of hparams set and vocabulary, a trained model
decides how long it speaks. --batch_size sentences of similar lengths, or with
--nosort_by_length those that follow one another, are decoded together.
"""

import dataclasses
import importlib.metadata
import json

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.bin import decode_settings
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
    "output_dir",
    "decode_from_file",
    "decode_hparams",
    "batch_size",
    "target_length",
    "sort_by_length",
)
FLAGS = flags.FLAGS
PACKAGES = ("keras_transformer", "keras", "tensorflow", "jax", "numpy")


def main(argv):
    flags.require("mode")
    figures = MODES[FLAGS.mode]()
    about = {
        "mode": FLAGS.mode,
        "hparams_set": FLAGS.hparams_set,
        "hparams": FLAGS.hparams,
    }
    print(json.dumps({**about, **figures, "versions": _versions()}))


def _hparams():
    from keras_transformer.benchmark.workload import BATCH_TOKENS

    flags.require("hparams_set")
    hparams = dataclasses.replace(
        registry.get_hparams(FLAGS.hparams_set), batch_tokens=BATCH_TOKENS
    )
    hparams = hparam.parse_overrides(hparams, FLAGS.hparams)
    if FLAGS.packed:
        hparams = dataclasses.replace(hparams, packed=True)
    return hparams


def _train():
    hparams = _hparams()
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
        "packed": hparams.packed,
        "backend": keras.backend.backend(),
        "precision": precision,
        "xla": FLAGS.xla,
        **figures,
    }


def _input():
    from keras_transformer.benchmark.input_speed import time_input

    hparams = _hparams()
    token_pairs, _ = _text()
    figures = time_input(hparams, token_pairs, FLAGS.num_passes)
    return {"packed": hparams.packed, **figures}


def _decode():
    flags.require("decode_from_file")
    precision = decode_settings.precision()
    hparams, sources, make_model, vocabulary = (
        _trained(precision) if FLAGS.output_dir else _untrained(precision)
    )
    options = decode_settings.options(hparams)
    flags.load_backend()
    import keras

    from keras_transformer.benchmark.decode import time_decoding
    from keras_transformer.decoding import threads

    threads.give_each_a_core()
    figures = time_decoding(
        make_model(),
        sources,
        options,
        FLAGS.batch_size,
        FLAGS.target_length,
        FLAGS.sort_by_length,
        FLAGS.num_passes,
        vocabulary,
    )
    return {
        "output_dir": FLAGS.output_dir,
        "backend": keras.backend.backend(),
        "precision": precision,
        "decode": dataclasses.asdict(options),
        **figures,
    }


def _trained(precision):
    """A run's hparams, the text in its ids, how to make its model, its ids."""
    from keras_transformer.benchmark import workload
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)

    def make_model():
        from keras_transformer.runs.weights import load_model

        return load_model(run, precision=precision)

    lines = workload.read_sentences(FLAGS.decode_from_file)
    sources = run.vocabulary.encode(lines)
    return run.hparams, sources, make_model, run.vocabulary


def _untrained(precision):
    from keras_transformer.benchmark import workload

    flags.require("hparams_set", "vocabulary")
    hparams = _hparams()
    sources, vocab_size = workload.load_sentences(
        FLAGS.decode_from_file, FLAGS.vocabulary
    )

    def make_model():
        from keras_transformer.benchmark.decode import random_model

        return random_model(hparams, vocab_size, precision)

    return hparams, sources, make_model, None


MODES = {"train": _train, "input": _input, "decode": _decode}


def _text():
    """Token arrays, and the number of ids."""
    from keras_transformer.benchmark import workload

    flags.require("train_source", "train_target")
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
