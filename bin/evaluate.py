"""Scores translations with BLEU and chrF, and trees with labelled bracket F1.

    kt-evaluate --output_dir=run --split=test

This decodes a split of the problem that the run was trained on and compares the
outputs with the references. The outputs go to decodes/SPLIT.txt in the run's
directory, the scores to scores/SPLIT.json there, to the model card README.md,
and to standard output.

To score one file against another, with one sentence or tree per line:

    kt-evaluate --hypotheses=news.hyp.de --references=news.de
    kt-evaluate --hypotheses=parsed.trees --references=wsj/23 --measure=f1

BLEU and chrF are computed by sacreBLEU and come with their full signatures. Use
--tokenize=none for text that is tokenised already. F1 follows the rules of
EVALB. --evalb_files writes SPLIT.gold and SPLIT.test beside the outputs, as
input for EVALB itself.
"""

import os
import sys

from keras_transformer import registry
from keras_transformer.bin import command
from keras_transformer.bin import flags
from keras_transformer.data import text_files
from keras_transformer.data.progress import Progress
from keras_transformer.files.writing import check_writable
from keras_transformer.files.writing import written_aside

FLAGS = flags.define(
    flags.group(
        "Scoring a run",
        "output_dir",
        "checkpoint_step",
        "data_dir",
        flags.choice(
            "split",
            ["train", "dev", "test"],
            "test",
            "Split to decode: dev or test.",
        ),
        "beam_size",
        "alpha",
        "decode_hparams",
        flags.switch(
            "evalb_files",
            False,
            "Also write the gold trees and the parsed trees for EVALB.",
        ),
    ),
    flags.group(
        "Scoring files",
        flags.path(
            "hypotheses",
            None,
            "File of translations or trees to score, one per line. Default: "
            "none, which decodes a split.",
        ),
        flags.path(
            "references",
            None,
            "File of references, one per line. Default: none, which decodes a "
            "split.",
        ),
        flags.choice(
            "measure",
            ["bleu", "f1"],
            "bleu",
            "Score to compute: bleu for text, f1 for trees.",
        ),
    ),
    flags.group(
        "BLEU and chrF",
        flags.choice(
            "tokenize",
            ["13a", "none", "intl", "char", "zh"],
            "13a",
            "Tokenizer of sacreBLEU: 13a, none, intl, char or zh.",
        ),
        flags.switch("lowercase", False, "Score without regard to case."),
    ),
)


def main(argv):
    # Scoring files needs neither a run nor the backend, so it starts at once.
    if FLAGS.hypotheses or FLAGS.references:
        _refuse("evalb_files", "--output_dir")
        print(_score_files().text)
        return
    problem = _problem()
    hypotheses, references = _decode(problem)
    report = _score(problem, hypotheses, references)
    # Recorded first: the scores survive a reader that closes the pipe.
    _record(report, len(references))
    print(report.text)


def _refuse(name, rule):
    # A flag that repeats its default is harmless.
    if FLAGS[name].value != FLAGS[name].default:
        raise ValueError(
            f"`--{name}` must go with {rule}. Received: "
            f"--{name}={FLAGS[name].value}. Remove it."
        )


def _score_files():
    flags.require(FLAGS, "hypotheses", "references")
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
            f"{paths[0]} and {paths[1]}, which are empty. Check both paths."
        )
    return _bleu(*zip(*pairs))


def _bleu(hypotheses, references):
    from keras_transformer.bleu import bleu_report

    return bleu_report(hypotheses, references, FLAGS.tokenize, FLAGS.lowercase)


def _problem():
    """Checks the flags and the data, and returns the run's problem."""
    flags.require(FLAGS, "output_dir")
    # Only the token ids of the training text are kept, not the text itself.
    if FLAGS.split == "train":
        raise ValueError(
            "`--split` must be a split whose text is kept. Received: "
            "--split=train. Use dev or test."
        )
    from keras_transformer.runs.model_card import check_model_card
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.runs.weights import check_checkpoint

    run = RunDirectory(FLAGS.output_dir)
    check_checkpoint(run, FLAGS.checkpoint_step)
    check_model_card(run)
    problem = registry.get_problem(
        run.problem_name, FLAGS.data_dir or run.record.get("data_dir")
    )
    _refuse("measure", "--hypotheses")
    if problem.measure == "bleu":
        _refuse("evalb_files", "a parsing run")
    else:
        _refuse("tokenize", f"BLEU, not {problem.measure}")
    # What is missing or out of range fails here, before the backend loads.
    flags.decode_options(FLAGS, run.hparams)
    run.checkpoints.find(FLAGS.checkpoint_step)
    _check_outputs()
    _check_text(problem)
    return problem


def _check_outputs():
    paths = [_decodes_path("txt"), os.path.join(FLAGS.output_dir, "README.md")]
    paths.append(
        os.path.join(FLAGS.output_dir, "scores", f"{FLAGS.split}.json")
    )
    if FLAGS.evalb_files:
        paths += [_decodes_path("gold"), _decodes_path("test")]
    for path in paths:
        folder = os.path.dirname(path)
        # A missing folder is made later, beside the files of the run.
        check_writable(path if os.path.exists(folder) else folder)


def _check_text(problem):
    from keras_transformer.decoding.loading import load_checker

    sources, references = problem.text_split(FLAGS.split)
    name = f"{problem.name}, split {FLAGS.split}"
    if not sources:
        raise ValueError(
            "A split to score must have at least one sentence. Received: "
            f"{name} in {problem.directory}, which has none. Generate the data "
            "again with kt-datagen."
        )
    checker = load_checker(FLAGS.output_dir, problem.measure == "f1")
    checker.check_lengths(sources, name)
    if problem.measure == "f1":
        from keras_transformer.data.split_files import text_path
        from keras_transformer.trees.tree import parse_tree

        path = text_path(problem.directory, FLAGS.split, "target")
        for number, reference in enumerate(references, 1):
            parse_tree(reference, path, number)


def _decode(problem):
    """Returns the outputs and the references, and writes the outputs."""
    sources, references = problem.text_split(FLAGS.split)
    translator = _load(problem)
    with Progress("sentences", len(sources)) as progress:
        hypotheses = list(
            translator.translate(
                sources, report=progress.add, **flags.decode_changes(FLAGS)
            )
        )
    # A parser returns trees already. Other outputs may need a conversion.
    if translator.linearization:
        _report_trees(translator, len(sources))
    else:
        hypotheses = list(map(problem.output, sources, hypotheses))
    # The outputs are on disk before the scoring, which could fail.
    path = _decodes_path("txt")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with written_aside(path) as file:
        file.writelines(hypothesis + "\n" for hypothesis in hypotheses)
    print(f"Outputs: {path}", file=sys.stderr)
    return hypotheses, references


def _load(problem):
    command.load_backend()
    from keras_transformer.decoding import threads
    from keras_transformer.decoding.loading import load

    threads.give_each_a_core()
    # The sentences of a treebank are words with spaces between them.
    return load(
        FLAGS.output_dir,
        FLAGS.checkpoint_step,
        tokenized=problem.measure == "f1",
    )


def _report_trees(parser, num_sentences):
    share = parser.num_malformed / num_sentences
    print(
        f"Malformed and repaired: {parser.num_malformed} of {num_sentences} "
        f"({share:.1%}).",
        file=sys.stderr,
    )
    if parser.linearization != "tagged":
        print(
            "This run predicts no tags, so every tag counts as wrong.",
            file=sys.stderr,
        )


def _decodes_path(ending):
    return os.path.join(FLAGS.output_dir, "decodes", f"{FLAGS.split}.{ending}")


def _score(problem, hypotheses, references):
    # Not `problem.report`, which knows nothing of --tokenize and --lowercase.
    if problem.measure == "bleu":
        return _bleu(hypotheses, references)
    if FLAGS.evalb_files:
        from keras_transformer.trees.parseval import write_evalb
        from keras_transformer.trees.tree import parse_tree

        paths = (_decodes_path("gold"), _decodes_path("test"))
        too_large = write_evalb(
            *paths,
            list(map(parse_tree, references)),
            list(map(parse_tree, hypotheses)),
        )
        print(f"Input of EVALB: {paths[0]}, {paths[1]}", file=sys.stderr)
        if too_large:
            print(
                "EVALB needs larger limits, which are set when it is compiled, "
                f"for the trees of lines {', '.join(map(str, too_large))}.",
                file=sys.stderr,
            )
    return problem.report(hypotheses, references)


def _record(report, num_pairs):
    """Writes the scores into the run's directory and onto its card."""
    from keras_transformer.runs.model_card import record_scores
    from keras_transformer.runs.model_card import write_model_card
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)
    decode = flags.decode_options(FLAGS, run.hparams)
    # The number of the step, because `best` can become another checkpoint.
    step = run.checkpoints.find(FLAGS.checkpoint_step)
    record_scores(run, FLAGS.split, step, num_pairs, decode, report)
    write_model_card(run.path, run)


def run(argv=None):
    command.run(main, FLAGS, argv)


if __name__ == "__main__":
    run()
