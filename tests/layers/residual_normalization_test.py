import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import to_numpy

from keras_transformer.layers.residual import LayerNormalization

X = 3.0 * random_array(2, 3, 8) + 1.0
SLOPES = random_array(2, 3, 8, seed=1)


def make(cls, **options):
    layer = cls(epsilon=1e-6, **options)
    layer.build(X.shape)
    randomize(layer)
    return layer


def gradients(layer):
    """Returns the gradients by the inputs, by gamma and by beta."""
    weights = [to_numpy(weight) for weight in layer.trainable_weights]
    call = {"training": True} if type(layer) is LayerNormalization else {}

    def weighted_sum(x, *weights):
        output, _ = layer.stateless_call(weights, [], x, **call)
        return ops.sum(ops.cast(output, "float32") * SLOPES)

    gamma, beta = weights
    return (
        gradient(lambda x: weighted_sum(x, gamma, beta), X),
        gradient(lambda x: weighted_sum(X, x, beta), gamma),
        gradient(lambda x: weighted_sum(X, gamma, x), beta),
    )


class LayerNormalizationTest:
    @pytest.mark.parametrize("training", [False, True])
    def test_output_equals_that_of_keras(self, training):
        expected = make(keras.layers.LayerNormalization)(X)
        output = make(LayerNormalization)(X, training=training)
        np.testing.assert_allclose(
            to_numpy(output), to_numpy(expected), atol=1e-5
        )

    def test_gradients_equal_automatic_ones(self):
        ours = gradients(make(LayerNormalization))
        automatic = gradients(make(keras.layers.LayerNormalization))
        for slopes, expected in zip(ours, automatic, strict=True):
            np.testing.assert_allclose(slopes, expected, atol=1e-5)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_low_precision_rounds_only_input_and_output(self, precision):
        layer = make(LayerNormalization, dtype=precision)
        x = ops.cast(X, layer.compute_dtype)
        output = layer(x, training=True)
        assert keras.backend.standardize_dtype(output.dtype) == (
            layer.compute_dtype
        )
        exact = to_numpy(make(keras.layers.LayerNormalization)(to_numpy(x)))
        np.testing.assert_allclose(
            to_numpy(output), to_numpy(ops.cast(exact, output.dtype)), atol=0.02
        )
        expected = gradients(make(keras.layers.LayerNormalization))
        for slopes, exact in zip(gradients(layer), expected, strict=True):
            np.testing.assert_allclose(slopes, exact, atol=0.05)

    @pytest.mark.parametrize(
        "dtype,tolerance",
        [("bfloat16", 0.1), ("float16", 0.02), ("float64", 1e-5)],
    )
    def test_pure_dtypes_keep_the_gradients(self, dtype, tolerance):
        layer = make(LayerNormalization, dtype=dtype)
        x = ops.cast(X, dtype)
        assert layer(x, training=True).dtype == layer(x).dtype == x.dtype
        expected = gradients(make(keras.layers.LayerNormalization))
        for slopes, exact in zip(gradients(layer), expected, strict=True):
            np.testing.assert_allclose(slopes, exact, atol=tolerance)
