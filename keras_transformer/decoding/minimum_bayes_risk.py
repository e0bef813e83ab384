"""Minimum Bayes risk: what agrees best with the samples of a model."""

import collections

import numpy as np

from keras_transformer.decoding.hypothesis import Hypothesis
from keras_transformer.trees.consensus import estimate_f1
from keras_transformer.trees.consensus import find_consensus
from keras_transformer.trees.tree import parse_tree

BETA = 2  # weight of recall in chrF, the default of sacreBLEU


def chosen(hypotheses, options):
    """Returns the hypotheses of a sentence that decoding options ask for.

    Args:
        hypotheses: List of `Hypothesis` that a search found with
            `options.to_search_options()`.
        options: A `DecodeOptions`.

    Returns:
        The list itself, or with `mbr_samples` the best by agreement.
    """
    if not options.mbr_samples:
        return hypotheses
    return by_agreement(hypotheses)[: options.num_hypotheses]


def by_agreement(hypotheses):
    """Orders samples of a sentence by how well they agree with the others.

    The mean chrF of a sample, with each of the other samples as the reference,
    estimates the chrF that it can expect if the model is right about what a
    human would write. The most probable translation can be an odd one out, such
    as one that is too short. Eikema and Aziz (2020), Freitag et al. (2022).

    A text that was drawn several times is one hypothesis, but counts as often
    as a reference. Among equals the earlier sample comes first.

    Args:
        hypotheses: List of two or more `Hypothesis`, the samples.

    Returns:
        List of `Hypothesis` with different texts, best first. Their scores are
        the mean chrF, from 0 to 100.
    """
    numbers = collections.Counter(sample.text for sample in hypotheses)
    first = {}
    for sample in hypotheses:
        first.setdefault(sample.text, sample)
    scores = sentence_chrf(list(first))
    # A sample is no reference of its own, but its duplicates are.
    of_others = scores @ np.array([numbers[text] for text in first])
    means = (of_others - np.diag(scores)) / (len(hypotheses) - 1)
    ordered = [
        sample._replace(score=mean)
        for sample, mean in zip(first.values(), means.tolist())
    ]
    return sorted(ordered, key=lambda sample: -sample.score)


def joined(hypotheses):
    """Joins samples of a sentence's tree into their consensus.

    Args:
        hypotheses: Non-empty list of `Hypothesis` whose texts are trees over
            the same words, the samples.

    Returns:
        A `Hypothesis` without ids. Its score is the mean F1 of its tree with
        each sample as the gold tree, from 0 to 100.
    """
    trees = [parse_tree(sample.text) for sample in hypotheses]
    weights = [1] * len(trees)
    tree = find_consensus(trees, weights)
    return Hypothesis(str(tree), estimate_f1(tree, trees, weights))


def sentence_chrf(texts):
    """Computes the chrF of each text with each text as its reference.

    The scores are those of sacreBLEU's `CHRF().sentence_score`. The n-grams of
    a text are counted once, not once for each pair, which is about twenty times
    as fast with 32 texts.

    Args:
        texts: List of str.

    Returns:
        Float64 array of shape `(len(texts), len(texts))`: rows are hypotheses,
        columns are references.

    Example:

    >>> sentence_chrf(["a dog", "a dog", "two dogs"]).round()
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
        matches = _matches(counters)
        totals = np.diag(matches)
        # Only orders of which both texts have n-grams count.
        precision = precision + matches / np.maximum(totals, 1)[:, None]
        recall = recall + matches / np.maximum(totals, 1)[None, :]
        num_orders = num_orders + np.minimum.outer(totals, totals).astype(bool)
    precision = precision / np.maximum(num_orders, 1)
    recall = recall / np.maximum(num_orders, 1)
    weighted = BETA**2 * precision + recall
    f_score = (1 + BETA**2) * precision * recall
    return 100 * f_score / np.where(weighted > 0, weighted, 1)


def _matches(counters):
    """Counts the n-grams that two texts have in common, for all pairs.

    Args:
        counters: List with the `Counter` of each text.

    Returns:
        Integer array of shape `(len(counters), len(counters))`. Its diagonal
        holds the number of n-grams of each text.
    """
    numbers = {}
    for counter in counters:
        for ngram in counter:
            numbers.setdefault(ngram, len(numbers))
    counts = np.zeros((len(numbers), len(counters)), "int64")
    own = []  # the rows of each text's n-grams
    for column, counter in enumerate(counters):
        own.append(np.array([numbers[ngram] for ngram in counter], "int64"))
        counts[own[-1], column] = list(counter.values())
    return np.stack(
        [
            np.minimum(counts[rows], counts[rows, column, None]).sum(axis=0)
            for column, rows in enumerate(own)
        ]
    )
