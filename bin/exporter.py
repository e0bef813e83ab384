"""Exports a trained run as a model that others can serve.

    kt-exporter --output_dir=run --export_dir=run/export

Prints the directory that it wrote to standard output. --format=saved_model, the
default, writes the next version of a SavedModel, export_dir/1, 2 and so on,
which takes text and gives text: TensorFlow Serving, kt-serve and Python with
tensorflow and tensorflow-text load it. --format=saved_model_ids is the same for
servers without SentencePiece's operations: ids of vocab.model, which lies in
assets.extra, go in and come out. --format=ctranslate2 writes a directory
for CTranslate2 with the weights as --quantization says; that needs pip install
'.[ctranslate2]'.

The newest checkpoint is used unless --checkpoint_step names another. How the
model translates is decided now: as the run does, but for --beam_size, --alpha
and --decode_hparams. It computes in float32 unless --precision=bfloat16 is
given. With pip install '.[serving]' a SavedModel also gets the
requests that TensorFlow Serving warms it up with.
"""

import os

from keras_transformer.bin import decode_settings
from keras_transformer.bin import flags

flags.define(
    "output_dir",
    "checkpoint_step",
    "export_dir",
    "format",
    "quantization",
    "beam_size",
    "alpha",
    "decode_hparams",
    "precision",
)
FLAGS = flags.FLAGS
DEFAULT_DIRS = {
    "saved_model": "export",
    "saved_model_ids": "export_ids",
    "ctranslate2": "export_ctranslate2",
}


def main(argv):
    flags.require("output_dir")
    _check_format()
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)
    options = decode_settings.options(run.hparams)
    run.checkpoints.find(FLAGS.checkpoint_step)
    export_dir = FLAGS.export_dir or run.file(DEFAULT_DIRS[FLAGS.format])
    print(_export(run, os.path.normpath(export_dir), options))


def _check_format():
    fixed = {
        "saved_model": ("quantization", "float32", "--precision"),
        "saved_model_ids": ("quantization", "float32", "--precision"),
        "ctranslate2": ("precision", "auto", "--quantization"),
    }
    name, default, instead = fixed[FLAGS.format]
    if FLAGS[name].value != default:
        raise ValueError(
            f"`--{name}` must not be given with --format={FLAGS.format}. "
            f"Received: --{name}={FLAGS[name].value}. Use {instead}."
        )


def _export(run, export_dir, options):
    if FLAGS.format == "ctranslate2":
        from keras_transformer.export.ctranslate2 import export_ctranslate2

        return export_ctranslate2(
            run, export_dir, options, FLAGS.checkpoint_step, FLAGS.quantization
        )
    flags.load_backend()
    from keras_transformer.export.saved_model import export_saved_model

    return export_saved_model(
        run,
        export_dir,
        options,
        FLAGS.checkpoint_step,
        decode_settings.precision(),
        of_text=FLAGS.format == "saved_model",
    )


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
