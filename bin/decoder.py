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
--calibrate has prepared the run. "memory" lists the corrections of --memory
behind a translation, and with --write_origins "origins" lists training pairs.
A text may have several lines and sentences.

A parsing run turns each line into a tree in brackets. The lines are raw text,
or, with --tokenized, words separated by spaces.
"""

import contextlib
import sys

from keras_transformer.bin.kt_decoder import decoder_model
from keras_transformer.bin.kt_decoder.decoder_model import FLAGS
from keras_transformer.bin.kt_decoder.decoder_model import check_flags
from keras_transformer.bin.shared import command
from keras_transformer.files.progress import Progress

WITH_WARNINGS = 3  # exit status


def main(argv):
    check_flags()
    plan, call = decoder_model.plan_decoding()
    if FLAGS.score_file:
        return _score(plan, call)
    # Imported here because they import NumPy, which would slow --help down.
    from keras_transformer.bin.kt_decoder import text_formats

    decode = text_formats.decode_document if FLAGS.document else _decode_lines
    return WITH_WARNINGS if decode(plan, call) else 0


def _decode_lines(plan, call):
    """Translates lines of text or JSON, and returns the number of warnings."""
    from keras_transformer.bin.kt_decoder import text_formats
    from keras_transformer.decoding.passages import Passages
    from keras_transformer.decoding.preparation import read_windows
    from keras_transformer.decoding.training_pairs import TrainingPairs

    is_json = FLAGS.format == "jsonl"
    language = FLAGS.document_language
    num_hypotheses = call.get("num_hypotheses") or 1
    # A parser takes all sentences of a text.
    is_divided = is_json and not plan.linearization
    quality = None
    if is_json and not FLAGS.rerank_by and not call.get("mbr_samples"):
        quality = plan.read_quality()  # it fits no other scores
    pairs = FLAGS.write_origins and TrainingPairs.open(plan.runs[0])
    text, prefixes, num_lines = text_formats.open_text(plan.checker, is_divided)
    with decoder_model.open_output(plan, call, quality) as output:
        lines = output.skip("decode_from_file", text)
        prefixes = prefixes and output.skip("prefix_file", prefixes)
        translator = decoder_model.load_model(plan)
        decoder_model.report_settings(plan)
        extras = text_formats.make_extras(translator, quality)
        size = 1 if FLAGS.decode_interactive else None
        with _show_progress(num_lines, output) as progress:
            for window in read_windows(
                lines, prefixes, output.num_lines, size, "--prefix_file"
            ):
                texts = text_formats.read_texts(window)
                passages = is_divided and Passages(texts, language)
                translations = translator.translate_window(
                    passages.window if passages else texts,
                    progress and progress.add,
                    extras=extras,
                    scored=is_json or FLAGS.write_scores,
                    **call,
                )
                if passages:
                    translations = passages.join(translations)
                output.num_alarms += text_formats.report_warnings(
                    texts, translations, translator, extras
                )
                written = text_formats.write_lines(
                    window.texts, translations, num_hypotheses, pairs
                )
                output.writelines(
                    written,
                    decode_from_file=window.texts,
                    prefix_file=window.prefixes or (),
                )
    return output.num_alarms


def _show_progress(num_lines, output):
    if FLAGS.decode_interactive:
        return contextlib.nullcontext()
    num_left = num_lines and num_lines - output.num_lines
    results = None if FLAGS.decode_to_file else sys.stdout
    return Progress("sentences", num_left, results=results)


def _score(plan, call):
    from keras_transformer.data.text.parallel_files import read_tsv
    from keras_transformer.decoding.preparation import read_windows

    alpha = call.get("alpha")
    # Read to the end first, so a faulty line fails before the model loads.
    pairs = list(read_tsv(FLAGS.score_file))
    model = plan.checker or decoder_model.load_model(plan)
    model.check_lengths((text for text, _ in pairs), FLAGS.score_file)
    model.check_lengths(
        (text for _, text in pairs), FLAGS.score_file, of_targets=True
    )
    with decoder_model.open_output(plan, call) as output:
        lines = output.skip("score_file", map("\t".join, pairs))
        if plan.checker:
            model = decoder_model.load_model(plan)
        with _show_progress(len(pairs), output) as progress:
            for window in read_windows(lines, start=output.num_lines):
                sides = zip(*(line.split("\t") for line in window.texts))
                scores = model.score(*map(list, sides), alpha=alpha)
                output.writelines(
                    [f"{score:.6f}\n" for score in scores],
                    score_file=window.texts,
                )
                progress.add(len(scores))


run = command.make_script(main, FLAGS)
