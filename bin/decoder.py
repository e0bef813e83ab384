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
or kt-exporter wrote. --output_dir=a,b,c translates with an ensemble of runs
that share a vocabulary; it averages their probabilities.

--decode_hparams=num_hypotheses=4 writes the four best translations of a line,
separated by tabs. --write_scores adds a tab and its score after each. A score
is the log-probability divided by the length penalty. --decode_hparams=
temperature=0.8,top_k=10 samples translations; the same --random_seed gives the
same samples. --decode_hparams=mbr_samples=32 draws 32 and writes the one with
the highest mean chrF against the others; that mean is its score. A parsing run
joins the samples into one tree.

If the command stops early because of an error, a signal or a kill, finished
lines remain in the file of --decode_to_file with the suffix .partial. The same
command with --resume continues from there and writes the same output.

--document translates a whole document, plain text, Markdown or HTML: its
sentences are translated, and its paragraphs and markup are kept.

    kt-decoder --output_dir=run --document \\
        --decode_from_file=page.html --decode_to_file=seite.html

A line that is too long for the model gets an empty translation; --split_long
translates it in parts. A translation that repeats itself, leaves words out, or
is far too long or too short is still written. The exit status is 3 if the
output is complete but standard error has warnings about some of it.

--format=jsonl reads a JSON object with "text" from each line and writes one
with "translation", "score" and "warnings", and with "quality" if kt-evaluate
--calibrate has prepared the run.

A parsing run turns each line into a tree in brackets. The lines are raw text,
or, with --tokenized, words separated by spaces.
"""

import itertools
import sys

from keras_transformer.bin.kt_decoder.decoder_flags import FLAGS
from keras_transformer.bin.kt_decoder.decoder_flags import check_flags
from keras_transformer.bin.kt_decoder.decoder_model import check_model
from keras_transformer.bin.kt_decoder.decoder_model import list_settings
from keras_transformer.bin.kt_decoder.decoder_model import load_model
from keras_transformer.bin.kt_decoder.decoder_model import read_constraints
from keras_transformer.bin.kt_decoder.decoder_model import read_quality
from keras_transformer.bin.kt_decoder.decoder_model import report_settings
from keras_transformer.bin.kt_decoder.lines import LineFormat
from keras_transformer.bin.kt_decoder.lines import LongLines
from keras_transformer.bin.kt_decoder.lines import report_alarms
from keras_transformer.bin.kt_decoder.lines import report_long
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared import text_io
from keras_transformer.data import text_files
from keras_transformer.data.progress import Progress
from keras_transformer.errors import UserError
from keras_transformer.files.partial import open_resumable

WITH_WARNINGS = 3  # exit status


def main(argv):
    check_flags()
    changes = model_flags.decode_changes(FLAGS)
    constraints = read_constraints()
    checker, load_options = check_model(changes, constraints)
    if FLAGS.document:
        from keras_transformer.bin.kt_decoder import document_decoder

        num_warnings = document_decoder.decode_document(
            checker, load_options, changes, constraints
        )
        return WITH_WARNINGS if num_warnings else 0
    if FLAGS.decode_interactive:
        lines = text_io.standard_input()
        _decode_interactively(
            load_model(load_options), lines, changes, constraints
        )
    elif FLAGS.score_file:
        _score(checker, load_options, changes, constraints)
    else:
        return _decode(checker, load_options, changes, constraints)


def _output(load_options, changes, constraints):
    # Opened before the model: a path that cannot be written fails at once.
    if not FLAGS.decode_to_file:
        return text_io.StandardOutput()
    return open_resumable(
        FLAGS.decode_to_file,
        list_settings(load_options, changes, constraints),
        FLAGS.resume,
    )


def _decode(checker, load_options, changes, constraints):
    text = text_io.TextInput(FLAGS.decode_from_file)
    prefixes = None
    if FLAGS.prefix_file:
        prefixes = text_io.TextInput(FLAGS.prefix_file)
    quality = None
    if FLAGS.format == "jsonl":
        quality = read_quality(load_options, changes)
    format = LineFormat(changes, constraints, quality)
    # The count also tells `Progress` how much is left.
    num_lines = _check_text(text, prefixes, checker, format)
    with _output(load_options, changes, constraints) as output:
        # An export has its vocabulary in the model.
        translator = None if checker else load_model(load_options)
        long_lines = LongLines(checker or translator, format.text_of)
        lines = output.follow("decode_from_file", long_lines.inspect(text))
        prefixes_of_lines = prefixes_of_rows = None
        if prefixes:
            prefixes_of_lines, prefixes_of_rows = itertools.tee(
                output.follow("prefix_file", prefixes)
            )
        translator = translator or load_model(load_options)
        report_settings(translator, changes)
        if num_lines:
            num_lines -= output.num_lines
        with Progress("sentences", num_lines, results=output) as progress:
            hypotheses_of_lines = translator.hypotheses(
                long_lines.texts(lines, output.num_lines),
                report=progress.add,
                prefixes=prefixes_of_lines,
                seed=FLAGS.random_seed,
                start=output.num_lines,
                scored=format.shows_scores,
                **constraints,
                **changes,
            )
            results = long_lines.results(
                hypotheses_of_lines,
                translator,
                changes,
                constraints.get("glossary"),
            )
            rows = format.rows(results, translator, output, prefixes_of_rows)
            _write(rows, output)
    return WITH_WARNINGS if long_lines.num_long or output.num_alarms else 0


def _check_text(text, prefixes, checker, format):
    """Returns the number of lines of the text, or None for a pipe."""
    num_lines = format.count(text)
    num_prefixes = None
    if prefixes and prefixes.is_file:
        if checker:
            num_prefixes = checker.check_lengths(prefixes, FLAGS.prefix_file)
        else:
            num_prefixes = sum(1 for _ in prefixes)
    # The number of lines in a pipe is not known in advance.
    if None not in (num_lines, num_prefixes) and num_prefixes != num_lines:
        raise UserError(
            "`--prefix_file` must have a line for each line of the input. "
            f"Received: {FLAGS.prefix_file} with {num_prefixes:,} lines, for "
            f"{num_lines:,}. Leave a line empty if its translation may begin "
            "in any way."
        )
    return num_lines


def _write(rows, output):
    from keras_transformer.decoding.texts import WINDOW

    # A translator yields the lines of a window one right after the other.
    while lines := list(itertools.islice(rows, WINDOW)):
        output.writelines([f"{line}\n" for line in lines])


def _score(checker, load_options, changes, constraints):
    # Read to the end first, so a faulty line fails before the model loads.
    pairs = list(_read_pairs(FLAGS.score_file))
    if checker:
        _check_pairs(checker, pairs)
    with _output(load_options, changes, constraints) as output:
        texts = output.follow("score_file", map("\t".join, pairs))
        translator = load_model(load_options)
        if not checker:
            _check_pairs(translator, pairs)
        num_left = len(pairs) - output.num_lines
        with Progress("sentences", num_left, results=output) as progress:
            alpha = changes.get("alpha")
            _write(_scores(translator, texts, alpha, progress.add), output)


def _check_pairs(checker, pairs):
    checker.check_lengths((text for text, _ in pairs), FLAGS.score_file)
    checker.check_translations((text for _, text in pairs), FLAGS.score_file)


def _scores(translator, texts, alpha, report):
    from keras_transformer.decoding.texts import WINDOW

    while batch := list(itertools.islice(texts, WINDOW)):
        pairs = zip(*(text.split("\t") for text in batch))
        for score in translator.score(*pairs, alpha=alpha):
            yield f"{score:.6f}"
        report(len(batch))


def _read_pairs(path):
    for number, line in enumerate(text_files.read_lines(path), 1):
        source, tab, target = line.partition("\t")
        # A second tab means that the line has more than a pair, say a score.
        if not tab or "\t" in target:
            num_tabs = line.count("\t")
            raise UserError(
                "`--score_file` must have a source, a tab and a translation on "
                f"each line. Received: {path}, line {number} with {num_tabs} "
                "tabs. Correct the line."
            )
        yield source, target


def _decode_interactively(translator, lines, changes, constraints):
    prompt = "> " if sys.stdin.isatty() else ""
    format = LineFormat(changes, constraints)
    print("Type one sentence per line; Control-D ends.", file=sys.stderr)
    print(prompt, end="", file=sys.stderr, flush=True)
    for number, line in enumerate(lines):
        (count,) = translator.count_tokens([line])
        if count > translator.max_tokens:
            report_long(number + 1, count, translator.max_tokens)
            line = ""
        (hypotheses,) = translator.hypotheses(
            [line],
            seed=FLAGS.random_seed,
            start=number,  # each line gets the same samples as in a file
            scored=format.shows_scores,
            **constraints,
            **changes,
        )
        (alarms,) = translator.find_alarms([line], [hypotheses], **constraints)
        report_alarms(number + 1, alarms)
        print(format.columns(hypotheses), flush=True)
        print(prompt, end="", file=sys.stderr, flush=True)


run = command.make_script(main, FLAGS)
