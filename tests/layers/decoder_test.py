import functools
import itertools

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import check_config_round_trip
from layer_checks import check_functional_model
from layer_checks import check_mixed_precision
from layer_checks import decoder_layer
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import stack
from layer_checks import to_numpy
from layer_checks import weights_by_path

from keras_transformer.layers import Decoder
from keras_transformer.layers import DecoderLayer

X = random_array(2, 4, 8)
ENCODED = random_array(2, 5, 8, seed=1)
REAL = np.arange(5) < np.array([[5], [3]])  # the second row ends in padding
ALLOWED = REAL[:, None, :]
NORMS = ("post", "pre")


def make_layer(**options):
    return DecoderLayer(**{"d_model": 8, "num_heads": 2, "d_ff": 16, **options})


def make_stack(**options):
    options = {"d_model": 8, "num_heads": 2, "d_ff": 16, **options}
    return Decoder(num_layers=2, **options)


# A stack also shows a fault of its layers, so a layer alone is slow.
MAKERS = pytest.mark.parametrize(
    "make", [make_stack, pytest.param(make_layer, marks=pytest.mark.slow)]
)


class DecoderFormulaTest:
    @pytest.mark.parametrize("norm", NORMS)
    @pytest.mark.parametrize(
        "make, formula",
        [
            (make_layer, decoder_layer),
            (make_stack, functools.partial(stack, decoder_layer)),
        ],
        ids=["layer", "stack"],
    )
    def test_it_equals_numpy(self, make, formula, norm):
        layer = make(norm=norm)
        layer(X, ENCODED)
        randomize(layer)
        expected = formula(weights_by_path(layer), 2, norm, X, ENCODED, ALLOWED)
        output = to_numpy(layer(X, ENCODED, REAL))
        np.testing.assert_allclose(output, expected, atol=1e-4)


@MAKERS
class DecoderTest:
    def test_config_round_trip(self, make):
        layer = make(
            d_k=3,
            d_v=5,
            dropout=0.2,
            attention_dropout=0.3,
            activation_dropout=0.4,
            norm="pre",
            neighbourhood_size=3,
            initializer="tensor2tensor",
        )
        check_config_round_trip(layer, X, ENCODED, REAL)

    @pytest.mark.parametrize(
        "norm", [pytest.param("post", marks=pytest.mark.slow), "pre"]
    )
    def test_in_a_functional_model(self, make, norm, tmp_path):
        layer = make(norm=norm)
        check_functional_model(layer, tmp_path, X, ENCODED, padding_mask=REAL)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_mixed_precision(self, make, precision):
        check_mixed_precision(make, precision, X, ENCODED, REAL)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_the_future_changes_no_bit_of_the_past(self, make, precision):
        layer = make(dtype=precision)
        before = to_numpy(layer(X, ENCODED))
        for i in range(1, 4):
            changed = np.concatenate([X[:, :i], 10 * X[::-1, i:] - 5], 1)
            after = to_numpy(layer(changed, ENCODED))
            np.testing.assert_array_equal(before[:, :i], after[:, :i])
            assert np.all(np.abs(before[:, i:] - after[:, i:]).max(-1) > 0.0)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_padding_of_the_input_changes_no_bit(self, make, precision):
        layer = make(dtype=precision)
        changed = np.where(REAL[..., None], ENCODED, 100 * ENCODED[::-1] - 50)
        before = to_numpy(layer(X, ENCODED, REAL))
        after = to_numpy(layer(X, changed, REAL))
        np.testing.assert_array_equal(before, after)

    def test_no_mask_means_that_all_are_real(self, make):
        layer = make()
        np.testing.assert_array_equal(
            to_numpy(layer(X, ENCODED)),
            to_numpy(layer(X, ENCODED, np.ones_like(REAL))),
        )

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_an_input_of_nothing_but_padding_stays_finite(
        self, make, precision
    ):
        output = make(dtype=precision)(X, ENCODED, np.zeros_like(REAL))
        assert np.all(np.isfinite(to_numpy(output)))

    @pytest.mark.parametrize(
        "option", ["dropout", "attention_dropout", "activation_dropout"]
    )
    def test_each_dropout_changes_training_only(self, make, option):
        layer = make(**{"dropout": 0.0, option: 0.5})
        still = to_numpy(layer(X, ENCODED))
        trained = to_numpy(layer(X, ENCODED, training=True))
        assert np.abs(trained - still).max() > 1e-3
        again = to_numpy(layer(X, ENCODED, training=False))
        np.testing.assert_array_equal(again, still)

    def test_without_dropout_training_changes_only_rounding(self, make):
        layer = make(dropout=0.0)
        np.testing.assert_allclose(
            to_numpy(layer(X, ENCODED, training=True)),
            to_numpy(layer(X, ENCODED)),
            atol=1e-5,
        )

    @pytest.mark.parametrize("num_axes", [2, 3])
    def test_an_attention_mask_restricts_self_attention(self, make, num_axes):
        band = np.tri(4, k=0) - np.tri(4, k=-2) > 0
        mask = band if num_axes == 2 else np.stack([band, band])
        near, plain = make(neighbourhood_size=3), make()
        expected = to_numpy(near(X, ENCODED, REAL))
        plain.build(X.shape)
        plain.set_weights(near.get_weights())
        output = to_numpy(plain(X, ENCODED, REAL, attention_mask=mask))
        np.testing.assert_allclose(output, expected, atol=1e-5)

    def test_segments_of_x_or_encoded_alone_are_an_error(self, make):
        with pytest.raises(ValueError, match="and `encoded_segments`"):
            make()(X, ENCODED, segments=np.zeros((2, 4), "int32"))
        with pytest.raises(ValueError, match="and `encoded_segments`"):
            make()(X, ENCODED, encoded_segments=np.zeros((2, 5), "int32"))

    @pytest.mark.parametrize("widths", [(6, 8), (8, 6), (6, 6)])
    def test_another_width_is_an_error_that_names_both(self, make, widths):
        of_x, of_encoded = widths
        with pytest.raises(ValueError, match="width 6, d_model=8"):
            make()(X[..., :of_x], ENCODED[..., :of_encoded])

    def test_an_attention_mask_does_not_open_the_future(self, make):
        layer = make()
        everywhere = np.ones((4, 4), bool)
        np.testing.assert_array_equal(
            to_numpy(layer(X, ENCODED, attention_mask=everywhere)),
            to_numpy(layer(X, ENCODED)),
        )


@pytest.mark.parametrize("make", [make_layer, make_stack])
class DecoderGradientTest:
    def test_no_gradient_reaches_the_future(self, make):
        layer = make()
        layer(X, ENCODED)

        def sum_of_first_two(x):
            output = layer(x, ENCODED)[:, :2]
            return ops.sum(ops.square(output) * X[:, :2])

        slopes = gradient(sum_of_first_two, X)
        assert np.all(slopes[:, 2:] == 0.0)
        assert np.all(np.abs(slopes[:, :2]).max(-1) > 0.0)


class DecoderWeightsTest:
    @pytest.mark.parametrize("d_k,d_v", [(None, None), (3, 5)])
    def test_weight_count(self, d_k, d_v):
        layer = make_layer(d_k=d_k, d_v=d_v)
        layer(X, ENCODED)
        attention = 2 * 8 * 2 * ((d_k or 4) + (d_v or 4))
        expected = 2 * attention + (2 * 8 * 16 + 16 + 8) + 3 * (2 * 8)
        assert layer.count_params() == expected

    def test_pre_norm_ends_in_a_normalisation(self):
        output = to_numpy(make_stack(norm="pre")(X, ENCODED))
        np.testing.assert_allclose(output.mean(-1), 0.0, atol=1e-5)
        np.testing.assert_allclose(output.std(-1), 1.0, atol=1e-3)

    def test_returned_weights_are_those_of_every_layer(self):
        layer = make_stack()
        _, own, cross = layer(X, ENCODED, REAL, return_weights=True)
        assert len(own) == len(cross) == 2
        for used in map(to_numpy, own):
            assert used.shape == (2, 2, 4, 4)
            assert np.all((used > 0) == np.tri(4))
        for used in map(to_numpy, cross):
            assert used.shape == (2, 2, 4, 5)
            np.testing.assert_allclose(used.sum(-1), 1.0, atol=1e-6)
            assert np.all(used[1, :, :, 3:] == 0.0)

    def test_the_neighbourhood_restricts_self_attention_only(self):
        layer = make_stack(neighbourhood_size=3)
        _, own, cross = layer(X, ENCODED, return_weights=True)
        for used in map(to_numpy, own):
            assert np.all((used > 0) == np.tri(4) - np.tri(4, k=-2))
        for used in map(to_numpy, cross):
            assert np.all(used > 0)


# Both kinds of cache, both norms and each size; the others are slow.
QUICK = {
    ("post", 0, True),
    ("pre", 0, False),
    ("pre", 1, True),
    ("post", 1, False),
    ("post", 3, False),
    ("pre", 4, True),
}


class DecoderStepTest:
    @pytest.mark.parametrize(
        "norm, size, growing",
        [
            pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
            for case in itertools.product(NORMS, [0, 1, 3, 4], [True, False])
        ],
    )
    def test_steps_of_beams_that_fork_equal_the_call(self, norm, size, growing):
        """Each beam attends to its own past and its sentence's input."""
        layer = make_stack(norm=norm, neighbourhood_size=size, d_k=3, d_v=5)
        layer.build((None, None, 8))
        randomize(layer)
        steps = random_array(5, 2, 3, 8, seed=2)
        past = np.zeros((2, 3, 0, 8), "float32")
        cache = layer.init_cache(ENCODED, REAL, 3, None if growing else 6)
        generator = np.random.default_rng(3)
        for i, x in enumerate(steps):
            output, cache = layer.step(x, cache, i)
            past = np.concatenate([past, x[:, :, None]], axis=2)
            # Each beam is a sentence of its own in the call.
            expected = layer(
                past.reshape(6, i + 1, 8),
                ENCODED.repeat(3, 0),
                REAL.repeat(3, 0),
            )
            np.testing.assert_allclose(
                to_numpy(output),
                to_numpy(expected)[:, -1].reshape(2, 3, 8),
                atol=1e-5,
            )
            beams = generator.integers(3, size=(2, 3))
            cache = cache.reorder(ops.convert_to_tensor(beams))
            past = np.take_along_axis(past, beams[:, :, None, None], axis=1)
        num_kept = min(size // 2 + 1, 5) if size else 5 if growing else 6
        assert cache.ancestors.entries.shape[2] == num_kept
        for slots in keras.tree.flatten(cache.past):
            assert slots.shape[2] == num_kept * 3
