import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import check_config_round_trip
from layer_checks import check_functional_model
from layer_checks import check_mixed_precision
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import to_numpy

from keras_transformer.formats.ctranslate2.spec import make_sinusoids
from keras_transformer.layers import LearnedPositionalEncoding
from keras_transformer.layers import SinusoidalPositionalEncoding

X = random_array(2, 5, 8)


def make_sinusoidal(**options):
    return SinusoidalPositionalEncoding(**options)


def make_learned(**options):
    return LearnedPositionalEncoding(
        **{"max_length": 7, "d_model": 8, **options}
    )


def encoding_of(layer, length, d_model=8, **options):
    zeros = np.zeros((1, length, d_model), "float32")
    return to_numpy(layer(zeros, **options))[0]


@pytest.mark.parametrize("make", [make_sinusoidal, make_learned])
class PositionalEncodingTest:
    def test_adds_the_same_to_every_row(self, make):
        layer = make()
        expected = X + encoding_of(layer, 5)
        np.testing.assert_allclose(to_numpy(layer(X)), expected, atol=1e-6)

    def test_start_shifts_the_positions(self, make):
        layer = make()
        whole = encoding_of(layer, 7)
        for start in range(6):
            shifted = encoding_of(layer, 2, start=start)
            np.testing.assert_array_equal(shifted, whole[start : start + 2])

    def test_config_round_trip(self, make):
        check_config_round_trip(make(), X)

    def test_in_a_functional_model(self, make, tmp_path):
        check_functional_model(make(), tmp_path, X)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_mixed_precision(self, make, precision):
        check_mixed_precision(make, precision, X)


class SinusoidalPositionalEncodingTest:
    @pytest.mark.parametrize("length,d_model", [(5, 8), (300, 6), (3, 2)])
    def test_equals_the_papers_formula(self, length, d_model):
        encoding = encoding_of(make_sinusoidal(), length, d_model)
        expected = np.zeros((length, d_model))
        for position in range(length):
            for i in range(d_model // 2):
                angle = position / 10000 ** (2 * i / d_model)
                expected[position, 2 * i] = np.sin(angle)
                expected[position, 2 * i + 1] = np.cos(angle)
        np.testing.assert_allclose(encoding, expected, atol=1e-4)

    @pytest.mark.parametrize("length,d_model", [(5, 8), (300, 6), (3, 2)])
    def test_equals_the_timing_signal_of_tensor2tensor(self, length, d_model):
        layer = make_sinusoidal(tensor2tensor=True)
        half = d_model // 2
        increment = np.log(10000) / max(half - 1, 1)
        angles = np.outer(
            np.arange(length), np.exp(-increment * np.arange(half))
        )
        expected = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        encoding = encoding_of(layer, length, d_model)
        np.testing.assert_allclose(encoding, expected, atol=1e-4)
        exported = make_sinusoids(length, d_model, tensor2tensor=True)
        np.testing.assert_allclose(exported, expected, atol=1e-4)
        check_config_round_trip(layer, X)

    def test_far_positions_are_told_apart_in_low_precision(self):
        layer = make_sinusoidal(dtype="mixed_bfloat16")
        encoding = encoding_of(layer, 1024)
        assert len(np.unique(encoding[256:], axis=0)) > 700

    def test_has_no_weights(self):
        layer = make_sinusoidal()
        layer(X)
        assert layer.count_params() == 0

    def test_odd_width_is_an_error(self):
        with pytest.raises(ValueError, match="d_model=7"):
            make_sinusoidal()(X[..., :7])


class LearnedPositionalEncodingTest:
    def test_adds_one_vector_per_position(self):
        layer = make_learned()
        layer(X)
        randomize(layer)
        assert layer.count_params() == 7 * 8
        np.testing.assert_array_equal(
            encoding_of(layer, 7), to_numpy(layer.positions)
        )

    def test_positions_beyond_the_last_share_its_vector(self):
        encoding = encoding_of(make_learned(), 10)
        np.testing.assert_array_equal(encoding[6:], encoding[[6] * 4])

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_gradients_add_up_over_a_batch_in_float32(self, precision):
        # TensorFlow sums in float32 anyway, and JAX only what is float32.
        encode = LearnedPositionalEncoding(2, 4, dtype=precision)
        encode.build((None, 2, 4))
        (weight,) = encode.trainable_variables
        factors = random_array(2048, 2, 4) + 1

        def compute(vectors):
            with keras.StatelessScope(state_mapping=[(weight, vectors)]):
                sums = encode(np.zeros(factors.shape, "float32"))
            return ops.sum(ops.cast(sums, "float32") * factors)

        found = gradient(compute, np.zeros((2, 4), "float32"))
        np.testing.assert_allclose(found, factors.sum(0), rtol=1e-3)
