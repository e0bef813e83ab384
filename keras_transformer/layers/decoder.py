"""The decoder: self-attention, attention to the encoder, feed-forward."""

import keras
from keras import ops

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.cache import DecoderCache
from keras_transformer.layers.cache import empty_slots
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.stack import LayerStack
from keras_transformer.masks import ancestor_mask
from keras_transformer.masks import causal_mask
from keras_transformer.masks import combine_masks
from keras_transformer.masks import visible_mask
from keras_transformer.serialization import serializable


@serializable
class DecoderLayer(keras.layers.Layer):
    """Causal self-attention, attention to `encoded`, then a feed-forward net.

    Section 3.1 of Vaswani et al. (2017). Self-attention never sees the
    positions after its own, whatever masks are given.

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
        x: tensor of shape `(batch, target_len, d_model)`.
        encoded: encoder output, tensor of shape `(batch, input_len, d_model)`.
        padding_mask: boolean tensor of shape `(batch, input_len)`, True = a
            real token of `encoded`. By default all are real.
        segments: integer tensor of shape `(batch, target_len)`; where rows are
            packed, positions attend to those of the same number only.
        encoded_segments: the numbers of `encoded`, `(batch, input_len)`.
        return_weights: whether to return the attention weights as well.

    Returns:
        tensor of shape `(batch, target_len, d_model)`; with `return_weights`
        also those of self-attention `(batch, num_heads, target_len,
        target_len)` and of cross-attention `(batch, num_heads, target_len,
        input_len)`.

    Example:

    >>> import numpy as np
    >>> layer = DecoderLayer(d_model=8, num_heads=2, d_ff=32)
    >>> x, encoded = np.ones((2, 1, 3, 8), "float32")
    >>> layer(x, encoded).shape
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
        sizes = (d_model, num_heads, d_k, d_v, attention_dropout)
        self.self_attention = MultiHeadAttention(
            *sizes, neighbourhood, name="self_attention", **shared
        )
        self.cross_attention = MultiHeadAttention(
            *sizes, name="cross_attention", **shared
        )
        self.feed_forward = FeedForward(
            d_model, d_ff, activation_dropout, name="feed_forward", **shared
        )
        self.self_residual, self.cross_residual, self.feed_forward_residual = (
            Residual(dropout, norm, name=f"{name}_residual", **shared)
            for name in ("self_attention", "cross_attention", "feed_forward")
        )

    def build(self, x_shape, encoded_shape=None):
        for layer in (
            self.self_attention,
            self.self_residual,
            self.cross_attention,
            self.cross_residual,
            self.feed_forward,
            self.feed_forward_residual,
        ):
            layer.build(x_shape)

    def call(
        self,
        x,
        encoded,
        padding_mask=None,
        segments=None,
        encoded_segments=None,
        return_weights=False,
        training=None,
    ):
        earlier = combine_masks(
            causal_mask(ops.shape(x)[1]), visible_mask(None, segments, segments)
        )
        visible = visible_mask(padding_mask, segments, encoded_segments)
        weights = []

        def attend_to_self(query):
            output, used = self.self_attention(
                query,
                attention_mask=earlier,
                return_weights=True,
                training=training,
            )
            weights.append(used)
            return output

        def attend_to_encoded(query):
            output, used = self.cross_attention(
                query,
                encoded,
                attention_mask=visible,
                return_weights=True,
                training=training,
            )
            weights.append(used)
            return output

        def feed_forward(y):
            return self.feed_forward(y, training=training)

        x = self.self_residual(x, sublayer=attend_to_self, training=training)
        x = self.cross_residual(
            x, sublayer=attend_to_encoded, training=training
        )
        x = self.feed_forward_residual(
            x, sublayer=feed_forward, training=training
        )
        return (x, *weights) if return_weights else x

    def step(self, x, cache, position, visible, memory, padding_mask):
        """Decodes one position of each beam, with those before it cached.

        Args:
            x: tensor of shape `(batch, beam, d_model)`.
            cache: keys and values of self-attention.
            position: scalar integer tensor.
            visible: boolean tensor of shape `(batch, beam, num_slots)`, what
                each beam may attend to of itself (`ancestor_mask`).
            memory: keys and values of `encoded` for cross-attention, which the
                beams of a sentence share.
            padding_mask: boolean tensor of shape `(batch, input_len)`.

        Returns:
            tensor of shape `(batch, beam, d_model)` and the new cache.
        """
        caches = []

        def attend_to_self(query):
            output, updated = self.self_attention.step(
                query, cache, position, visible
            )
            caches.append(updated)
            return output

        def attend_to_encoded(query):
            # Beams stand where positions would.
            return self.cross_attention.attend(
                query, *memory, padding_mask[:, None, :]
            )

        x = self.self_residual(x, sublayer=attend_to_self)
        x = self.cross_residual(x, sublayer=attend_to_encoded)
        return self.feed_forward_residual(
            x, sublayer=self.feed_forward
        ), caches[0]

    def get_config(self):
        return {**super().get_config(), **self.options}


@serializable
class Decoder(LayerStack):
    """A stack of `num_layers` decoder layers.

    Section 3.1 of Vaswani et al. (2017). Takes vectors, not ids. With
    `norm="pre"` the stack ends in a normalisation.

    Args:
        num_layers: N, the number of layers.
        **options: those of `DecoderLayer`, and of a Keras layer.

    Call arguments:
        x: tensor of shape `(batch, target_len, d_model)`.
        encoded: encoder output, tensor of shape `(batch, input_len, d_model)`.
        padding_mask: boolean tensor of shape `(batch, input_len)`.
        segments, encoded_segments: integer tensors as in the layer.
        return_weights: whether to return every layer's attention weights.

    Returns:
        tensor of shape `(batch, target_len, d_model)`; with `return_weights`
        also the lists of self-attention and of cross-attention weights.

    Example:

    >>> import numpy as np
    >>> decoder = Decoder(num_layers=2, d_model=8, num_heads=2, d_ff=32)
    >>> x, encoded = np.ones((2, 1, 3, 8), "float32")
    >>> decoder(x, encoded).shape
    TensorShape([1, 3, 8])
    """

    layer_class = DecoderLayer

    def build(self, x_shape, encoded_shape=None):
        super().build(x_shape)

    def call(
        self,
        x,
        encoded,
        padding_mask=None,
        segments=None,
        encoded_segments=None,
        return_weights=False,
        training=None,
    ):
        self_weights, cross_weights = [], []
        for layer in self.stack:
            x, used_on_self, used_on_encoded = layer(
                x,
                encoded,
                padding_mask,
                segments=segments,
                encoded_segments=encoded_segments,
                return_weights=True,
                training=training,
            )
            self_weights.append(used_on_self)
            cross_weights.append(used_on_encoded)
        x = self.finish(x)
        return (x, self_weights, cross_weights) if return_weights else x

    def init_cache(self, encoded, padding_mask, beam_size, fixed_length=None):
        """Prepares decoding step by step.

        Args:
            encoded: Tensor of shape `(batch, input_len, d_model)`.
            padding_mask: Boolean tensor of shape `(batch, input_len)`.
            beam_size: Number of hypotheses per sentence.
            fixed_length: Greatest number of positions, an integer. By default
                the cache grows with each position, which needs a backend whose
                loops can change shapes.

        Returns:
            A `DecoderCache`.
        """
        batch = ops.shape(encoded)[0]
        num_slots = None if fixed_length is None else fixed_length * beam_size
        return DecoderCache(
            ancestors=empty_slots((batch, beam_size), fixed_length, value=-1),
            own=[
                layer.self_attention.init_cache(batch, num_slots)
                for layer in self.stack
            ],
            memory=[
                layer.cross_attention.project_memory(encoded)
                for layer in self.stack
            ],
            padding_mask=padding_mask,
        )

    def step(self, x, cache, position):
        """Decodes one position of each beam through every layer.

        Args:
            x: tensor of shape `(batch, beam, d_model)`.
            cache: A `DecoderCache`.
            position: scalar integer tensor.

        Returns:
            tensor of shape `(batch, beam, d_model)` and the new cache.
        """
        beam_size = x.shape[1]
        itself = ops.arange(beam_size, dtype="int32")[None, :, None]
        itself = ops.repeat(itself, ops.shape(x)[0], axis=0)
        ancestors = cache.ancestors.write(itself, position)
        visible = ancestor_mask(
            self._near(ancestors.entries, position), beam_size
        )
        own = []
        for layer, earlier, memory in zip(self.stack, cache.own, cache.memory):
            x, written = layer.step(
                x, earlier, position, visible, memory, cache.padding_mask
            )
            own.append(written)
        return self.finish(x), cache._replace(ancestors=ancestors, own=own)

    def _near(self, ancestors, position):
        radius = self.options.get("neighbourhood")
        if radius is None:
            return ancestors
        positions = ops.arange(ops.shape(ancestors)[2])
        return ops.where(position - positions <= radius, ancestors, -1)
