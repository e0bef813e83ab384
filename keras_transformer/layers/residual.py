"""The residual connection, dropout and normalisation around a sub-layer."""

import keras

from keras_transformer.layers.dropout import Dropout
from keras_transformer.serialization import serializable

NORMS = ("post", "pre")


@serializable
class Residual(keras.layers.Layer):
    """Adds a sub-layer's output to its input, and normalises.

    `LayerNorm(x + Dropout(Sublayer(x)))` with `norm="post"`, sections 3.1 and
    5.4 of Vaswani et al. (2017); `x + Dropout(Sublayer(LayerNorm(x)))` with
    `norm="pre"`, as in Tensor2Tensor since October 2017.

    Args:
        dropout: P_drop, the share of the sub-layer's output that is dropped.
        norm: "post" or "pre".

    Call arguments:
        x: tensor of shape `(batch, length, d_model)`.
        sublayer: function of one such tensor that returns another.

    Returns:
        tensor of shape `(batch, length, d_model)`.
    """

    def __init__(self, dropout=0.1, norm="post", **kwargs):
        super().__init__(**kwargs)
        if norm not in NORMS:
            raise ValueError(
                f'`norm` must be "post" or "pre". Received: norm={norm!r}. '
                'Use "post" for the paper\'s model.'
            )
        self.dropout = dropout
        self.norm = norm
        self.norm_layer = layer_norm("norm", self.dtype_policy)
        self.dropout_layer = Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, input_shape):
        self.norm_layer.build(input_shape)

    def call(self, x, sublayer, training=None):
        normed = self.norm_layer(x) if self.norm == "pre" else x
        summed = x + self.dropout_layer(sublayer(normed), training=training)
        return self.norm_layer(summed) if self.norm == "post" else summed

    def get_config(self):
        return {
            **super().get_config(),
            "dropout": self.dropout,
            "norm": self.norm,
        }


def layer_norm(name, dtype):
    """Returns the layer normalisation that every part of the model uses."""
    return keras.layers.LayerNormalization(epsilon=1e-6, dtype=dtype, name=name)
