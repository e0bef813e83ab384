"""Scores translations by BLEU, chrF and TER, and trees by labelled bracket F1.

    kt-evaluate --output_dir=run --split=test

This decodes a split of the run's problem and compares outputs with references.
The outputs go to decodes/SPLIT.txt in the run's directory, the scores to
scores/SPLIT.json there, to the model card README.md, and to standard output.

To decode a test set of sacreBLEU instead, such as the paper's newstest2014:

    kt-evaluate --output_dir=run --test_set=wmt14/full

To score one file against another, with one sentence or tree per line:

    kt-evaluate --hypotheses=news.hyp.de --references=news.de --language=de
    kt-evaluate --hypotheses=parsed.trees --references=wsj/23 --measure=f1

BLEU comes in three variants, each with its signature: sacreBLEU's 13a, its
intl, and the paper's, which is multi-bleu on Moses' tokens with German
compounds split at hyphens. --tokenize chooses the tokenizer of the first BLEU.
Use none for text that is tokenised already; no score then tokenises it again.

To test whether one of two models is better, name the file of the other outputs,
or the other run. kt-evaluate must have decoded the same text with that run:

    kt-evaluate --output_dir=run --compare=other_run --html=page.html

--stress adds the scores of the same text in capitals, with typos and under
other disturbances, and writes them to stress/SPLIT.json in the run's directory.

--calibrate fits an estimate of the quality of each translation on dev, and
writes it to quality.json in the run's directory, for kt-decoder. Later calls
report how good the estimate is on other text.

To follow a run in training, with its scores as curves in TensorBoard:

    kt-evaluate --output_dir=run --source=news.en --references=news.de \\
        --translations_dir=translations --wait_minutes=60

--output_dir=a,b,c scores an ensemble of runs. No run's directory changes then:
the scores go only to standard output.

F1 follows the rules of EVALB.

--measure=exact_match gives the share of lines that are all right, and the error
rates of symbols and characters. Symbols are what spaces separate: the words of
a sentence, or the phones of a word. They are the scores of g2p_files.
"""

import dataclasses
import functools
import sys

import numpy as np

from keras_transformer import registry
from keras_transformer.bin.kt_evaluate.evaluate_flags import FLAGS
from keras_transformer.bin.kt_evaluate.evaluate_flags import OF_A_RUN
from keras_transformer.bin.kt_evaluate.evaluate_flags import OF_BLEU
from keras_transformer.bin.kt_evaluate.evaluate_flags import OF_TEXT
from keras_transformer.bin.kt_evaluate.evaluate_flags import check_flags
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend
from keras_transformer.data.text import text_files
from keras_transformer.scoring import quality
from keras_transformer.scoring import stress
from keras_transformer.scoring.measures import SYMBOL_MEASURES
from keras_transformer.scoring.measures import TRANSLATION_MEASURES
from keras_transformer.scoring.report import scores_by_corpus
from keras_transformer.scoring.symbol_scores import symbol_report
from keras_transformer.scoring.translations import bleu_report
from keras_transformer.scoring.translations import choose_tokenizer
from keras_transformer.scoring.translations import sentence_chrf
from keras_transformer.scoring.translations import translation_report


def main(argv):
    check_flags()
    if FLAGS.translations_dir:
        from keras_transformer.bin.kt_evaluate import every_checkpoint

        return every_checkpoint.score_checkpoints()
    # Scoring files needs neither a run nor the backend, so it starts at once.
    if FLAGS.hypotheses or FLAGS.references:
        of_run = [flag.name for flag in flags.group_by_title(FLAGS)[OF_A_RUN]]
        _refuse(of_run, "a run to decode, not files to score")
        _score_files()
        return
    flags.require(FLAGS, "output_dir")
    read_backend()
    plan, problem = _plan_runs()
    _score_runs(plan, problem, _read_texts(plan, problem))


def _score_runs(plan, problem, texts):
    """Decodes a text with the runs, scores the outputs and writes both."""
    from keras_transformer.decoding import outputs

    others = outputs.read_others(FLAGS.compare, texts) if FLAGS.compare else []
    changes = model_flags.decode_changes(FLAGS)
    options = plan.change_options(**changes)
    if plan.engine == "keras":
        load_backend()
    translator = outputs.load_translator(plan)
    # No directory belongs to an ensemble.
    output_dir = plan.paths[0] if len(plan.paths) == 1 else None
    step = plan.steps[0]
    estimate = _read_estimate(problem, options, output_dir, step)
    scored = bool(FLAGS.calibrate or estimate)
    decode = functools.partial(
        outputs.decode, translator, problem, scored=scored, **changes
    )
    best = decode(texts.sources)
    hypotheses = [one.text for one in best]
    if output_dir:
        outputs.write(texts, hypotheses, output_dir, FLAGS.evalb_files)
    tokenize = FLAGS.tokenize or problem.bleu_tokenizer
    measure = FLAGS.measure or problem.measure
    report = _score(measure, texts, hypotheses, tokenize, problem)
    # Recorded first: the scores survive a reader that closes the pipe.
    costs = _record(plan, report, texts, options) if output_dir else []
    print("\n".join([report.text, "", *costs] if costs else [report.text]))
    both = (hypotheses, others)
    comparison = _compare(plan.paths, both, texts, tokenize, measure, problem)
    print(comparison, end="")
    make = problem.report
    if problem.measure == "bleu":
        make = functools.partial(
            bleu_report, tokenize=tokenize, lowercase=FLAGS.lowercase
        )
    lines = [] if FLAGS.test_set else scores_by_corpus(texts, *both, make)
    if FLAGS.stress:
        scores = stress.measure_stress(
            texts, hypotheses, translator, decode, make
        )
        if output_dir:
            stress.write_stress(output_dir, texts.name, step, scores)
        lines += ["", *stress.format_stress(scores)]
    if scored:
        features = quality.measure_features(translator, best, options.alpha)
        alarms = translator.find_alarms(texts.sources, [[one] for one in best])
        lines += _judge(estimate, plan, features, alarms, best, texts)
    print("".join(f"{line}\n" for line in lines), end="")


def _read_estimate(problem, options, output_dir, step):
    """Returns the `QualityEstimate` of a run, or None if it has none."""
    # Scores of samples measure agreement and are not log-probabilities.
    if not output_dir or problem.measure != "bleu" or options.mbr_samples:
        return None
    if FLAGS.calibrate:
        return None  # a new one replaces it, even if it is damaged
    return quality.QualityEstimate.read(output_dir, step)


def _judge(estimate, plan, features, alarms, best, texts):
    """Returns a report on estimates of quality, which may be fitted here."""
    outputs = [one.text for one in best]
    chrf = np.array(sentence_chrf(outputs, texts.references))
    if FLAGS.calibrate:
        fit = quality.QualityEstimate.fit
        estimate = fit(plan.steps[0], features, alarms, chrf)
        estimate.write(plan.paths[0])
    estimates, _ = estimate.judge(features, alarms)
    lines = quality.describe_quality(estimate, estimates, chrf)
    if FLAGS.calibrate:
        lines[0] += " These metrics are for the pairs that it was fitted on."
    return ["", *lines]


def _refuse(names, rule):
    flags.refuse(FLAGS, names, f"needs {rule}")


def _score_files():
    flags.require(FLAGS, "hypotheses", "references")
    if FLAGS.measure == "f1":
        _score_trees()
        return
    from keras_transformer.decoding.test_sets import Texts

    path, *further_paths = FLAGS.references
    references, hypotheses, *more_references = text_files.read_sides(
        path, FLAGS.hypotheses, *further_paths
    )
    others = []
    if FLAGS.compare:
        others = text_files.read_parallel_lines(
            FLAGS.compare, len(references), path
        )
    measure = FLAGS.measure or "bleu"
    if measure in SYMBOL_MEASURES:
        _refuse(OF_BLEU, f"BLEU, not {measure}")
    language = FLAGS.language
    tokenize = FLAGS.tokenize or choose_tokenizer(language, references)
    texts = Texts(path, path, None, references, {}, language, more_references)
    report = _score(measure, texts, hypotheses, tokenize)
    both = (hypotheses, others)
    comparison = _compare([FLAGS.hypotheses], both, texts, tokenize, measure)
    # Printed last: the page survives a reader that closes the pipe.
    print(f"{report.text}\n{comparison}", end="")


def _score_trees():
    _refuse(OF_TEXT, "BLEU, not F1")
    from keras_transformer.parsing import parseval
    from keras_transformer.parsing.treebank import read_best_parses
    from keras_transformer.parsing.treebank import read_treebank

    if len(FLAGS.references) > 1:
        rule = "must be one file with --measure=f1"
        flags.refuse(FLAGS, ["references"], rule, "Name one of them.")
    gold = list(read_treebank(FLAGS.references))
    test = read_best_parses(FLAGS.hypotheses, len(gold))
    if len(test) != len(gold):
        rule = f"must have a parse for each of {len(gold):,} gold trees, and "
        rule += f"has {len(test):,}"
        way_out = "Leave a line blank where parsing failed."
        flags.refuse(FLAGS, ["hypotheses"], rule, way_out)
    print(parseval.parseval(gold, test).text)
    if numbers := parseval.find_other_words(gold, test):
        print(
            "Number of parses that failed because their words differ from "
            f"the gold trees: {len(numbers):,}. The first is the parse of "
            f"sentence {numbers[0]:,}.",
            file=sys.stderr,
        )


def _compare(paths, outputs, texts, tokenize, measure, problem=None):
    """Returns the comparison of two systems as text, and may write a page."""
    if not FLAGS.compare:
        return ""
    from keras_transformer.visualization.systems_report import Systems
    from keras_transformer.visualization.systems_report import compare_systems
    from keras_transformer.visualization.systems_report import name_systems

    systems = Systems(texts, name_systems(paths, FLAGS.compare), outputs)
    text = compare_systems(
        systems, tokenize, FLAGS.lowercase, FLAGS.html, problem, measure
    )
    if FLAGS.html:
        print(f"Page: {FLAGS.html}", file=sys.stderr)
    return f"\n{text}\n"


def _plan_runs():
    """Checks the flags; returns the `Plan` of the runs and their problem."""
    # Only the token ids of the training text are kept, not the text itself.
    if FLAGS.split == "train":
        rule = "must be a split whose text is kept"
        flags.refuse(FLAGS, ["split"], rule, "Use dev or test.")
    from keras_transformer.decoding.plan import plan_runs
    from keras_transformer.runs.model_card import make_model_card

    # What is missing or out of range fails here, before the backend loads.
    changes = model_flags.decode_changes(FLAGS)
    plan = plan_runs(
        model_flags.directories(FLAGS.output_dir),
        FLAGS.checkpoint_step,
        FLAGS.engine,
        changes,
    )
    run = plan.runs[0]
    if len(plan.runs) == 1:
        make_model_card(run)
    else:
        names = ["evalb_files", "calibrate"]
        _refuse(names, "a single run, whose directory gets the files")
    problem = registry.get_problem(
        run.problem_name, FLAGS.data_dir or run.record.get("data_dir")
    )
    measure = FLAGS.measure or problem.measure
    is_text = problem.measure in ("bleu", *SYMBOL_MEASURES)
    if is_text:
        _refuse(["evalb_files"], "a parsing run")
    if not is_text or measure == "f1":
        _refuse(["measure"], "a run that translates, and no f1")
    if measure != "bleu":
        names = [*(OF_BLEU if is_text else OF_TEXT), "stress", "calibrate"]
        _refuse(names, f"BLEU, not {measure}")
    if problem.is_tokenized and FLAGS.tokenize not in (None, "none"):
        _refuse(["tokenize"], "text that is not tokenised already")
    if plan.change_options(**changes).mbr_samples:
        rule = "needs the scores of a search, not mbr_samples"
        flags.refuse(FLAGS, ["calibrate"], rule)
    # The sentences of a treebank are words with spaces between them.
    tokenized = problem.measure == "f1"
    return dataclasses.replace(plan, tokenized=tokenized), problem


def _read_texts(plan, problem):
    """Returns the text to decode, with everything checked."""
    from keras_transformer.decoding import outputs
    from keras_transformer.decoding import test_sets

    if FLAGS.test_set:
        _refuse(["split"], "a problem's data, not --test_set")
        text = test_sets.get_test_set(problem, FLAGS.test_set)
    else:
        has_test = "test" in problem.manifest["splits"]
        default = "test" if has_test and not FLAGS.calibrate else "dev"
        text = test_sets.get_split(problem, FLAGS.split or default)
    if len(plan.paths) == 1:
        run, others = plan.runs[0], []
        if FLAGS.stress:
            others.append(stress.stress_path(run.path, text.name))
        if FLAGS.calibrate:
            others.append(run.file(quality.QUALITY_FILE))
        outputs.check_files(run.path, text.name, FLAGS.evalb_files, others)
    test_sets.check_texts(text, problem, plan.checker)
    if FLAGS.calibrate:
        quality.check_number(len(text.sources))
    return text


def _score(measure, texts, hypotheses, tokenize, problem=None):
    sides, others = (hypotheses, texts.references), texts.more_references
    if measure in SYMBOL_MEASURES:
        return symbol_report(*sides, others, texts.origin)
    if measure not in TRANSLATION_MEASURES:
        return problem.report(*sides)
    language = FLAGS.language or texts.language
    options = language, tokenize, FLAGS.lowercase, texts.origin
    return translation_report(*sides, *options, others)


def _record(plan, report, texts, options):
    """Writes the scores into a run and its card; returns lines on its cost."""
    from keras_transformer.runs.metrics_table import describe_cost
    from keras_transformer.runs.model_card import write_model_card
    from keras_transformer.runs.scores import record_scores

    (run,), (step,) = plan.runs, plan.steps
    num_pairs = len(texts.references)
    engine = plan.describe_engine()
    record_scores(run, texts.name, step, num_pairs, options, report, engine)
    write_model_card(run.path, run)
    rows = describe_cost(run.read_training(step))
    return [f"{title}: {words}." for title, words in rows]


run = command.make_script(main, FLAGS)
