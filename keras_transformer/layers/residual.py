"""The residual connection, dropout and normalisation around a sub-layer."""

import keras
from keras import ops

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.projection import sum_rows
from keras_transformer.layers.sequence_layer import Quantizable
from keras_transformer.layers.sequence_layer import SequenceLayer
from keras_transformer.layers.sequence_layer import check_choice
from keras_transformer.serialization import serializable

NORM_EPSILON = 1e-6  # as in Tensor2Tensor; Keras' default is 1e-3


class LayerNormalization(Quantizable, keras.layers.LayerNormalization):
    """Normalises vectors, `(batch, length, d_model)`, to mean 0, variance 1.

    In training, the gradient is computed in closed form. Differentiated
    automatically, the same formula reads and writes twice as many arrays of the
    size of its input. Weights and results equal Keras' layer, up to rounding,
    and the arguments are the same without `axis`, `center` and `scale`. The
    computation is in float32 in every precision but float64.
    """

    def __init__(self, epsilon=NORM_EPSILON, **kwargs):
        super().__init__(epsilon=epsilon, **kwargs)

    def call(self, inputs, training=False):
        # The weights are in low precision under pure policies like "bfloat16".
        gamma, beta = (
            ops.cast(weight, _choose_precision(inputs))
            for weight in (self.gamma, self.beta)
        )  # both (d_model,)
        # A saved model needs no gradient.
        if not training:
            normed, _ = _normalise(inputs, self.epsilon)
            return ops.cast(normed * gamma + beta, inputs.dtype)
        rows = ops.reshape(
            inputs, (-1, inputs.shape[-1])
        )  # (batch x length, d_model)
        rows = _normalise_rows(
            rows,
            ops.reshape(gamma, (1, -1)),  # (1, d_model)
            ops.reshape(beta, (1, -1)),  # (1, d_model)
            self.epsilon,
        )
        # (batch, length, d_model)
        return ops.reshape(rows, ops.shape(inputs))


def _choose_precision(x):
    """Returns the dtype in which a tensor is normalised, float32 at least."""
    return keras.backend.result_type(x.dtype, "float32")


def _normalise(vectors, epsilon):
    """Returns vectors of mean 0 and variance 1, and their scale factors."""
    values = ops.cast(vectors, _choose_precision(vectors))
    centred = values - ops.mean(values, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
    scale = ops.rsqrt(variance + epsilon)  # (..., 1)
    return centred * scale, scale


def _normalise_rows(rows, gamma, beta, epsilon):
    """Normalises the rows of a matrix, scales and shifts them."""

    @ops.custom_gradient
    def normalise(rows, gamma, beta):
        normed, scale = _normalise(rows, epsilon)

        def gradient(*args, upstream=None):
            # PyTorch passes the upstream gradient by name, others by position.
            slopes = args[0] if upstream is None else upstream
            return _compute_slopes(slopes, normed, scale, gamma, rows.dtype)

        output = ops.add(normed * gamma, beta)
        return ops.cast(output, rows.dtype), gradient

    return normalise(rows, gamma, beta)


def _compute_slopes(slopes, normed, scale, gamma, dtype):
    """Returns the gradients of the rows, of gamma and of beta."""
    # `slopes` is the gradient of the output, and `normed` are the rows after
    # multiplication by `scale`, of shape `(rows, 1)`.
    slopes = ops.cast(slopes, normed.dtype)
    products = slopes * normed
    by_gamma, by_beta = sum_rows(products), sum_rows(slopes)  # (1, d_model)
    # The normalised vectors keep mean 0 and variance 1, so the parts of the
    # gradient that would change either are subtracted.
    mean = ops.transpose(gamma) / gamma.shape[-1]  # (d_model, 1)
    by_mean = ops.matmul(slopes, mean)  # (rows, 1)
    by_deviation = ops.matmul(products, mean)  # (rows, 1)
    by_rows = slopes * gamma - by_mean - normed * by_deviation
    return ops.cast(by_rows * scale, dtype), by_gamma, by_beta


@serializable
class Residual(SequenceLayer):
    """Adds the output of a sub-layer to its input, and normalises.

    Computes `LayerNorm(x + Dropout(Sublayer(x)))` with `norm="post"`, as in
    sections 3.1 and 5.4 of Vaswani et al. (2017), and
    `x + Dropout(Sublayer(LayerNorm(x)))` with `norm="pre"`, as Tensor2Tensor
    does since October 2017. It takes no mask: pass masks to the sub-layer.

    Args:
        dropout: Float, P_drop, the share of the sub-layer's output that is
            dropped. Defaults to 0.1.
        norm: String, "post" or "pre". Defaults to "post".
        norm_epsilon: Float that the normalisation adds to the variance.
            Defaults to 1e-6, as in Tensor2Tensor.

    Call arguments:
        x: Tensor of shape `(batch, length, d_model)`.
        sublayer: Layer or function that maps a tensor of that shape to another
            of the same shape. `Residual` does not own its weights.

    Returns:
        Tensor of shape `(batch, length, d_model)`.

    Example:

    >>> import keras
    >>> residual = Residual(norm="pre")
    >>> residual(keras.ops.ones((1, 3, 8)), sublayer=keras.ops.relu).shape
    TensorShape([1, 3, 8])
    """

    def __init__(
        self, dropout=0.1, norm="post", norm_epsilon=NORM_EPSILON, **kwargs
    ):
        super().__init__(**kwargs)
        self.dropout = dropout
        self.norm = check_choice("norm", norm, ("post", "pre"), "post")
        self.norm_epsilon = norm_epsilon
        self.norm_layer = LayerNormalization(
            norm_epsilon, dtype=self.dtype_policy, name="norm"
        )
        self.dropout_layer = Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )
        self.freeze_parts()

    def build(self, input_shape):
        self.norm_layer.build(input_shape)

    def call(self, x, sublayer, training=None):
        return self.leave(x, sublayer(self.enter(x)), training)

    def enter(self, x):
        """Returns the input of the sub-layer, `x` or its normalisation."""
        return self.norm_layer(x) if self.norm == "pre" else x

    def leave(self, x, output, training=None):
        """Adds the output of the sub-layer to `x`; both have one shape."""
        # Section 5.4 applies dropout to a sub-layer's output, before the sum.
        summed = x + self.dropout_layer(output, training=training)
        return self.norm_layer(summed) if self.norm == "post" else summed
