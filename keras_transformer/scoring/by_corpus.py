"""Scores of each corpus of a split, such as each language or each domain."""

import functools
import itertools

from keras_transformer.data.generation.corpora import format_corpus_name
from keras_transformer.scoring.report import tabulate_scores
from keras_transformer.scoring.translations import bleu_report


def make_report(problem, tokenize, lowercase):
    """Returns the function that scores a corpus; see `scores_by_corpus`."""
    if problem.measure != "bleu":
        return problem.report
    return functools.partial(
        bleu_report, tokenize=tokenize, lowercase=lowercase
    )


def scores_by_corpus(texts, hypotheses, others, report):
    """Returns the lines of a table with a row of scores for each corpus.

    There are none for a single corpus. With `others`, the outputs of another
    model, each score has its gain over theirs. `report` is like
    `Problem.report`.
    """
    if len(texts.corpora) < 2:
        return []
    ends = list(
        itertools.accumulate(corpus["pairs"] for corpus in texts.corpora)
    )
    rows = []
    for corpus, start, end in zip(texts.corpora, [0, *ends], ends):
        part = slice(start, end)
        scores, baseline = (
            outputs and report(outputs[part], texts.references[part]).scores
            for outputs in (hypotheses, others)
        )
        name = format_corpus_name(corpus["name"], corpus.get("tag"))
        rows.append(((name, f"{corpus['pairs']:,}"), scores, baseline))
    # An empty line separates the table from what is printed above it.
    return ["", *tabulate_scores(["corpus", "sentences"], rows, "gain")]
