"""Exact match and the error rates of symbols and characters."""

import numpy as np

from keras_transformer.scoring import translations
from keras_transformer.scoring.measures import SYMBOL_MEASURES
from keras_transformer.scoring.report import Report


def make_metric(name):
    """Returns the metric that one of `SYMBOL_MEASURES` names.

    Case counts. Symbols are what spaces separate: phones, or the words of a
    sentence. The number of spaces counts for characters alone.
    """
    # Imported here because the import takes 0.5 s and few callers score.
    from keras_transformer.scoring.share_metric import ShareMetric

    count, best = {
        "exact_match": (_count_match, max),
        "symbol_error_rate": (lambda h, r: _count(h.split(), r.split()), min),
        "character_error_rate": (_count, min),
    }[name]
    return ShareMetric(SYMBOL_MEASURES[name], count, best)


def symbol_score(name, texts, origin=()):
    """Returns the `Score` of outputs, which are the first of the `texts`."""
    title, metric = SYMBOL_MEASURES[name], make_metric(name)
    return translations.make_score(texts, dict(origin), name, title, metric)


def symbol_report(hypotheses, references, more_references=(), origin=()):
    """Returns the `Report` of exact match, symbol and character error rates.

    >>> report = symbol_report(["p a ʒ", "ʃ a"], ["p a ʒ", "ʃ ɑ t"])
    >>> {name: round(value) for name, value in report.scores.items()}
    {'exact_match': 50, 'symbol_error_rate': 33, 'character_error_rate': 30}
    """
    translations.check_texts(hypotheses, references)
    texts = [hypotheses, references, *more_references]
    return Report(
        tuple(symbol_score(name, texts, origin) for name in SYMBOL_MEASURES)
    )


def make_report(measure, hypotheses, references, tokenize):
    """Returns the short `Report` of text with this measure; see `Problem`."""
    if measure not in SYMBOL_MEASURES:
        return translations.bleu_report(hypotheses, references, tokenize)
    return symbol_report(hypotheses, references)


def further_scores(measure, hypotheses, references, tokenize):
    """Returns the `Score` of a measure that no `bleu_report` has, in a list."""
    texts = [hypotheses, references]
    if measure == "ter":
        ter = translations.ter_metric(tokenize)
        return [translations.make_score(texts, {}, measure, "TER", ter)]
    is_of_symbols = measure in SYMBOL_MEASURES
    return [symbol_score(measure, texts)] if is_of_symbols else []


def count_edits(first, second):
    """Returns how many insertions, deletions and changes turn one into another.

    >>> count_edits("kitten", "sitting")
    3
    """
    second = np.array(list(second), str)
    places = np.arange(len(second) + 1)
    row = places
    for symbol in first:
        best = np.minimum(row[:-1] + (second != symbol), row[1:] + 1)
        best = np.append(row[0] + 1, best)
        # The cheapest number of insertions before each place.
        row = np.minimum.accumulate(best - places) + places
    return int(row[-1])


def _count(hypothesis, reference):
    return count_edits(hypothesis, reference), len(reference)


def _count_match(hypothesis, reference):
    return int(hypothesis.split() == reference.split()), 1
