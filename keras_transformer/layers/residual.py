"""The residual connection, dropout and normalisation around a sub-layer."""

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.layers.sequence_layer import SequenceLayer
from keras_transformer.serialization import serializable

NORMS = ("post", "pre")


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

    def __init__(self, dropout=0.1, norm="post", **kwargs):
        super().__init__(**kwargs)
        if norm not in NORMS:
            raise ValueError(
                f'`norm` must be "post" or "pre". Received: norm={norm!r}. '
                'Use "post" for the model of the paper.'
            )
        self.dropout = dropout
        self.norm = norm
        self.norm_layer = make_layer_norm("norm", self.dtype_policy)
        self.dropout_layer = Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )
        self.freeze_parts(self.norm_layer)

    def build(self, input_shape):
        self.norm_layer.build(input_shape)

    def call(self, x, sublayer, training=None):
        # Section 5.4 applies dropout to the output of a sub-layer, before the
        # sum.
        normed = self.norm_layer(x) if self.norm == "pre" else x
        summed = x + self.dropout_layer(sublayer(normed), training=training)
        return self.norm_layer(summed) if self.norm == "post" else summed

    def get_config(self):
        return {
            **super().get_config(),
            "dropout": self.dropout,
            "norm": self.norm,
        }


def make_layer_norm(name, dtype):
    """Makes the layer normalisation that every part of the model uses.

    Args:
        name: Name of the layer.
        dtype: Keras dtype policy of the layer.

    Returns:
        A Keras layer.
    """
    # The epsilon of Tensor2Tensor; Keras' default is 1e-3.
    return LayerNormalization(epsilon=1e-6, dtype=dtype, name=name)
