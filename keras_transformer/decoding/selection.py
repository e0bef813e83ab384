"""Orders samples by how well they agree with one another."""

import collections

import numpy as np

BETA = 2  # weight of recall in chrF, the default of sacreBLEU


def sort_by_agreement(hypotheses):
    """Orders samples of a sentence by how well they agree with the others.

    The mean chrF of a sample, with each of the other samples as the reference,
    estimates the chrF that it can expect. The most probable translation can be
    an odd one out, such as one that is too short. Eikema and Aziz (2020),
    Freitag et al. (2022).

    A text that was drawn several times is one hypothesis, but several
    references. The score of each result is its mean chrF, from 0 to 100.
    """
    numbers = collections.Counter(sample.text for sample in hypotheses)
    first = {}
    for sample in hypotheses:
        first.setdefault(sample.text, sample)
    scores = compute_chrf(list(first))
    # A sample is not a reference for itself, but its duplicates are.
    sums = scores @ np.array([numbers[text] for text in first])
    means = (sums - np.diag(scores)) / (len(hypotheses) - 1)
    ordered = [
        sample._replace(score=mean)
        for sample, mean in zip(first.values(), means.tolist())
    ]
    return sorted(ordered, key=lambda sample: -sample.score)


def compute_chrf(texts):
    """Computes the chrF of each text with each text as its reference.

    The scores equal sacreBLEU's `CHRF().sentence_score`, in a float64 array
    with a row for each hypothesis and a column for each reference. Counting the
    n-grams of a text only once is about twenty times as fast with 32 texts.

    >>> compute_chrf(["a dog", "a dog", "two dogs"]).round()
    array([[100., 100.,  27.],
           [100., 100.,  27.],
           [ 40.,  40., 100.]])
    """
    # Imported here because most decoding does without it.
    from sacrebleu.metrics import CHRF
    from sacrebleu.metrics.helpers import extract_all_char_ngrams

    ngrams = [extract_all_char_ngrams(text, CHRF.CHAR_ORDER) for text in texts]
    precision = recall = num_orders = np.zeros((len(texts), len(texts)))
    for counters in zip(*ngrams):
        matches = _count_matches(counters)
        totals = np.diag(matches)
        # Only orders for which both texts have n-grams count.
        precision = precision + matches / np.maximum(totals, 1)[:, None]
        recall = recall + matches / np.maximum(totals, 1)[None, :]
        num_orders = num_orders + np.minimum.outer(totals, totals).astype(bool)
    precision = precision / np.maximum(num_orders, 1)
    recall = recall / np.maximum(num_orders, 1)
    weighted = BETA**2 * precision + recall
    f_score = (1 + BETA**2) * precision * recall
    return 100 * f_score / np.where(weighted > 0, weighted, 1)


def _count_matches(counters):
    """Counts the n-grams that two texts have in common, for all pairs."""
    # N-grams become numbers, so that a text is a column of counts. Two texts
    # have in common the sum of the smaller counts.
    numbers = {ngram: row for row, ngram in enumerate(set().union(*counters))}
    counts = np.zeros((len(numbers), len(counters)), "int64")
    for column, counter in zip(counts.T, counters):
        rows = [numbers[ngram] for ngram in counter]
        column[rows] = list(counter.values())
    matches = [
        np.minimum(counts[rows], column[rows, None]).sum(axis=0)
        for column, rows in zip(counts.T, counts.T > 0)
    ]
    return np.stack(matches)  # (len(counters), len(counters))
