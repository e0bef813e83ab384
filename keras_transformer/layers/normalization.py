"""Layer normalisation whose gradient takes few passes over the data."""

import keras
from keras import ops


class LayerNormalization(keras.layers.LayerNormalization):
    """Normalises each vector of a sequence to mean 0 and variance 1.

    In training, the gradient is computed in closed form. Differentiated
    automatically, the same formula reads and writes twice as many arrays of the
    size of its input. Weights and results are those of Keras' layer, up to
    rounding. The computation is in float32 in every precision but float64.

    Args:
        **kwargs: Arguments of `keras.layers.LayerNormalization` except `axis`,
            `center` and `scale`, which keep their defaults.

    Call arguments:
        inputs: Tensor of shape `(batch, length, d_model)`.

    Returns:
        Tensor of the shape of `inputs`.

    Example:

    >>> import numpy as np
    >>> norm = LayerNormalization()
    >>> norm(np.ones((1, 3, 8), "float32"), training=True).shape
    TensorShape([1, 3, 8])
    """

    def call(self, inputs, training=False):
        # A saved model needs no gradient.
        if not training:
            return super().call(inputs)
        shape = ops.shape(inputs)
        rows = ops.reshape(
            inputs, (-1, inputs.shape[-1])
        )  # (batch x length, d_model)
        # The weights are in low precision under pure policies like "bfloat16".
        gamma, beta = (
            ops.reshape(ops.cast(weight, _precision(inputs)), (1, -1))
            for weight in (self.gamma, self.beta)
        )  # both (1, d_model)
        rows = _normalise(rows, gamma, beta, self.epsilon)
        return ops.reshape(rows, shape)  # (batch, length, d_model)


def _precision(x):
    """Returns the dtype in which a tensor is normalised, float32 at least."""
    return keras.backend.result_type(x.dtype, "float32")


def _normalise(rows, gamma, beta, epsilon):
    """Normalises the rows of a matrix, scales and shifts them."""

    @ops.custom_gradient
    def normalised(rows, gamma, beta):
        values = ops.cast(rows, _precision(rows))
        centred = values - ops.mean(values, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        scale = ops.rsqrt(variance + epsilon)  # (rows, 1)
        normed = centred * scale

        def gradient(*args, upstream=None):
            # PyTorch passes the upstream gradient by name, others by position.
            slopes = args[0] if upstream is None else upstream
            return _slopes(slopes, normed, scale, gamma, rows.dtype)

        output = ops.add(normed * gamma, beta)
        return ops.cast(output, rows.dtype), gradient

    return normalised(rows, gamma, beta)


def _slopes(slopes, normed, scale, gamma, dtype):
    """Returns the gradients by the rows, by gamma and by beta.

    Args:
        slopes: Gradient by the output, a tensor of shape `(rows, d_model)`.
        normed: Normalised rows, a tensor of the same shape.
        scale: What the rows were multiplied by, of shape `(rows, 1)`.
        gamma: Tensor of shape `(1, d_model)`.
        dtype: Data type of the first gradient.
    """
    slopes = ops.cast(slopes, normed.dtype)
    products = slopes * normed
    # Sums as products with vectors, which are several times as fast.
    ones = ops.reshape(ops.ones_like(scale), (1, -1))  # (1, rows)
    by_gamma = ops.matmul(ones, products)  # (1, d_model)
    by_beta = ops.matmul(ones, slopes)  # (1, d_model)
    mean = ops.transpose(gamma) / gamma.shape[-1]  # (d_model, 1)
    by_mean = ops.matmul(slopes, mean)  # (rows, 1)
    by_deviation = ops.matmul(products, mean)  # (rows, 1)
    by_rows = slopes * gamma - by_mean - normed * by_deviation
    return ops.cast(by_rows * scale, dtype), by_gamma, by_beta
