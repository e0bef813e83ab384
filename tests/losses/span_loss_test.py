"""The loss of labelled spans against loops, by value and by gradient."""

import math

import numpy as np
import pytest
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import to_numpy

from keras_transformer.losses import span_loss

LENGTHS = [4, 2]
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
LOGITS = 3 * random_array(2, 4, 4, 3)
SPANS = np.array(
    [
        [[0, 3, 0], [0, 3, 2], [1, 2, 1], [3, 3, 0]],
        [[0, 1, 2], [1, 1, 1], [-1, -1, -1], [-1, -1, -1]],
    ],
    "int32",
)
LABELLED = [{tuple(s) for s in row.tolist() if s[2] >= 0} for row in SPANS]


def real_labels():
    """Yields row, first and last position and label of what counts."""
    for row, first, last, label in np.ndindex(LOGITS.shape):
        if first <= last < LENGTHS[row]:
            yield row, first, last, label


def by_hand(logits):
    total = 0.0
    for place in real_labels():
        probability = 1 / (1 + math.exp(-logits[place]))
        is_there = place[1:] in LABELLED[place[0]]
        total -= math.log(probability if is_there else 1 - probability)
    return total


def loss_of(logits, spans=SPANS, mask=MASK):
    return float(to_numpy(span_loss(logits, spans, mask)))


class SpanLossTest:
    def test_it_is_the_cross_entropy_of_every_label_of_every_span(self):
        assert loss_of(LOGITS) == pytest.approx(by_hand(LOGITS), rel=1e-5)

    def test_the_mask_may_be_numbers_or_lists(self):
        for mask in (5 * MASK.astype("int32"), MASK.tolist()):
            assert loss_of(LOGITS, mask=mask) == loss_of(LOGITS)

    def test_many_labels_in_float16_are_a_finite_sum(self):
        logits = np.full((1, 1, 1, 4096), 20, "float16")
        no_spans = np.full((1, 1, 3), -1)
        total = loss_of(logits, no_spans, np.ones((1, 1), bool))
        assert total == pytest.approx(20 * 4096)

    def test_padding_and_spans_that_end_too_early_add_nothing(self):
        others = np.full_like(LOGITS, 9.0)
        for place in real_labels():
            others[place] = LOGITS[place]
        assert loss_of(others) == pytest.approx(loss_of(LOGITS), rel=1e-6)

    def test_more_padding_changes_nothing(self):
        widths = [(0, 0), (0, 2), (0, 2), (0, 0)]
        logits = np.pad(LOGITS, widths, constant_values=5.0)
        mask = np.pad(MASK, [(0, 0), (0, 2)])
        assert loss_of(logits, mask=mask) == pytest.approx(
            loss_of(LOGITS), rel=1e-6
        )

    def test_places_with_a_negative_label_add_nothing(self):
        widths = [(0, 0), (0, 3), (0, 0)]
        wide = np.pad(SPANS, widths, constant_values=-1)
        assert loss_of(LOGITS, wide) == pytest.approx(loss_of(LOGITS), rel=1e-6)
        for first, last in ((0, 0), (3, 3)):
            wide[:, -1] = first, last, -1
            assert loss_of(LOGITS, wide) == pytest.approx(
                loss_of(LOGITS), rel=1e-6
            )

    def test_the_order_of_spans_does_not_matter(self):
        assert loss_of(LOGITS, SPANS[:, ::-1]) == pytest.approx(
            loss_of(LOGITS), rel=1e-6
        )

    def test_rows_add_up(self):
        rows = [
            loss_of(LOGITS[i : i + 1], SPANS[i : i + 1], MASK[i : i + 1])
            for i in range(2)
        ]
        assert sum(rows) == pytest.approx(loss_of(LOGITS), rel=1e-5)

    def test_an_empty_row_adds_nothing(self):
        # As in the last part of a batch that does not divide evenly.
        nothing = np.full_like(SPANS, -1)
        assert loss_of(LOGITS, nothing, np.zeros_like(MASK)) == 0

    def test_the_gradient_is_the_error_of_each_probability(self):
        actual = gradient(lambda x: span_loss(x, SPANS, MASK), LOGITS)
        expected = np.zeros_like(LOGITS)
        for place in real_labels():
            is_there = place[1:] in LABELLED[place[0]]
            expected[place] = 1 / (1 + math.exp(-LOGITS[place])) - is_there
        np.testing.assert_allclose(actual, expected, atol=1e-5)
        assert (actual < 0).sum() == sum(map(len, LABELLED))

    def test_certainty_is_free_and_finite_if_it_is_wrong(self):
        logits = np.full_like(LOGITS, -200.0)
        for row, spans in enumerate(LABELLED):
            for span in spans:
                logits[(row, *span)] = 200.0
        assert loss_of(logits) == pytest.approx(0, abs=1e-4)
        num_wrong = len(list(real_labels()))
        assert loss_of(-logits) == pytest.approx(200 * num_wrong, rel=1e-5)
