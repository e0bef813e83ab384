"""The encoder: a stack of self-attention and feed-forward layers."""

import keras

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.stack import LayerStack
from keras_transformer.masks import visible_mask
from keras_transformer.serialization import serializable


@serializable
class EncoderLayer(keras.layers.Layer):
    """Self-attention, then a feed-forward network, each with a residual.

    Section 3.1 of Vaswani et al. (2017).

    Args:
        d_model: width of input and output.
        num_heads: h, the number of attention heads.
        d_ff: width of the feed-forward network's inner layer.
        d_k: width of a head's queries and keys, by default d_model / h.
        d_v: width of a head's values, by default d_model / h.
        dropout: P_drop, share of each sub-layer's output that is dropped.
        attention_dropout: share of attention weights that is dropped.
        activation_dropout: share of inner activations that is dropped.
        norm: "post" as in the paper, or "pre".
        neighbourhood: r, restricts self-attention to positions at most r away.

    Call arguments:
        x: tensor of shape `(batch, length, d_model)`.
        padding_mask: boolean tensor of shape `(batch, length)`, True = a real
            token. By default all are real.
        segments: integer tensor of shape `(batch, length)`; where rows are
            packed, positions attend to those of the same number only.
        return_weights: whether to return the attention weights as well.

    Returns:
        tensor of shape `(batch, length, d_model)`; with `return_weights` also
        the weights, `(batch, num_heads, length, length)`.

    Example:

    >>> import numpy as np
    >>> layer = EncoderLayer(d_model=8, num_heads=2, d_ff=32)
    >>> layer(np.ones((1, 3, 8), "float32")).shape
    TensorShape([1, 3, 8])
    """

    def __init__(
        self,
        d_model,
        num_heads,
        d_ff,
        d_k=None,
        d_v=None,
        dropout=0.1,
        attention_dropout=0.0,
        activation_dropout=0.0,
        norm="post",
        neighbourhood=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.options = {
            "d_model": d_model,
            "num_heads": num_heads,
            "d_ff": d_ff,
            "d_k": d_k,
            "d_v": d_v,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "activation_dropout": activation_dropout,
            "norm": norm,
            "neighbourhood": neighbourhood,
        }
        shared = {"dtype": self.dtype_policy}
        self.self_attention = MultiHeadAttention(
            d_model,
            num_heads,
            d_k,
            d_v,
            attention_dropout,
            neighbourhood,
            name="self_attention",
            **shared,
        )
        self.feed_forward = FeedForward(
            d_model, d_ff, activation_dropout, name="feed_forward", **shared
        )
        self.attention_residual = Residual(
            dropout, norm, name="self_attention_residual", **shared
        )
        self.feed_forward_residual = Residual(
            dropout, norm, name="feed_forward_residual", **shared
        )

    def build(self, input_shape):
        self.self_attention.build(input_shape)
        self.attention_residual.build(input_shape)
        self.feed_forward.build(input_shape)
        self.feed_forward_residual.build(input_shape)

    def call(
        self,
        x,
        padding_mask=None,
        segments=None,
        return_weights=False,
        training=None,
    ):
        visible = visible_mask(padding_mask, segments, segments)
        weights = []

        def attend(query):
            output, used = self.self_attention(
                query,
                attention_mask=visible,
                return_weights=True,
                training=training,
            )
            weights.append(used)
            return output

        def feed_forward(y):
            return self.feed_forward(y, training=training)

        x = self.attention_residual(x, sublayer=attend, training=training)
        x = self.feed_forward_residual(
            x, sublayer=feed_forward, training=training
        )
        return (x, weights[0]) if return_weights else x

    def get_config(self):
        return {**super().get_config(), **self.options}


@serializable
class Encoder(LayerStack):
    """A stack of `num_layers` encoder layers.

    Section 3.1 of Vaswani et al. (2017). Takes vectors, not ids: embed and add
    positions first. With `norm="pre"` the stack ends in a normalisation.

    Args:
        num_layers: N, the number of layers.
        **options: those of `EncoderLayer`, and of a Keras layer.

    Call arguments:
        x: tensor of shape `(batch, length, d_model)`.
        padding_mask: boolean tensor of shape `(batch, length)`, True = real.
        segments: integer tensor of shape `(batch, length)`, as in the layer.
        return_weights: whether to return every layer's attention weights.

    Returns:
        tensor of shape `(batch, length, d_model)`; with `return_weights` also
        a list of `num_layers` tensors `(batch, num_heads, length, length)`.

    Example:

    >>> import numpy as np
    >>> encoder = Encoder(num_layers=2, d_model=8, num_heads=2, d_ff=32)
    >>> encoder(np.ones((1, 3, 8), "float32")).shape
    TensorShape([1, 3, 8])
    """

    layer_class = EncoderLayer

    def call(
        self,
        x,
        padding_mask=None,
        segments=None,
        return_weights=False,
        training=None,
    ):
        weights = []
        for layer in self.stack:
            x, used = layer(
                x,
                padding_mask,
                segments=segments,
                return_weights=True,
                training=training,
            )
            weights.append(used)
        x = self.finish(x)
        return (x, weights) if return_weights else x
