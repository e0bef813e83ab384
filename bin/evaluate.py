"""Scores translations by BLEU, chrF and TER, and trees by labelled bracket F1.

    kt-evaluate --output_dir=run --split=test

This decodes a split of the problem that the run was trained on and compares the
outputs with the references. The outputs go to decodes/SPLIT.txt in the run's
directory, the scores to scores/SPLIT.json there, to the model card README.md,
and to standard output.

To decode a test set of sacreBLEU in place of a split, such as newstest2014 as
the paper translates it:

    kt-evaluate --output_dir=run --test_set=wmt14/full

To score one file against another, with one sentence or tree per line:

    kt-evaluate --hypotheses=news.hyp.de --references=news.de --language=de
    kt-evaluate --hypotheses=parsed.trees --references=wsj/23 --measure=f1

BLEU appears in three ways, each with its signature: sacreBLEU's 13a, its intl,
and the paper's, which is multi-bleu on Moses' tokens with German compounds
split at hyphens. --tokenize chooses the tokenizer of the first BLEU. Use none
for text that is tokenised already; no score then tokenises it again.

To test whether one of two models is better, name the file of the other outputs,
or the other run. kt-evaluate must have decoded the same text with that run:

    kt-evaluate --output_dir=run --compare=other_run --report=page.html

--report writes a page for a browser about where the two differ.

--output_dir=a,b,c scores an ensemble of runs. No run's directory changes then:
the scores go to standard output alone.

F1 follows the rules of EVALB. --evalb_files writes SPLIT.gold and SPLIT.test
beside the outputs, as input for EVALB itself.
"""

import sys

from keras_transformer import registry
from keras_transformer.bin import evaluate_flags
from keras_transformer.bin.evaluate_flags import FLAGS
from keras_transformer.bin.evaluate_flags import refuse
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.data import text_files


def main(argv):
    evaluate_flags.check()
    # Scoring files needs neither a run nor the backend, so it starts at once.
    if FLAGS.hypotheses or FLAGS.references:
        for flag in flags.group_by_title(FLAGS)[evaluate_flags.OF_A_RUN]:
            refuse(flag.name, "a run to decode, not with --hypotheses")
        _score_files()
        return
    flags.require(FLAGS, "output_dir")
    output_dirs = model_flags.output_dirs(FLAGS)
    problem = _problem(output_dirs)
    texts = _texts(problem, output_dirs)
    from keras_transformer.decoding import ensembles
    from keras_transformer.evaluation import outputs
    from keras_transformer.evaluation.by_corpus import make_report
    from keras_transformer.evaluation.by_corpus import scores_by_corpus

    others = outputs.read_others(FLAGS.compare, texts) if FLAGS.compare else []
    # Found once, because a training may write another checkpoint meanwhile.
    steps = ensembles.find_steps(
        ensembles.open_runs(output_dirs), FLAGS.checkpoint_step
    )
    load_backend()
    changes = model_flags.decode_changes(FLAGS)
    hypotheses = outputs.decode(texts, problem, output_dirs, steps, changes)
    # No directory belongs to an ensemble.
    output_dir = output_dirs[0] if len(output_dirs) == 1 else None
    if output_dir:
        outputs.write(texts, hypotheses, output_dir, FLAGS.evalb_files)
    tokenize = FLAGS.tokenize or problem.bleu_tokenizer
    report = _score(problem, texts, hypotheses, tokenize)
    # Recorded first: the scores survive a reader that closes the pipe.
    costs = []
    if output_dir:
        costs = _record(output_dir, steps[0], report, texts)
    print("\n".join([report.text, "", *costs] if costs else [report.text]))
    names = (FLAGS.output_dir, FLAGS.compare)
    both = (hypotheses, others)
    _compare(names, both, texts.references, tokenize, texts, problem)
    if not FLAGS.test_set:
        report = make_report(problem, tokenize, FLAGS.lowercase)
        for line in scores_by_corpus(texts, *both, report):
            print(line)


def _score_files():
    flags.require(FLAGS, "hypotheses", "references")
    if FLAGS.measure == "f1":
        for name in evaluate_flags.OF_TEXT:
            refuse(name, "BLEU, not F1")
        from keras_transformer.trees import parseval
        from keras_transformer.trees.joining import read_best_parses
        from keras_transformer.trees.treebank import read_treebank

        gold = list(read_treebank([FLAGS.references]))
        test = read_best_parses(FLAGS.hypotheses, len(gold))
        print(parseval.parseval(gold, test).text)
        if numbers := parseval.find_other_words(gold, test):
            print(
                "Number of parses that failed because their words are not "
                f"those of the gold trees: {len(numbers):,}. The first is the "
                f"parse of sentence {numbers[0]:,}.",
                file=sys.stderr,
            )
        return
    references = list(text_files.read_lines(FLAGS.references))
    hypotheses = text_files.read_as_many(
        FLAGS.hypotheses, len(references), FLAGS.references
    )
    if not references:
        raise ValueError(
            "Files to score must have at least one line. Received: "
            f"{FLAGS.hypotheses} and {FLAGS.references}, which are empty. "
            "Check both paths."
        )
    from keras_transformer.scoring.translations import translation_report

    others = []
    if FLAGS.compare:
        others = text_files.read_as_many(
            FLAGS.compare, len(references), FLAGS.references
        )
    tokenize = FLAGS.tokenize or "13a"
    report = translation_report(
        hypotheses, references, FLAGS.language, tokenize, FLAGS.lowercase
    )
    print(report.text)
    names = (FLAGS.hypotheses, FLAGS.compare)
    _compare(names, (hypotheses, others), references, tokenize)


def _compare(names, outputs, references, tokenize, texts=None, problem=None):
    """Compares two systems; what is read from files has no `texts`."""
    if not FLAGS.compare:
        return
    from keras_transformer.bin.comparison import compare
    from keras_transformer.evaluation.systems_report import Systems

    name = texts.name if texts else FLAGS.references
    sources = texts and texts.sources
    systems = Systems(name, names, outputs, references, sources)
    compare(systems, tokenize, FLAGS.lowercase, FLAGS.report, problem)


def _problem(output_dirs):
    """Checks the flags, and returns the problem of the runs."""
    # Only the token ids of the training text are kept, not the text itself.
    if FLAGS.split == "train":
        raise ValueError(
            "`--split` must be a split whose text is kept. Received: "
            "--split=train. Use dev or test."
        )
    from keras_transformer.decoding import ensembles
    from keras_transformer.decoding.loading import check_loadable
    from keras_transformer.decoding.loading import load_checker
    from keras_transformer.runs.model_card import check_model_card

    runs = ensembles.open_runs(output_dirs)
    check_loadable(output_dirs, FLAGS.checkpoint_step)
    run = runs[0]
    if len(runs) == 1:
        check_model_card(run)
    else:
        refuse("evalb_files", "a single run, whose directory gets the files")
    problem = registry.get_problem(
        run.problem_name, FLAGS.data_dir or run.record.get("data_dir")
    )
    refuse("measure", "--hypotheses")
    if problem.measure == "bleu":
        refuse("evalb_files", "a parsing run")
    else:
        for name in evaluate_flags.OF_TEXT:
            refuse(name, f"BLEU, not {problem.measure}")
    if problem.is_tokenized and FLAGS.tokenize not in (None, "none"):
        refuse("tokenize", "text that is not tokenised already")
    # What is missing or out of range fails here, before the backend loads.
    changes = model_flags.decode_changes(FLAGS)
    load_checker(output_dirs).changed_options(**changes)
    return problem


def _texts(problem, output_dirs):
    """Returns the text to decode, with everything checked."""
    from keras_transformer.evaluation import outputs
    from keras_transformer.evaluation import texts

    if FLAGS.test_set:
        refuse("split", "a problem's own data, not --test_set")
        text = texts.test_set_texts(problem, FLAGS.test_set)
    else:
        text = texts.split_texts(problem, FLAGS.split)
    if len(output_dirs) == 1:
        outputs.check_files(output_dirs[0], text.name, FLAGS.evalb_files)
    texts.check_texts(text, problem, output_dirs)
    return text


def _score(problem, texts, hypotheses, tokenize):
    if problem.measure != "bleu":
        return problem.report(hypotheses, texts.references)
    from keras_transformer.scoring.translations import translation_report

    return translation_report(
        hypotheses,
        texts.references,
        FLAGS.language or texts.language,
        tokenize,
        FLAGS.lowercase,
        texts.origin,
    )


def _record(output_dir, step, report, texts):
    """Writes the scores into the run's directory and onto its card.

    Returns:
        A list of lines about the cost of the training.
    """
    from keras_transformer.runs.model_card import cost_rows
    from keras_transformer.runs.model_card import record_scores
    from keras_transformer.runs.model_card import write_model_card
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(output_dir)
    decode = model_flags.decode_options(FLAGS, run.hparams)
    num_pairs = len(texts.references)
    record_scores(run, texts.name, step, num_pairs, decode, report)
    write_model_card(run.path, run)
    rows = cost_rows(run.training_until(step))
    return [f"{title}: {words}." for title, words in rows]


def run(argv=None):
    command.run(main, FLAGS, argv)


if __name__ == "__main__":
    run()
