import functools

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import check_config_round_trip
from layer_checks import check_functional_model
from layer_checks import check_mixed_precision
from layer_checks import encoder_layer
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import stack
from layer_checks import to_numpy
from layer_checks import weights_by_path

from keras_transformer.layers import Encoder
from keras_transformer.layers import EncoderLayer
from keras_transformer.masks import causal_mask

X = random_array(2, 5, 8)
REAL = np.arange(5) < np.array([[5], [3]])  # the second row ends in padding
ALLOWED = REAL[:, None, :]
NORMS = ("post", "pre")


def make_layer(**options):
    return EncoderLayer(**{"d_model": 8, "num_heads": 2, "d_ff": 16, **options})


def make_stack(**options):
    options = {"d_model": 8, "num_heads": 2, "d_ff": 16, **options}
    return Encoder(num_layers=2, **options)


# A stack also shows a fault of its layers, so a layer alone is slow.
MAKERS = pytest.mark.parametrize(
    "make", [make_stack, pytest.param(make_layer, marks=pytest.mark.slow)]
)


class EncoderFormulaTest:
    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize(
        "make, formula",
        [
            (make_layer, encoder_layer),
            (make_stack, functools.partial(stack, encoder_layer)),
        ],
        ids=["layer", "stack"],
    )
    def test_it_equals_numpy(self, make, formula, norm):
        layer = make(norm=norm)
        layer(X)
        randomize(layer)
        expected = formula(weights_by_path(layer), 2, norm, X, ALLOWED)
        output = to_numpy(layer(X, REAL))
        np.testing.assert_allclose(output, expected, atol=1e-4)


@MAKERS
class EncoderTest:
    def test_config_round_trip(self, make):
        layer = make(
            d_k=3,
            d_v=5,
            dropout=0.2,
            attention_dropout=0.3,
            activation_dropout=0.4,
            norm="pre",
            neighbourhood_size=3,
        )
        check_config_round_trip(layer, X, REAL)

    @pytest.mark.parametrize(
        "norm", [pytest.param("post", marks=pytest.mark.slow), "pre"]
    )
    def test_in_a_functional_model(self, make, norm, tmp_path):
        layer = make(norm=norm)
        check_functional_model(layer, tmp_path, X, padding_mask=REAL)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_mixed_precision(self, make, precision):
        check_mixed_precision(make, precision, X, REAL)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_padding_changes_no_bit_of_real_positions(self, make, precision):
        layer = make(dtype=precision)
        changed = np.where(REAL[..., None], X, 100 * X[::-1] - 50)
        before, after = to_numpy(layer(X, REAL)), to_numpy(layer(changed, REAL))
        np.testing.assert_array_equal(before[REAL], after[REAL])
        assert not np.array_equal(to_numpy(layer(X)), to_numpy(layer(changed)))

    def test_no_mask_means_that_all_are_real(self, make):
        layer = make()
        np.testing.assert_array_equal(
            to_numpy(layer(X)), to_numpy(layer(X, np.ones_like(REAL)))
        )

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_a_row_of_nothing_but_padding_stays_finite(self, make, precision):
        output = make(dtype=precision)(X, np.zeros_like(REAL))
        assert np.all(np.isfinite(to_numpy(output)))

    def test_dropout_changes_training_only(self, make):
        layer = make(dropout=0.5)
        still = to_numpy(layer(X))
        np.testing.assert_array_equal(to_numpy(layer(X, training=False)), still)
        assert np.abs(to_numpy(layer(X, training=True)) - still).max() > 1e-3

    @pytest.mark.parametrize(
        "option", ["dropout", "attention_dropout", "activation_dropout"]
    )
    def test_each_dropout_can_be_the_only_one(self, make, option):
        layer = make(**{"dropout": 0.0, option: 0.5})
        still = to_numpy(layer(X))
        assert np.abs(to_numpy(layer(X, training=True)) - still).max() > 1e-3

    def test_without_dropout_training_changes_only_rounding(self, make):
        layer = make(dropout=0.0)
        np.testing.assert_allclose(
            to_numpy(layer(X, training=True)), to_numpy(layer(X)), atol=1e-5
        )


@pytest.mark.parametrize(
    "make", [make_layer, pytest.param(make_stack, marks=pytest.mark.slow)]
)
class EncoderGradientTest:
    def test_pure_dtypes_learn_what_float32_learns(self, make):
        dtypes = ("float32", "bfloat16", "float16", "float64")
        losses, outputs = [], []
        for dtype in dtypes:
            layer = make(dropout=0.0, dtype=dtype)
            layer.build(X.shape)
            randomize(layer)
            x = keras.Input(X.shape[1:], dtype=layer.compute_dtype)
            model = keras.Model(x, layer(x))
            model.compile("sgd", loss="mse", run_eagerly=True)
            data = ops.convert_to_numpy(ops.cast(X, layer.compute_dtype))
            losses += model.fit(data, -data, verbose=0).history["loss"]
            outputs.append(to_numpy(model(data)))
        tolerances = (0.0, 0.1, 0.1, 1e-4)
        for dtype, tolerance, loss, output in zip(
            dtypes, tolerances, losses, outputs, strict=True
        ):
            np.testing.assert_allclose(
                loss, losses[0], rtol=tolerance, err_msg=dtype
            )
            np.testing.assert_allclose(
                output, outputs[0], atol=tolerance, err_msg=dtype
            )

    def test_no_gradient_reaches_padding(self, make):
        layer = make()
        layer(X)

        def sum_of_real(x):
            output = layer(x, REAL)
            return ops.sum(ops.square(output * REAL[..., None]) * X)

        slopes = gradient(sum_of_real, X)
        assert np.all(slopes[~REAL] == 0.0)
        assert np.all(np.abs(slopes[REAL]).max(-1) > 0.0)


class EncoderWeightsTest:
    def test_a_stack_needs_a_layer(self):
        with pytest.raises(ValueError, match="at least 1.*num_layers=0"):
            Encoder(num_layers=0, d_model=8, num_heads=2, d_ff=16)

    @pytest.mark.parametrize("d_k,d_v", [(None, None), (3, 5)])
    def test_weight_count(self, d_k, d_v):
        layer = make_layer(d_k=d_k, d_v=d_v)
        layer(X)
        attention = 2 * 8 * 2 * ((d_k or 4) + (d_v or 4))
        expected = attention + (2 * 8 * 16 + 16 + 8) + 2 * (2 * 8)
        assert layer.count_params() == expected

    def test_pre_norm_ends_in_a_normalisation(self):
        post, pre = make_stack(norm="post"), make_stack(norm="pre")
        output = to_numpy(pre(X))
        post(X)
        assert pre.count_params() == post.count_params() + 2 * 8
        np.testing.assert_allclose(output.mean(-1), 0.0, atol=1e-5)
        np.testing.assert_allclose(output.std(-1), 1.0, atol=1e-3)

    def test_returned_weights_are_those_of_every_layer(self):
        output, weights = make_stack()(X, REAL, return_weights=True)
        assert output.shape == X.shape
        assert len(weights) == 2
        for used in map(to_numpy, weights):
            assert used.shape == (2, 2, 5, 5)
            np.testing.assert_allclose(used.sum(-1), 1.0, atol=1e-6)
            assert np.all(used[1, :, :, 3:] == 0.0)

    def test_the_neighbourhood_holds_in_every_layer(self):
        _, weights = make_stack(neighbourhood_size=3)(X, return_weights=True)
        distances = np.abs(np.arange(5)[:, None] - np.arange(5))
        for used in map(to_numpy, weights):
            assert np.all((used > 0) == (distances <= 1))


@MAKERS
class EncoderMaskTest:
    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_causal_layers_do_not_see_the_future(self, make, precision):
        layer = make(causal=True, dtype=precision)
        before = to_numpy(layer(X))
        changed = np.concatenate([X[:, :2], 10 * X[::-1, 2:] - 5], axis=1)
        after = to_numpy(layer(changed))
        np.testing.assert_array_equal(before[:, :2], after[:, :2])
        assert np.all(np.abs(before[:, 2:] - after[:, 2:]).max(-1) > 0.0)

    @pytest.mark.parametrize("mask", [causal_mask(5), np.tri(5, dtype=bool)])
    def test_a_mask_of_two_or_three_axes_acts_as_causal_does(self, make, mask):
        causal, plain = make(causal=True), make()
        expected = to_numpy(causal(X, REAL))
        plain.build(X.shape)
        plain.set_weights(causal.get_weights())
        output = to_numpy(plain(X, REAL, attention_mask=mask))
        np.testing.assert_array_equal(output, expected)

    def test_a_mask_may_differ_between_rows(self, make):
        layer = make()
        allowed = np.stack([np.ones((5, 5), bool), np.tri(5, dtype=bool)])
        output = to_numpy(layer(X, attention_mask=allowed))
        for i in range(2):
            row = layer(X[i : i + 1], attention_mask=allowed[i])
            np.testing.assert_allclose(output[i], to_numpy(row)[0], atol=1e-6)

    def test_config_round_trip_of_a_causal_layer(self, make):
        layer = make(causal=True)
        assert layer.get_config()["causal"]
        check_config_round_trip(layer, X, REAL)

    def test_attention_mask_in_a_functional_model(self, make, tmp_path):
        mask = np.broadcast_to(np.tri(5, dtype=bool), (2, 5, 5))
        check_functional_model(make(), tmp_path, X, attention_mask=mask)
