"""The loss of guided alignment against loops, by value and by gradient."""

import numpy as np
import pytest
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import softmax
from layer_checks import to_numpy

from keras_transformer.losses import alignment_loss

WEIGHTS = softmax(random_array(2, 3, 4, 5)).astype("float32")
LINKS = np.random.default_rng(1).random((2, 4, 5)) < 0.3
LINKS[0, 0] = False
LINKS[1, 3] = True


def by_hand(weights, links):
    total = 0.0
    for row, target, linked in (
        (row, target, np.flatnonzero(links[row, target]))
        for row in range(len(links))
        for target in range(links.shape[1])
    ):
        if len(linked):
            heads = [sum(head[target, linked]) for head in weights[row]]
            total -= np.log(sum(heads) / len(heads))
    return total


class AlignmentLossTest:
    def test_it_is_the_logarithm_of_the_share_of_linked_tokens(self):
        loss = float(to_numpy(alignment_loss(WEIGHTS, LINKS)))
        assert loss == pytest.approx(by_hand(WEIGHTS, LINKS), rel=1e-5)
        assert loss > 1

    def test_the_gradient_is_that_of_the_shares(self):
        shares = (WEIGHTS.mean(axis=1) * LINKS).sum(axis=-1, keepdims=True)
        slopes = (
            -1.0 * LINKS / np.where(shares > 0, shares, 1) / WEIGHTS.shape[1]
        )
        actual = gradient(lambda x: alignment_loss(x, LINKS), WEIGHTS)
        expected = np.repeat(slopes[:, None], WEIGHTS.shape[1], axis=1)
        np.testing.assert_allclose(actual, expected, rtol=1e-4)

    def test_without_links_there_is_none(self):
        loss = alignment_loss(WEIGHTS, np.zeros_like(LINKS))
        assert float(to_numpy(loss)) == 0

    def test_no_attention_at_all_is_finite(self):
        weights = np.zeros_like(WEIGHTS)
        assert np.isfinite(to_numpy(alignment_loss(weights, LINKS)))
