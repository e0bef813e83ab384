"""Scores translations with BLEU and chrF: a run's, or those in a file.

    kt-evaluate --output_dir=run --split=test
    kt-evaluate --hypotheses=news.hyp.de --references=news.de

The first decodes a split of the problem that the run was trained on, writes the
translations to decodes/SPLIT.txt in the run's directory, and scores them
against the split's references; the scores go to scores/SPLIT.json and to the
model card, README.md. The second scores one file against another, one
sentence a line. --checkpoint_step is as in kt-decoder. The scores are
sacreBLEU's, printed to standard output with the full signatures;
--tokenize=none is for text that was tokenised before.
"""

import os
import sys

from keras_transformer import registry
from keras_transformer.bin import decode_settings
from keras_transformer.bin import flags
from keras_transformer.bin import text_io
from keras_transformer.data import text_files
from keras_transformer.files import written_aside

flags.define(
    "output_dir",
    "checkpoint_step",
    "data_dir",
    "split",
    "hypotheses",
    "references",
    "tokenize",
    "lowercase",
    "beam_size",
    "alpha",
    "decode_hparams",
)
FLAGS = flags.FLAGS


def main(argv):
    from keras_transformer.bleu import bleu_report

    is_run = not (FLAGS.hypotheses or FLAGS.references)
    hypotheses, references = _decode_split() if is_run else _read_files()
    report = bleu_report(
        hypotheses, references, FLAGS.tokenize, FLAGS.lowercase
    )
    if is_run:
        _record(report, len(references))
    print(report.text)


def _read_files():
    flags.require("hypotheses", "references")
    paths = (FLAGS.hypotheses, FLAGS.references)
    pairs = list(text_files.read_pairs(*paths))
    if not pairs:
        raise ValueError(
            "Files to score must have at least one line. Received: "
            f"{paths[0]} and {paths[1]}, which are empty. Check that these "
            "are the right files."
        )
    return zip(*pairs)


def _decode_split():
    """Hypotheses and references; writes the hypotheses to the run."""
    flags.require("output_dir")
    if FLAGS.split == "train":
        raise ValueError(
            "`--split` must be one whose text was kept. Received: "
            "--split=train. Use dev or test."
        )
    from keras_transformer.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)
    problem = registry.get_problem(
        run.problem_name, FLAGS.data_dir or run.record.get("data_dir")
    )
    sources, references = problem.text_split(FLAGS.split)
    flags.load_backend()
    from keras_transformer import workers
    from keras_transformer.decoding import Translator

    workers.give_each_a_core()

    translator = Translator.load(FLAGS.output_dir, FLAGS.checkpoint_step)
    progress = text_io.Progress(len(sources))
    hypotheses = list(
        translator.translate(
            sources, report=progress.add, **decode_settings.changes()
        )
    )
    progress.finish()
    path = run.file("decodes", f"{FLAGS.split}.txt")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with written_aside(path) as file:
        file.writelines(hypothesis + "\n" for hypothesis in hypotheses)
    print(f"Translations: {path}", file=sys.stderr)
    return hypotheses, references


def _record(report, num_pairs):
    """Writes the scores into the run's directory and onto its card."""
    from keras_transformer.model_card import record_scores
    from keras_transformer.model_card import write_model_card
    from keras_transformer.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)
    decode = decode_settings.options(run.hparams)
    step = run.checkpoints.find(FLAGS.checkpoint_step)
    record_scores(run, FLAGS.split, step, num_pairs, decode, report)
    write_model_card(run.path, run)


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
