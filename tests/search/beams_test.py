"""`top_k` finds what `ops.top_k` finds."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.search.beams import top_k


class TopKTest:
    @pytest.mark.parametrize("length", [5, 310, 600, 997, 8000])
    @pytest.mark.parametrize("k", [1, 4, 5])
    def test_values_and_indices_equal_those_of_one_operation(self, length, k):
        values = np.random.default_rng(0).normal(size=(3, 2, length))
        values = values.astype("float32")
        best, indices = map(ops.convert_to_numpy, top_k(values, k))
        expected, at = map(ops.convert_to_numpy, ops.top_k(values, k))
        np.testing.assert_array_equal(best, expected)
        np.testing.assert_array_equal(indices, at)

    @pytest.mark.parametrize("length", [3, 5, 600])
    @pytest.mark.parametrize("excluded", [(0,), (2, 0)])
    def test_excluded_indices_count_as_minus_infinity(self, length, excluded):
        values = np.random.default_rng(0).normal(size=(3, length))
        values[:, 0] = 9.0
        lowered = values.copy()
        lowered[:, list(excluded)] = -np.inf
        best, indices = map(
            ops.convert_to_numpy, top_k(values, min(4, length), excluded)
        )
        expected, at = map(
            ops.convert_to_numpy, ops.top_k(lowered, min(4, length))
        )
        np.testing.assert_array_equal(best, expected)
        possible = np.isfinite(best)
        np.testing.assert_array_equal(indices[possible], at[possible])

    @pytest.mark.parametrize("length", [600, 8000])
    def test_the_first_of_equal_values_are_taken(self, length):
        """Logits in bfloat16 are often equal, and so are impossible ones."""
        values = np.random.default_rng(1).integers(-3, 2, (7, length))
        values = np.where(values < -1, -np.inf, values).astype("float32")
        values[0] = -np.inf
        values[1, 5:] = -np.inf
        order = np.argsort(-values, axis=-1, kind="stable")
        best, indices = map(ops.convert_to_numpy, top_k(values, 8))
        np.testing.assert_array_equal(indices, order[:, :8])
        np.testing.assert_array_equal(
            best, np.take_along_axis(values, order[:, :8], axis=-1)
        )
