"""Scores of each corpus of a split, such as each language or each domain."""

import functools
import itertools

from keras_transformer.data.corpora import format_corpus_name
from keras_transformer.scoring.report import align_columns
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

    There are none without several corpora. If there are `others`, other
    outputs, each score is followed by what it gains over theirs. `report` is
    such as `Problem.report`.
    """
    if len(texts.corpora) < 2:
        return []
    ends = list(
        itertools.accumulate(corpus["pairs"] for corpus in texts.corpora)
    )
    rows = []
    for corpus, start, end in zip(texts.corpora, [0, *ends], ends):
        part = slice(start, end)
        references = texts.references[part]
        scores = report(hypotheses[part], references).scores
        gains = {}
        if others:
            baseline = report(others[part], references).scores
            gains = {name: scores[name] - baseline[name] for name in scores}
        name = format_corpus_name(corpus["name"], corpus.get("tag"))
        rows.append((name, corpus["pairs"], scores, gains))
    return _table(rows)


def _table(rows):
    names = list(rows[0][2])
    head = ["corpus", "sentences"]
    for name in names:
        head += [name, "gain"] if rows[0][3] else [name]
    lines = [head]
    for corpus, size, scores, gains in rows:
        cells = [corpus, f"{size:,}"]
        for name in names:
            cells.append(f"{scores[name]:.2f}")
            if gains:
                cells.append(f"{gains[name]:+.2f}")
        lines.append(cells)
    # An empty line separates the table from what is printed above it.
    return ["", *align_columns(lines)]
