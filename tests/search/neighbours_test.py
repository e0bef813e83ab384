"""States of existing translations favour the tokens that followed them."""

import numpy as np
import pytest
from layer_checks import to_numpy

from keras_transformer.search.neighbours import TEMPERATURE
from keras_transformer.search.neighbours import WEIGHT
from keras_transformer.search.neighbours import Neighbours

VOCAB_SIZE = 7


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    keys = random.normal(size=(2, 5, 4)).astype("float32")
    logits = random.normal(size=(2, 3, VOCAB_SIZE)).astype("float32")
    states = random.normal(size=(2, 3, 4)).astype("float32")
    return keys, logits, 0.3 * states + keys[:, :3]


class NeighboursTest:
    def test_probabilities_are_a_sum_over_kernels(self, arrays):
        keys, logits, states = arrays
        ids = np.array([[3, 4, 3, 5, 6], [2, 2, 2, 1, 0]], "int32")
        found = to_numpy(Neighbours(keys, ids).add_to(logits, states))
        for row in range(2):
            real = [i for i in range(5) if ids[row, i]]
            mean = np.mean([np.sum(keys[row, i] ** 2) for i in real])
            scale = TEMPERATURE * max(mean, 1)
            for beam in range(3):
                expected = np.exp(logits[row, beam])
                expected /= expected.sum()
                for i in real:
                    distance = np.sum((states[row, beam] - keys[row, i]) ** 2)
                    expected[ids[row, i]] += WEIGHT * np.exp(-distance / scale)
                actual = np.exp(found[row, beam])
                assert actual == pytest.approx(expected, rel=1e-3)

    def test_states_far_away_change_nothing(self, arrays):
        keys, logits, states = arrays
        ids = np.ones((2, 5), "int32")
        found = to_numpy(Neighbours(keys, ids).add_to(logits, states + 100))
        shifted = found - found[:, :, :1]
        assert shifted == pytest.approx(logits - logits[:, :, :1], abs=1e-4)
