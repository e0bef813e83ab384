"""Translates text, one sentence a line, with a trained run.

    kt-decoder --output_dir=run \\
        --decode_from_file=news.en --decode_to_file=news.de

Reads standard input without --decode_from_file, or where that is -, and writes
to standard output without --decode_to_file: kt-decoder --output_dir=run works
in a pipe. There is exactly one line of output for each line of input; a blank
line gives an empty one. With --decode_interactive each line is translated as it
is typed. The newest checkpoint is used unless --checkpoint_step names another,
or with --checkpoint_step=best the one with the best score on dev; --output_dir
may also be what kt-avg-checkpoints wrote. Progress goes to standard error.
"""

import contextlib
import sys

from keras_transformer.bin import flags
from keras_transformer.bin import text_io
from keras_transformer.data import text_files
from keras_transformer.files import written_aside

flags.define(
    "output_dir",
    "checkpoint_step",
    "decode_from_file",
    "decode_to_file",
    "decode_interactive",
    "beam_size",
    "alpha",
)
FLAGS = flags.FLAGS


def main(argv):
    flags.require("output_dir")
    _check_interactive()
    sys.stdout.reconfigure(encoding="utf-8")
    if FLAGS.decode_interactive:
        _decode_interactively(_load())
        return
    total, lines = _input()
    with _output() as output:
        _decode(_load(), lines, total, output)


def _check_interactive():
    files = ("decode_from_file", "decode_to_file")
    for name in files:
        if FLAGS.decode_interactive and FLAGS[name].value:
            raise ValueError(
                "`--decode_interactive` must go without files. Received: "
                f"--decode_interactive and --{name}={FLAGS[name].value}. "
                "Remove one of them."
            )


def _load():
    from keras_transformer.run_directory import RunDirectory

    RunDirectory(FLAGS.output_dir)  # what is wrong with it shows at once
    flags.load_backend()
    from keras_transformer.decoding import Translator

    return Translator.load(FLAGS.output_dir, FLAGS.checkpoint_step)


def _input():
    """The number of lines, if it can be known, and the lines."""
    path = FLAGS.decode_from_file
    if path in (None, "-"):
        return None, text_io.standard_input()
    # Read to its end at once, so that a fault shows before the work begins.
    return text_files.count_lines(path), text_files.read_lines(path)


def _output():
    if FLAGS.decode_to_file:
        return written_aside(FLAGS.decode_to_file)
    return contextlib.nullcontext(sys.stdout)


def _decode(translator, lines, total, output):
    progress = text_io.Progress(total)
    translations = translator.translate(
        lines, FLAGS.beam_size, FLAGS.alpha, report=progress.add
    )
    for translation in translations:
        print(translation, file=output)
    output.flush()
    progress.finish()


def _decode_interactively(translator):
    prompt = "> " if sys.stdin.isatty() else ""
    print("One sentence a line; Control-D ends.", file=sys.stderr)
    print(prompt, end="", file=sys.stderr, flush=True)
    for line in text_io.standard_input():
        (translation,) = translator([line], FLAGS.beam_size, FLAGS.alpha)
        print(translation, flush=True)
        print(prompt, end="", file=sys.stderr, flush=True)


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
