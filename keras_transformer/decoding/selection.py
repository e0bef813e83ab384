"""Chooses among hypotheses: by agreement, or by reranking."""

import collections
import operator
import typing
from collections.abc import Sequence

import numpy as np

from keras_transformer.decoding.engines import Hypothesis
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID

if typing.TYPE_CHECKING:
    from keras_transformer.decoding.translator import Translator

BETA = 2  # weight of recall in chrF, the default of sacreBLEU


def sort_by_agreement(hypotheses):
    """Orders samples of a sentence by how well they agree with the others.

    The mean chrF of a sample, with each of the other samples as the reference,
    estimates the chrF that it can expect if the model is right about what a
    human would write. The most probable translation can be an odd one out, such
    as one that is too short. Eikema and Aziz (2020), Freitag et al. (2022).

    A text that was drawn several times is one hypothesis, but several
    references. Among equals the earlier sample comes first. The score of each
    result is its mean chrF, from 0 to 100.
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

    The scores are those of sacreBLEU's `CHRF().sentence_score`, in a float64
    array whose rows are hypotheses and whose columns are references. Counting
    the n-grams of a text only once is about twenty times as fast with 32 texts.

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
    # The result has the shape `(len(counters), len(counters))`. Its diagonal
    # holds the number of n-grams of each text.

    # N-grams become numbers, so that a text is a column of counts. Two texts
    # have in common the sum of the smaller counts.
    numbers = {ngram: row for row, ngram in enumerate(set().union(*counters))}
    counts = np.zeros((len(numbers), len(counters)), "int64")
    for column, counter in zip(counts.T, counters):
        rows = [numbers[ngram] for ngram in counter]
        column[rows] = list(counter.values())
    matches = []
    for column in counts.T:
        rows = column > 0
        both = np.minimum(counts[rows], column[rows, None])
        matches.append(both.sum(axis=0))
    return np.stack(matches)


class Reranker:
    """Reorders the hypotheses of a translator with a reverse model.

    A translation y of a text x that leaves out a part of x can be probable, but
    x is then improbable as a translation of y. The score of y is therefore

        log p(y | x) / penalty(y) + weight * log p(x | y) / penalty(x)

    with the length penalty of the search. All translations of x share
    `penalty(x)`, which only makes one weight suit texts of all lengths. This is
    the noisy channel reranking of Yee et al. (2019) and Ng et al. (2019), but
    without their language model.

    A beam search reorders all hypotheses of its beam, so a wider beam gives
    more to choose from. With sampling, all samples that are drawn are
    reordered. The two models need no common vocabulary, because they exchange
    text. Hypotheses that are too long for the reverse model are left out. If
    all of them are, they stay as the translator found them.

    Args:
        reverse: A `Translator` from a translator's targets to its inputs.
        weight: Float, how much the reverse model counts. Defaults to 1.

    Example:

        reranker = Reranker(load("runs/deen"), weight=0.5)
        load("runs/ende", reranker=reranker)(["A dog runs."], beam_size=16)
    """

    def __init__(self, reverse: "Translator", weight: float = 1.0):
        self.reverse = reverse
        self.weight = weight

    def reorder(
        self,
        texts: Sequence[str],
        hypotheses: list[list[Hypothesis]],
        options: DecodeOptions,
    ) -> list[list[Hypothesis]]:
        """Returns the hypotheses of a window of texts in their new order.

        The whole window is scored together, since large batches are faster.
        """
        numbered = [
            (number, one)
            for number, each in enumerate(hypotheses)
            for one in each
            if texts[number].strip()
        ]
        lengths = self.reverse.count_tokens([one.text for _, one in numbered])
        candidates = [
            pair
            for pair, length in zip(numbered, lengths)
            if length <= self.reverse.max_tokens
        ]
        scores = self._score_texts(
            [texts[number] for number, _ in candidates],
            [one.text for _, one in candidates],
            options.alpha,
        )
        rescored: list[list[Hypothesis]] = [[] for _ in texts]
        for (number, one), score in zip(candidates, scores):
            both = one.score + self.weight * score
            rescored[number].append(one._replace(score=both))
        reordered = []
        for original, each in zip(hypotheses, rescored):
            each.sort(key=operator.attrgetter("score"), reverse=True)
            reordered.append((each or original)[: options.num_hypotheses])
        return reordered

    def add_scores(
        self,
        texts: Sequence[str],
        translations: Sequence[str],
        scores: list[float],
        alpha: float,
    ) -> list[float]:
        """Adds the scores of the reverse model; a blank text gets 0."""
        reverse_scores = self._score_texts(texts, translations, alpha)
        return [
            score + self.weight * reverse_score if text.strip() else 0.0
            for text, score, reverse_score in zip(texts, scores, reverse_scores)
        ]

    def _score_texts(self, texts, translations, alpha):
        """Scores the texts as translations of their translations."""
        # Even an empty translation has to explain its text, by the end alone.
        sources = self.reverse.encode(translations)
        sources = [ids or [END_ID] for ids in sources]
        targets = self.reverse.encode_targets(texts)
        return self.reverse.score_ids(sources, targets, alpha)
