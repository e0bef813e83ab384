import numpy as np
import pytest
from layer_checks import PRECISIONS
from layer_checks import layer_norm
from layer_checks import part
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import to_numpy
from layer_checks import weights_by_path

from keras_transformer.layers import Residual

X = random_array(2, 3, 8)


def negate_and_shift(x):
    return 0.5 - 2.0 * x


def make(**options):
    layer = Residual(**options)
    layer.build(X.shape)
    randomize(layer)
    return layer, part(weights_by_path(layer), "norm")


class ResidualTest:
    def test_post_norm_is_the_papers_formula(self):
        layer, norm = make(norm="post")
        expected = layer_norm(norm, X + negate_and_shift(X))
        output = to_numpy(layer(X, sublayer=negate_and_shift))
        np.testing.assert_allclose(output, expected, atol=1e-5)

    def test_pre_norm_normalises_the_sublayers_input_only(self):
        layer, norm = make(norm="pre")
        expected = X + negate_and_shift(layer_norm(norm, X))
        output = to_numpy(layer(X, sublayer=negate_and_shift))
        np.testing.assert_allclose(output, expected, atol=1e-5)

    @pytest.mark.parametrize("training", [False, True])
    def test_the_epsilon_is_added_to_the_variance(self, training):
        layer, norm = make(norm_epsilon=0.25, dropout=0.0)
        x = X - X.mean(-1, keepdims=True)
        normed = x / np.sqrt((x**2).mean(-1, keepdims=True) + 0.25)
        expected = normed * norm["gamma"] + norm["beta"]
        output = layer(x, sublayer=lambda x: 0.0 * x, training=training)
        np.testing.assert_allclose(to_numpy(output), expected, atol=1e-5)

    def test_dropout_falls_on_the_sublayers_output_in_training(self):
        layer, _ = make(norm="pre", dropout=0.5)

        def ones(x):
            return 0.0 * x + 1.0

        added = to_numpy(layer(X, sublayer=ones, training=True)) - X
        kept = added > 0.5
        assert 0 < kept.sum() < kept.size
        np.testing.assert_allclose(added[kept], 2.0, atol=1e-5)
        np.testing.assert_allclose(added[~kept], 0.0, atol=1e-5)
        still = to_numpy(layer(X, sublayer=ones)) - X
        np.testing.assert_allclose(still, 1.0, atol=1e-5)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_normalisation_is_computed_in_float32(self, precision):
        far = X + 200.0  # in low precision the variance would be lost
        layer = Residual(dtype=precision)
        output = to_numpy(layer(far, sublayer=lambda x: 0.0 * x))
        rounded = to_numpy(far.astype(layer.compute_dtype))
        identity = {"gamma": 1.0, "beta": 0.0}
        expected = layer_norm(identity, rounded)
        np.testing.assert_allclose(output, expected, atol=0.02)

    def test_unknown_norm_is_an_error_with_the_choices(self):
        with pytest.raises(ValueError, match="post, pre.*norm='mid'"):
            Residual(norm="mid")

    def test_config_round_trip(self):
        layer = Residual(
            dropout=0.3, norm="pre", norm_epsilon=1e-5, name="around"
        )
        config = layer.get_config()
        assert Residual.from_config(config).get_config() == config
