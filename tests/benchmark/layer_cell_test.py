"""The layers that measure.py --mode=layers measures."""

import numpy as np
import pytest
from measurements import layer_cell

WIDTH = 2 * layer_cell.HEAD_WIDTH


class BareAttentionTest:
    def test_it_is_attention_without_any_matrix(self):
        x = np.random.default_rng(0).normal(size=(1, 5, WIDTH))
        bare = layer_cell._make("bare_self_attention", WIDTH, 0)
        heads = []
        for part in np.split(x[0], 2, axis=-1):
            scores = part @ part.T / layer_cell.HEAD_WIDTH**0.5
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            heads.append(weights / weights.sum(axis=-1, keepdims=True) @ part)
        expected = np.concatenate(heads, axis=-1)[None]
        found = np.asarray(bare(x.astype("float32")))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("kind", ["", "bare_"])
    def test_restricted_attention_of_wide_reach_is_the_same(self, kind):
        x = np.random.default_rng(0).normal(size=(1, 5, WIDTH))
        full = layer_cell._make(f"{kind}self_attention", WIDTH, 0)
        restricted = layer_cell._make(
            f"{kind}restricted_self_attention", WIDTH, 11
        )
        x = x.astype("float32")
        expected = np.asarray(full(x))
        restricted(x)
        restricted.set_weights(full.get_weights())
        np.testing.assert_allclose(
            np.asarray(restricted(x)), expected, rtol=1e-4, atol=1e-5
        )
