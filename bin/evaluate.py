"""Scores translations with BLEU and chrF, trees with labelled bracket F1.

    kt-evaluate --output_dir=run --split=test
    kt-evaluate --hypotheses=news.hyp.de --references=news.de
    kt-evaluate --hypotheses=parsed.trees --references=wsj/23 --measure=f1

The first decodes a split of the problem that the run was trained on, writes the
outputs to decodes/SPLIT.txt in the run's directory, and scores them
against the split's references; the scores go to scores/SPLIT.json and to the
model card, README.md. The others score one file against another, one sentence
a line. --checkpoint_step is as in kt-decoder. Results go to standard output.

BLEU and chrF are sacreBLEU's, with the full signatures; --tokenize=none is for
text that was tokenised before. F1 is by EVALB's rules; with --evalb_files, the
files SPLIT.gold and SPLIT.test for EVALB itself are written beside the outputs.
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
    "measure",
    "tokenize",
    "lowercase",
    "evalb_files",
    "beam_size",
    "alpha",
    "decode_hparams",
)
FLAGS = flags.FLAGS


def main(argv):
    if FLAGS.hypotheses or FLAGS.references:
        _refuse("evalb_files", "--output_dir")
        print(_score_files().text)
        return
    problem = _problem()
    hypotheses, references = _decode(problem)
    report = _score(problem, hypotheses, references)
    _record(report, len(references))
    print(report.text)


def _refuse(name, rule):
    if FLAGS[name].value != FLAGS[name].default:
        raise ValueError(
            f"`--{name}` must go with {rule}. Received: "
            f"--{name}={FLAGS[name].value}. Remove it."
        )


def _score_files():
    flags.require("hypotheses", "references")
    paths = (FLAGS.hypotheses, FLAGS.references)
    if FLAGS.measure == "f1":
        _refuse("tokenize", "BLEU, not F1")
        from keras_transformer.trees import parseval
        from keras_transformer.trees.treebank import read_treebank

        test, gold = (list(read_treebank([path])) for path in paths)
        return parseval.parseval(gold, test)
    pairs = list(text_files.read_pairs(*paths))
    if not pairs:
        raise ValueError(
            "Files to score must have at least one line. Received: "
            f"{paths[0]} and {paths[1]}, which are empty. Check that these "
            "are the right files."
        )
    return _bleu(*zip(*pairs))


def _bleu(hypotheses, references):
    from keras_transformer.bleu import bleu_report

    return bleu_report(hypotheses, references, FLAGS.tokenize, FLAGS.lowercase)


def _problem():
    """The problem of the run; what is wrong with the flags shows at once."""
    flags.require("output_dir")
    if FLAGS.split == "train":
        raise ValueError(
            "`--split` must be one whose text was kept. Received: "
            "--split=train. Use dev or test."
        )
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)
    problem = registry.get_problem(
        run.problem_name, FLAGS.data_dir or run.record.get("data_dir")
    )
    _refuse("measure", "--hypotheses")
    if problem.measure == "bleu":
        _refuse("evalb_files", "a parsing run")
    else:
        _refuse("tokenize", f"BLEU, not {problem.measure}")
    problem.text_split(FLAGS.split)
    return problem


def _decode(problem):
    """Hypotheses and references; writes the hypotheses to the run."""
    sources, references = problem.text_split(FLAGS.split)
    flags.load_backend()
    from keras_transformer.decoding import threads
    from keras_transformer.decoding.parser import Parser
    from keras_transformer.decoding.translator import Translator

    threads.give_each_a_core()
    translator = Translator.load(FLAGS.output_dir, FLAGS.checkpoint_step)
    parser = None
    if translator.linearization:
        translator = parser = Parser(translator, tokenized=True)
    progress = text_io.Progress(len(sources))
    hypotheses = list(
        translator.translate(
            sources, report=progress.add, **decode_settings.changes()
        )
    )
    progress.finish()
    if parser:
        print(
            f"Malformed and repaired: {parser.num_malformed} of "
            f"{len(sources)} ({parser.num_malformed / len(sources):.1%}).",
            file=sys.stderr,
        )
        if parser.linearization != "tagged":
            print(
                "This run writes no tags; its words count as tagged wrongly.",
                file=sys.stderr,
            )
    else:
        hypotheses = list(map(problem.output, sources, hypotheses))
    path = _decodes("txt")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with written_aside(path) as file:
        file.writelines(hypothesis + "\n" for hypothesis in hypotheses)
    print(f"Outputs: {path}", file=sys.stderr)
    return hypotheses, references


def _decodes(ending):
    return os.path.join(FLAGS.output_dir, "decodes", f"{FLAGS.split}.{ending}")


def _score(problem, hypotheses, references):
    if problem.measure == "bleu":
        return _bleu(hypotheses, references)
    if FLAGS.evalb_files:
        from keras_transformer.trees.parseval import write_evalb
        from keras_transformer.trees.tree import parse_tree

        paths = (_decodes("gold"), _decodes("test"))
        too_large = write_evalb(
            *paths,
            list(map(parse_tree, references)),
            list(map(parse_tree, hypotheses)),
        )
        print(f"For EVALB: {paths[0]}, {paths[1]}", file=sys.stderr)
        if too_large:
            print(
                "EVALB must be compiled with larger limits for the trees of "
                f"lines {', '.join(map(str, too_large))}.",
                file=sys.stderr,
            )
    return problem.report(hypotheses, references)


def _record(report, num_pairs):
    """Writes the scores into the run's directory and onto its card."""
    from keras_transformer.runs.model_card import record_scores
    from keras_transformer.runs.model_card import write_model_card
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)
    decode = decode_settings.options(run.hparams)
    step = run.checkpoints.find(FLAGS.checkpoint_step)
    record_scores(run, FLAGS.split, step, num_pairs, decode, report)
    write_model_card(run.path, run)


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
