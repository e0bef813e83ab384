"""Scores translations with BLEU and chrF: a run's, or those in a file.

    kt-evaluate --output_dir=run --split=test
    kt-evaluate --hypotheses=news.hyp.de --references=news.de

The first decodes a split of the problem that the run was trained on, writes the
translations to decodes/SPLIT.txt in the run's directory, and scores them
against the split's references. The second scores one file against another, one
sentence a line. --checkpoint_step is as in kt-decoder. The scores are
sacreBLEU's, printed to standard output with the full signatures;
--tokenize=none is for text that was tokenised before.
"""

import os
import sys

from keras_transformer import registry
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
)
FLAGS = flags.FLAGS


def main(argv):
    from keras_transformer.bleu import bleu_report

    if FLAGS.hypotheses or FLAGS.references:
        hypotheses, references = _read_files()
    else:
        hypotheses, references = _decode_split()
    report = bleu_report(
        hypotheses, references, FLAGS.tokenize, FLAGS.lowercase
    )
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
    from keras_transformer.decoding import Translator

    translator = Translator.load(FLAGS.output_dir, FLAGS.checkpoint_step)
    progress = text_io.Progress(len(sources))
    hypotheses = list(
        translator.translate(
            sources, FLAGS.beam_size, FLAGS.alpha, report=progress.add
        )
    )
    progress.finish()
    path = run.file("decodes", f"{FLAGS.split}.txt")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with written_aside(path) as file:
        file.writelines(hypothesis + "\n" for hypothesis in hypotheses)
    print(f"Translations: {path}", file=sys.stderr)
    return hypotheses, references


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
