"""Times training, making batches, translation, or layers on this machine.

    python benchmarks/measure.py --mode=train --hparams_set=transformer_base \\
        --train_source=train.en --train_target=train.de --precision=bfloat16
    python benchmarks/measure.py --mode=input --hparams_set=transformer_base \\
        --train_source=train.en --train_target=train.de
    python benchmarks/measure.py --mode=decode --hparams_set=transformer_base \\
        --decode_from_file=test.en --vocabulary=spm.model --target_length=24
    python benchmarks/measure.py --mode=layers --report_dir=table1

The figures go to standard output as one line of JSON. A speed is the median of
the passes and comes with its range. Before each pass the command waits briefly
for other processes to become idle. A pass that they disturb counts only if they
disturb every pass.

--mode=train reports target tokens per second without padding, milliseconds per
update, the share of padding, and floating-point operations per second. It
relates these to plain matrix products on the same machine in the same
precision. It also reports the peak memory in bytes and the seconds from the
start of the process to the end of the first update.

The work is one full batch for each length of up to 16, 24 and 32 tokens, or for
24 tokens alone if d_model is 512 or more. A batch has at most 4,096 positions
per side, which --hparams=batch_tokens=N changes. With --packed, the same
sentence pairs share rows.

--mode=input times the making of batches from all of the text, without a model,
in pairs per second.

--mode=decode reports sentences and target tokens per second, the seconds from
the start of the process to the first translation, and the peak memory. With
--target_length, all translations have the same length, so the model may have
random weights. --output_dir=RUN times a trained run, which decides the length
itself. It replaces --hparams_set and --vocabulary. It may also be a CTranslate2
model from kt-exporter, which sets its own precision and forms its own batches.

--mode=layers measures the layers of the paper's Table 1 on one sequence in
float32: self-attention and restricted self-attention, each with and without
projections, LSTM, GRU, convolution and separable convolution, for lengths n
from 16 to 4,096 and widths d from 128 to 1,024. Each layer, length and width
has its own process, which reports the time of the fastest run and the peak
growth of its resident memory; memory of an accelerator is not counted. The
report is table1.md, table1.csv and table1.png in --report_dir.
"""

import contextlib
import dataclasses
import importlib.metadata
import json

from measurements import layer_table
from measurements.measure_flags import FIXED_IN_EXPORT
from measurements.measure_flags import FLAGS
from measurements.measure_flags import check_flags

import keras_transformer
from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend
from keras_transformer.errors import UserError

# Their versions are reported, because the figures depend on them.
PACKAGES = ("keras", "tensorflow", "jax", "ctranslate2", "numpy")


def main(argv):
    flags.require(FLAGS, "mode")
    check_flags()
    figures = MODES[FLAGS.mode]()
    settings = {
        "mode": FLAGS.mode,
        "hparams_set": FLAGS.hparams_set,
        "hparams": FLAGS.hparams,
    }
    print(json.dumps({**settings, **figures, "versions": _find_versions()}))


def _make_hparams():
    from measurements.workload import BATCH_TOKENS

    flags.require(FLAGS, "hparams_set")
    # All sets get the same batch size, so that their speeds can be compared.
    # --hparams comes afterwards and can still change it.
    hparams = dataclasses.replace(
        registry.get_hparams(FLAGS.hparams_set),
        batch_tokens=BATCH_TOKENS,
        effective_batch_tokens=0,
    )
    hparams = hparam.parse_overrides(hparams, FLAGS.hparams)
    if FLAGS.packed:
        hparams = dataclasses.replace(hparams, packed=True)
    for guide in ("guided_alignment", "span_labels"):
        if value := getattr(hparams, guide):
            raise UserError(
                f"A benchmark must train without `{guide}`, because its text "
                f"has neither word alignments nor trees. Received: {guide}="
                f"{value}. Add --hparams={guide}=0."
            )
    return hparams


def _time_training():
    hparams = _make_hparams()
    # Before the backend, because files can be missing or empty.
    text = _read_text()
    backend = load_backend()
    from measurements.train import time_training

    from keras_transformer.training.backends.make_backend import (
        resolve_precision,
    )

    precision = resolve_precision(FLAGS.precision)
    figures = time_training(
        hparams, *text, precision, FLAGS.worker_gpu, FLAGS.xla, FLAGS.num_passes
    )
    return {
        "packed": hparams.packed,
        "backend": backend,
        "precision": precision,
        "xla": FLAGS.xla,
        **figures,
    }


def _time_input():
    from keras_transformer.data.vocabulary.subwords import Subwords

    hparams = _make_hparams()
    vocabulary = None
    if hparams.subword_dropout or hparams.source_noise:
        flags.require(FLAGS, "vocabulary")
        vocabulary = Subwords(FLAGS.vocabulary)
    token_pairs, _ = _read_text()
    backend = load_backend()
    from measurements.train import time_input

    figures = time_input(hparams, token_pairs, FLAGS.num_passes, vocabulary)
    return {
        "packed": hparams.packed,
        "backend": backend,
        **figures,
    }


def _time_decoding():
    from keras_transformer.formats.exported import find_export_format

    flags.require(FLAGS, "decode_from_file")
    path = FLAGS.output_dir
    if path and find_export_format(path) == "ctranslate2":
        return _time_export()
    run = model_flags.open_run(path) if path else None
    hparams = run.hparams if run else _make_hparams()
    sources, vocab_size = _read_sources(run)
    # Only the search is timed, not the choice among its samples.
    options = model_flags.decode_options(FLAGS, hparams).to_search_options()
    backend = load_backend()
    from measurements import decode

    from keras_transformer.decoding.engines import batching
    from keras_transformer.runs.model import load_model

    batching.give_each_a_core()  # as kt-decoder does
    precision = model_flags.decode_precision(FLAGS, hparams)
    if run:
        model = load_model(run, precision=precision)
    else:
        model = decode.random_model(hparams, vocab_size, precision)
    figures = decode.time_decoding(
        model,
        sources,
        options,
        FLAGS.batch_size,
        FLAGS.target_length,
        FLAGS.sort_by_length,
        FLAGS.num_passes,
        # Without a vocabulary of trees, nothing constrains the search.
        run.vocabularies if run else (),
    )
    return {
        "output_dir": path,
        "backend": backend,
        "precision": precision,
        "decode": dataclasses.asdict(options),
        **figures,
    }


def _read_sources(run):
    """Returns the text as token ids, and the size of the vocabulary."""
    from measurements import workload

    if not run:
        flags.require(FLAGS, "vocabulary")
        return workload.load_sentences(FLAGS.decode_from_file, FLAGS.vocabulary)
    lines = workload.read_sentences(FLAGS.decode_from_file)
    vocabulary = run.source_vocabulary
    return vocabulary.encode(lines), vocabulary.vocab_size


def _time_export():
    from measurements import workload
    from measurements.decode import time_export

    from keras_transformer.decoding.translator import Translator

    rule = "has no effect with a CTranslate2 model"
    flags.refuse(FLAGS, FIXED_IN_EXPORT, rule)
    changes = model_flags.decode_changes(FLAGS)
    lines = workload.read_sentences(FLAGS.decode_from_file)
    translator = Translator.load(FLAGS.output_dir)
    options = translator.options.replace(**changes)
    sources = translator.encode(lines)
    figures = time_export(translator, sources, changes, FLAGS.num_passes)
    return {
        "output_dir": FLAGS.output_dir,
        "backend": "ctranslate2",
        "precision": translator.engine.record.get("precision"),
        "decode": dataclasses.asdict(options),
        **figures,
    }


def _measure_layers():
    from measurements import layer_report

    from keras_transformer.decoding.engines.engine import count_cores
    from keras_transformer.files.directories import check_directory
    from keras_transformer.files.progress import Progress

    flags.require(FLAGS, "report_dir")
    check_directory(FLAGS.report_dir, "`--report_dir`")
    backend = read_backend()
    lengths = [n for n in layer_table.LENGTHS if n <= int(FLAGS.max_length)]
    widths = [d for d in layer_table.WIDTHS if d <= int(FLAGS.max_width)]
    num_cells = len(layer_table.LAYERS) * len(lengths) * len(widths)
    with Progress("cells", num_cells) as progress:
        cells = layer_table.measure_layers(
            lengths,
            widths,
            FLAGS.neighbourhood_size,
            backend,
            FLAGS.seconds,
            show=lambda cell: progress.add(1),
        )
    if all(cell.note for cell in cells):
        reason, way_out = cells[0].note, "Remove the cause of this failure."
        if reason == layer_table.NO_TIME:
            way_out = "Raise --seconds."
        raise UserError(f"No layer could be measured: {reason}. {way_out}")
    settings = {
        "neighbourhood_size": FLAGS.neighbourhood_size,
        "backend": backend,
        "cores": count_cores(),
    }
    fits = layer_report.write_report(
        cells, FLAGS.report_dir, {**settings, **_find_versions()}
    )
    return {
        **settings,
        "report_dir": FLAGS.report_dir,
        "num_measured": sum(not cell.note for cell in cells),
        "num_skipped": sum(bool(cell.note) for cell in cells),
        "exponents": fits,
    }


MODES = {
    "train": _time_training,
    "input": _time_input,
    "decode": _time_decoding,
    "layers": _measure_layers,
}


def _read_text():
    """Returns `TokenPairs` and the number of token ids."""
    from measurements import workload

    flags.require(FLAGS, "train_source", "train_target")
    return workload.load_text(
        FLAGS.train_source,
        FLAGS.train_target,
        FLAGS.vocabulary,
        FLAGS.vocab_size or workload.VOCAB_SIZE,
    )


def _find_versions():
    versions = {"keras_transformer": keras_transformer.__version__}
    for name in PACKAGES:
        # JAX, for example, is optional.
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


run = command.make_script(main, FLAGS)
