"""Translates text, one sentence a line, with a run or an exported model.

    kt-decoder --output_dir=run \\
        --decode_from_file=news.en --decode_to_file=news.de

Reads standard input without --decode_from_file, or where that is -, and writes
to standard output without --decode_to_file: kt-decoder --output_dir=run works
in a pipe. There is exactly one line of output for each line of input; a blank
line gives an empty one. With --decode_interactive each line is translated as it
is typed. The newest checkpoint is used unless --checkpoint_step names another,
or with --checkpoint_step=best the one with the best score on dev; --output_dir
may also be what kt-avg-checkpoints or kt-exporter wrote. Progress goes to
standard error.

--decode_hparams=num_hypotheses=4 writes the four best translations of a line,
with tabs between them; --write_scores adds to each its score, after another
tab: the log-probability divided by the length penalty. --decode_hparams=
temperature=0.8,top_k=10 draws translations at random, the same for the same
--random_seed. --score_file=pairs.tsv writes the score of each of its pairs, a
source, a tab and a translation, instead of translating. Translations begin with
the lines of --prefix_file, where that is given.

With a parsing run each line becomes a tree in brackets. The lines are raw text,
or with --tokenized words with spaces between them, as a treebank has them.
"""

import contextlib
import sys

from keras_transformer.bin import decode_settings
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
    "prefix_file",
    "score_file",
    "beam_size",
    "alpha",
    "decode_hparams",
    "write_scores",
    "tokenized",
    "random_seed",
    "precision",
)
FLAGS = flags.FLAGS
SCORED_TOGETHER = 1024  # pairs


def main(argv):
    flags.require("output_dir")
    _check_alone("decode_interactive", "decode_from_file", "decode_to_file")
    _check_alone("decode_interactive", "prefix_file", "score_file")
    _check_alone("score_file", "decode_from_file", "prefix_file")
    changes = decode_settings.changes()
    sys.stdout.reconfigure(encoding="utf-8")
    if FLAGS.decode_interactive:
        _decode_interactively(_load(), changes)
    elif FLAGS.score_file:
        pairs = list(_read_pairs(FLAGS.score_file))
        with _output() as output:
            _score(_load(), pairs, changes, output)
    else:
        total, lines = _input()
        prefixes = _prefixes(total)
        with _output() as output:
            _decode(_load(), lines, prefixes, total, changes, output)


def _check_alone(name, *others):
    for other in others:
        if FLAGS[name].value and FLAGS[other].value:
            raise ValueError(
                f"`--{name}` must go without `--{other}`. Received: "
                f"--{name}={FLAGS[name].value} and "
                f"--{other}={FLAGS[other].value}. Remove one of them."
            )


def _load():
    from keras_transformer.decoding.exported import export_format
    from keras_transformer.runs.run_directory import RunDirectory

    form = export_format(FLAGS.output_dir)
    if form == "saved_model":
        flags.load_backend("tensorflow")
    elif not form:
        RunDirectory(FLAGS.output_dir)  # what is wrong with it shows at once
        flags.load_backend()
        from keras_transformer.decoding import threads

        if not FLAGS.decode_interactive:
            threads.give_each_a_core()
    from keras_transformer.decoding.translator import Translator

    translator = Translator.load(
        FLAGS.output_dir, FLAGS.checkpoint_step, decode_settings.precision()
    )
    if not FLAGS.tokenized and not translator.linearization:
        return translator
    from keras_transformer.decoding.parser import Parser

    return Parser(translator, FLAGS.tokenized)


def _input():
    """The number of lines, if it can be known, and the lines."""
    path = FLAGS.decode_from_file
    if path in (None, "-"):
        return None, text_io.standard_input()
    # Read to its end at once, so that a fault shows before the work begins.
    return text_files.count_lines(path), text_files.read_lines(path)


def _prefixes(total):
    path = FLAGS.prefix_file
    if not path:
        return None
    number = text_files.count_lines(path)
    if total is not None and number != total:
        raise ValueError(
            "`--prefix_file` must have a line for each line of the input. "
            f"Received: {path} with {number:,} lines, for {total:,}. Leave "
            "lines empty where the translation is free."
        )
    return text_files.read_lines(path)


def _read_pairs(path):
    for number, line in enumerate(text_files.read_lines(path), 1):
        source, tab, target = line.partition("\t")
        if not tab or "\t" in target:
            raise ValueError(
                "`--score_file` must have a source, a tab and a translation on "
                f"each line. Received: {path}, line {number} with "
                f"{line.count(chr(9))} tabs. Correct the line."
            )
        yield source, target


def _output():
    if FLAGS.decode_to_file:
        return written_aside(FLAGS.decode_to_file)
    return contextlib.nullcontext(sys.stdout)


def _decode(translator, lines, prefixes, total, changes, output):
    progress = text_io.Progress(total)
    found = translator.hypotheses(
        lines,
        report=progress.add,
        prefixes=prefixes,
        seed=FLAGS.random_seed or 0,
        **changes,
    )
    for hypotheses in found:
        print(_line(hypotheses, changes), file=output)
    output.flush()
    progress.finish()


def _line(hypotheses, changes):
    columns = []
    for text, score, _ in hypotheses[: changes.get("num_hypotheses", 1)]:
        columns.append(text)
        if FLAGS.write_scores:
            columns.append(f"{score:.6f}")
    if len(columns) > 1:
        columns = [column.replace("\t", " ") for column in columns]
    return "\t".join(columns)


def _score(translator, pairs, changes, output):
    progress = text_io.Progress(len(pairs))
    alpha = changes.get("alpha")
    for start in range(0, len(pairs), SCORED_TOGETHER):
        some = pairs[start : start + SCORED_TOGETHER]
        for score in translator.score(*zip(*some), alpha=alpha):
            print(f"{score:.6f}", file=output)
        progress.add(len(some))
    output.flush()
    progress.finish()


def _decode_interactively(translator, changes):
    prompt = "> " if sys.stdin.isatty() else ""
    print("One sentence a line; Control-D ends.", file=sys.stderr)
    print(prompt, end="", file=sys.stderr, flush=True)
    for number, line in enumerate(text_io.standard_input()):
        seed = (FLAGS.random_seed or 0) + number
        (found,) = translator.hypotheses([line], seed=seed, **changes)
        print(_line(found, changes), flush=True)
        print(prompt, end="", file=sys.stderr, flush=True)


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
