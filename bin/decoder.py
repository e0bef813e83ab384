"""Translates text with a trained run or an exported model.

    kt-decoder --output_dir=run \\
        --decode_from_file=news.en --decode_to_file=news.de

The input has one sentence per line. The output has exactly one line for each
input line; a blank line gives an empty one. Without --decode_from_file the
command reads standard input, and without --decode_to_file it writes to standard
output, so it works in a pipe:

    kt-decoder --output_dir=run <news.en >news.de

With --decode_interactive it translates each line that you type. Progress goes
to standard error. --output_dir may also be a directory that kt-avg-checkpoints
or kt-exporter wrote.

--decode_hparams=num_hypotheses=4 writes the four best translations of a line,
separated by tabs. --write_scores adds a tab and its score after each. A score
is the log-probability divided by the length penalty. --decode_hparams=
temperature=0.8,top_k=10 samples translations; the same --random_seed gives the
same samples.

--prefix_file names a file with the beginning of each translation.
--score_file=pairs.tsv scores the pairs of a file instead of translating. Each
of its lines is a source, a tab and a translation.

A parsing run turns each line into a tree in brackets. The lines are raw text,
or, with --tokenized, words separated by spaces.
"""

import contextlib
import sys

from keras_transformer.bin import command
from keras_transformer.bin import flags
from keras_transformer.bin import text_io
from keras_transformer.data import text_files
from keras_transformer.data.progress import Progress
from keras_transformer.files.writing import written_aside

FLAGS = flags.define(
    "output_dir",
    "checkpoint_step",
    flags.group(
        "Input and output",
        flags.path(
            "decode_from_file",
            None,
            "File to translate, one sentence per line. - means standard "
            "input. Default: standard input.",
        ),
        flags.path(
            "decode_to_file",
            None,
            "File to write the translations to, one line for each line of the "
            "input. Default: standard output.",
        ),
        flags.switch(
            "decode_interactive",
            False,
            "Translate each line that you type.",
        ),
        flags.switch(
            "tokenized",
            False,
            "Read the sentences to parse as words separated by spaces, as in "
            "a treebank, instead of raw text.",
        ),
        "write_scores",
        flags.path(
            "prefix_file",
            None,
            "File with the beginning of each translation, one line for each "
            "line of the input. Lines may be empty. Default: none.",
        ),
        flags.path(
            "score_file",
            None,
            "File of pairs to score instead of translating. Each line is a "
            "source, a tab and its translation. Default: none.",
        ),
    ),
    flags.group(
        "Decoding",
        "beam_size",
        "alpha",
        "decode_hparams",
        flags.seed("random_seed", 0, "Seed of the sampler."),
        "precision",
    ),
)
PAIRS_PER_BATCH = 1024  # number of pairs between two updates of the progress


def main(argv):
    flags.require(FLAGS, "output_dir")
    _check_alone("decode_interactive", "decode_from_file", "decode_to_file")
    _check_alone("decode_interactive", "prefix_file", "score_file")
    _check_alone("score_file", "decode_from_file", "prefix_file")
    changes = flags.decode_changes(FLAGS)
    if FLAGS.decode_interactive:
        _decode_interactively(_load(), changes)
    elif FLAGS.score_file:
        # Read to the end first, so a faulty line fails before the model loads.
        pairs = list(_read_pairs(FLAGS.score_file))
        # The output is opened before the model is loaded, so a path that
        # cannot be written fails at once.
        with _output() as output:
            _score(_load(), pairs, changes, output)
    else:
        num_lines, lines = _input()
        prefixes = _prefixes(num_lines)
        with _output() as output:
            _decode(_load(), lines, prefixes, num_lines, changes, output)


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

    format = export_format(FLAGS.output_dir)
    if format == "saved_model":
        command.load_backend("tensorflow")
    elif not format:
        # A faulty run fails here, before the backend loads, which takes
        # seconds.
        RunDirectory(FLAGS.output_dir)
        command.load_backend()
        from keras_transformer.decoding import threads

        # A single sentence is faster when one batch uses all cores.
        if not FLAGS.decode_interactive:
            threads.give_each_a_core()
    from keras_transformer.decoding.loading import load

    return load(
        FLAGS.output_dir,
        FLAGS.checkpoint_step,
        flags.decode_precision(FLAGS),
        FLAGS.tokenized,
    )


def _input():
    """Returns the number of input lines, or None, and the lines."""
    path = FLAGS.decode_from_file
    if path in (None, "-"):
        return None, text_io.standard_input()
    # Counting reads the whole file, so faulty text fails before the model is
    # loaded. The count also tells `Progress` how much is left.
    return text_files.count_lines(path), text_files.read_lines(path)


def _prefixes(num_lines):
    path = FLAGS.prefix_file
    if not path:
        return None
    num_prefixes = text_files.count_lines(path)
    # The number of lines on standard input is not known in advance.
    if num_lines is not None and num_prefixes != num_lines:
        raise ValueError(
            "`--prefix_file` must have a line for each line of the input. "
            f"Received: {path} with {num_prefixes:,} lines, for "
            f"{num_lines:,}. Leave a line empty if its translation may begin "
            "in any way."
        )
    return text_files.read_lines(path)


def _read_pairs(path):
    for number, line in enumerate(text_files.read_lines(path), 1):
        source, tab, target = line.partition("\t")
        # A further tab means more than a pair, such as a score behind it.
        if not tab or "\t" in target:
            num_tabs = line.count("\t")
            raise ValueError(
                "`--score_file` must have a source, a tab and a translation on "
                f"each line. Received: {path}, line {number} with {num_tabs} "
                "tabs. Correct the line."
            )
        yield source, target


def _output():
    # The file appears once it is complete, so a failure leaves no half file.
    if FLAGS.decode_to_file:
        return written_aside(FLAGS.decode_to_file)
    return contextlib.nullcontext(sys.stdout)


def _decode(translator, lines, prefixes, num_lines, changes, output):
    with Progress("sentences", num_lines, results=output) as progress:
        hypotheses_of_lines = translator.hypotheses(
            lines,
            report=progress.add,
            prefixes=prefixes,
            seed=FLAGS.random_seed,
            **changes,
        )
        for hypotheses in hypotheses_of_lines:
            print(_line(hypotheses, changes), file=output)
        output.flush()


def _line(hypotheses, changes):
    columns = []
    for text, score, _ in hypotheses[: changes.get("num_hypotheses", 1)]:
        columns.append(text)
        if FLAGS.write_scores:
            columns.append(f"{score:.6f}")
    if len(columns) > 1:
        # A tab within a translation would look like another column.
        columns = [column.replace("\t", " ") for column in columns]
    return "\t".join(columns)


def _score(translator, pairs, changes, output):
    alpha = changes.get("alpha")
    with Progress("sentences", len(pairs), results=output) as progress:
        for start in range(0, len(pairs), PAIRS_PER_BATCH):
            batch = pairs[start : start + PAIRS_PER_BATCH]
            for score in translator.score(*zip(*batch), alpha=alpha):
                print(f"{score:.6f}", file=output)
            progress.add(len(batch))
        output.flush()


def _decode_interactively(translator, changes):
    prompt = "> " if sys.stdin.isatty() else ""
    print("Type one sentence per line; Control-D ends.", file=sys.stderr)
    print(prompt, end="", file=sys.stderr, flush=True)
    for number, line in enumerate(text_io.standard_input()):
        # Each line has its own seed, as the lines of a file do.
        seed = FLAGS.random_seed + number
        (hypotheses,) = translator.hypotheses([line], seed=seed, **changes)
        print(_line(hypotheses, changes), flush=True)
        print(prompt, end="", file=sys.stderr, flush=True)


def run(argv=None):
    command.run(main, FLAGS, argv)


if __name__ == "__main__":
    run()
