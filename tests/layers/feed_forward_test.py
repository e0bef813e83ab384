import numpy as np
import pytest
from layer_checks import PRECISIONS
from layer_checks import check_config_round_trip
from layer_checks import check_dropout
from layer_checks import check_functional_model
from layer_checks import check_mixed_precision
from layer_checks import feed_forward
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import to_numpy
from layer_checks import weights_by_path

from keras_transformer.layers import FeedForward

X = random_array(2, 3, 8)


def make(**options):
    return FeedForward(**{"d_model": 8, "d_ff": 32, **options})


class FeedForwardTest:
    def test_equals_equation_2(self):
        layer = make()
        layer(X)
        randomize(layer)
        expected = feed_forward(weights_by_path(layer), X)
        np.testing.assert_allclose(to_numpy(layer(X)), expected, atol=1e-5)

    @pytest.mark.parametrize("activation", ["gelu", "silu"])
    def test_equals_numpy_with_another_activation(self, activation):
        layer = make(activation=activation)
        layer(X)
        randomize(layer)
        expected = feed_forward(weights_by_path(layer), X, activation)
        np.testing.assert_allclose(to_numpy(layer(X)), expected, atol=1e-5)
        check_config_round_trip(layer, X)

    def test_an_unknown_activation_is_an_error_with_the_choices(self):
        with pytest.raises(ValueError, match="relu, gelu, silu. Rec.*'tanh'"):
            make(activation="tanh")

    def test_shape_and_weight_count(self):
        layer = make()
        assert layer(X).shape == X.shape
        assert layer.count_params() == 8 * 32 + 32 + 32 * 8 + 8

    def test_another_width_is_an_error_that_names_both(self):
        with pytest.raises(ValueError, match="width 6, d_model=8"):
            make()(X[..., :6])

    def test_positions_do_not_see_each_other(self):
        layer = make()
        changed = np.concatenate([X[:, :1], X[::-1, 1:]], axis=1)
        before, after = to_numpy(layer(X)), to_numpy(layer(changed))
        np.testing.assert_array_equal(before[:, 0], after[:, 0])
        assert not np.array_equal(before, after)

    def test_dropout_changes_training_only(self):
        check_dropout(make(activation_dropout=0.5), make(), X)

    def test_config_round_trip(self):
        layer = make(activation_dropout=0.2, initializer="tensor2tensor")
        check_config_round_trip(layer, X)

    def test_in_a_functional_model(self, tmp_path):
        check_functional_model(make(), tmp_path, X)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_mixed_precision(self, precision):
        check_mixed_precision(make, precision, X)
