"""A metric of sacreBLEU, which its paired bootstrap takes."""

import unicodedata

import numpy as np
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.base import Score


class ShareMetric(Metric):
    """Computes a share of all texts, in percent.

    Args:
        title: Name of the metric, for readers.
        count: Function of an output and a reference that returns an amount and
            what it is a part of. The best of several references counts.
        best: `max` if a greater share is better, or else `min`.
    """

    def __init__(self, title, count, best):
        super().__init__()
        self._title = title
        self._count = count
        self._best = best

    def _preprocess_segment(self, text):
        return unicodedata.normalize("NFC", text)  # as vocabularies do

    def _extract_reference_info(self, references):
        return {"references": references}

    def _compute_segment_statistics(self, hypothesis, info):
        counts = [self._count(hypothesis, each) for each in info["references"]]
        return self._best(counts, key=lambda count: count[0] / (count[1] or 1))

    def _aggregate_and_compute(self, counts):
        return self._compute_score_from_stats(np.sum(counts, axis=0))

    def _compute_score_from_stats(self, counts):
        amount, whole = map(float, counts)
        return Score(self._title, 100 * amount / (whole or 1))
