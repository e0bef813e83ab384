"""The decoder: self-attention, attention to the encoder, feed-forward."""

from keras import ops

from keras_transformer.layers.sequence_layer import check_masks
from keras_transformer.layers.sequence_layer import check_sequence
from keras_transformer.layers.transformer_layer import LayerStack
from keras_transformer.layers.transformer_layer import TransformerLayer
from keras_transformer.masks import visible_mask
from keras_transformer.serialization import serializable


@serializable
class DecoderLayer(TransformerLayer):
    """Applies causal self-attention, attention to `encoded` and feed-forward.

    Section 3.1 of Vaswani et al. (2017). Each of the three has a residual.

    Pass the `padding_mask` of the encoder's input whenever that is padded.
    Self-attention is always causal and needs no mask: padding at the end of `x`
    comes after all real positions. Use `Encoder(causal=True)` for a language
    model without an encoder.

    Args:
        **options: Arguments of `EncoderLayer` except `causal`. `attention`
            replaces both self-attention and cross-attention.
            `neighbourhood_size` restricts self-attention only: each position
            sees itself and the `neighbourhood_size // 2` positions before it.

    Call arguments:
        x: Tensor of shape `(batch, target_len, d_model)`.
        encoded: Output of the encoder, a tensor of shape
            `(batch, input_len, d_model)`.
        padding_mask: Boolean tensor of shape `(batch, input_len)`, True for
            real tokens of `encoded`. Defaults to None: all are real.
        segments, attention_mask, return_weights: As in `EncoderLayer`, of the
            targets.
        encoded_segments: Integer tensor of shape `(batch, input_len)`, the
            numbers of `encoded`. Needed with `segments`. Defaults to None.

    Returns:
        Tensor of shape `(batch, target_len, d_model)`. With `return_weights`
        also the weights of self-attention, of shape
        `(batch, num_heads, target_len, target_len)`, and of cross-attention, of
        shape `(batch, num_heads, target_len, input_len)`.

    Example:

    >>> import numpy as np
    >>> layer = DecoderLayer(d_model=8, num_heads=2, d_ff=32)
    >>> x, encoded = np.ones((2, 1, 3, 8), "float32")
    >>> layer(x, encoded).shape
    TensorShape([1, 3, 8])
    """

    def __init__(self, d_model, num_heads, d_ff, *args, **options):
        super().__init__(d_model, num_heads, d_ff, *args, **options)
        self.self_attention = self.make_attention("self_attention")
        self.cross_attention = self.make_attention(
            "cross_attention", neighbourhood_size=0, max_relative_position=0
        )
        self.feed_forward = self.make_feed_forward()
        # Files of version 0.1 contain the names of these attributes.
        self.self_residual = self.make_residual("self_attention")
        self.cross_residual = self.make_residual("cross_attention")
        self.feed_forward_residual = self.make_residual("feed_forward")
        self.freeze_parts()

    def build(self, x_shape, encoded_shape=None):
        # The order matters: each kernel takes the next numbers of a seed.
        self.self_attention.build(x_shape)
        self.self_residual.build(x_shape)
        # A stack passes no shape of `encoded`, which has the width of `x`.
        self.cross_attention.build(x_shape, encoded_shape or x_shape)
        self.cross_residual.build(x_shape)
        self.feed_forward.build(x_shape)
        self.feed_forward_residual.build(x_shape)

    def call(
        self,
        x,
        encoded,
        padding_mask=None,
        segments=None,
        encoded_segments=None,
        attention_mask=None,
        return_weights=False,
        training=None,
    ):
        check_masks(
            *(x, encoded),
            padding_mask=padding_mask,
            encoded_segments=encoded_segments,
        )
        masks = self.select_masks(x, None, segments, attention_mask, True)
        # The whole input is known from the start, so it needs no causal mask.
        visible = visible_mask(padding_mask, segments, encoded_segments)
        options = {"return_weights": return_weights, "training": training}
        query = self.self_residual.enter(x)
        output, self_weights = self.attend(
            self.self_attention, query, **masks, **options
        )
        x = self.self_residual.leave(x, output, training)
        query = self.cross_residual.enter(x)
        output, cross_weights = self.attend(
            self.cross_attention,
            query,
            encoded,
            attention_mask=visible,
            **options,
        )
        x = self.cross_residual.leave(x, output, training)
        hidden = self.feed_forward_residual.enter(x)
        output = self.feed_forward(hidden, training=training)
        x = self.feed_forward_residual.leave(x, output, training)
        return (x, self_weights, cross_weights) if return_weights else x

    def step(self, x, cache, where, memory, padding_mask):
        """Decodes one position of each beam, given the cache of earlier ones.

        `x`, `cache`, `where` and the result are as in `EncoderLayer.step`.
        The beams of a sentence share `memory`, the keys and values of `encoded`
        for cross-attention, and the boolean `padding_mask` of shape `(batch,
        input_len)`.
        """
        query = self.self_residual.enter(x)
        output, cache = self.self_attention.step(query, cache, *where)
        x = self.self_residual.leave(x, output)
        # The beams are on the axis of query positions, so the keys and values
        # of the input are not repeated for each beam.
        visible = ops.expand_dims(padding_mask, 1)
        query = self.cross_residual.enter(x)
        output = self.cross_attention.attend(query, *memory, visible)
        x = self.cross_residual.leave(x, output)
        output = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, output), cache


@serializable
class Decoder(LayerStack):
    """Applies `num_layers` decoder layers, one after another.

    Section 3.1 of Vaswani et al. (2017). The input is vectors, not ids: embed
    the tokens and add positions first. With `norm="pre"` a normalisation
    follows the last layer.

    Args:
        num_layers: Integer, N, the number of layers.
        **options: Arguments of `DecoderLayer` and of a Keras layer.

    Call arguments: as for `DecoderLayer`.

    Returns:
        Tensor of shape `(batch, target_len, d_model)`. With `return_weights`
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
        # Files of version 0.1 contain the names of both arguments.
        check_sequence(encoded_shape or x_shape, self.options.d_model)
        super().build(x_shape)

    def call(
        self,
        x,
        encoded,
        padding_mask=None,
        segments=None,
        encoded_segments=None,
        attention_mask=None,
        return_weights=False,
        training=None,
    ):
        return self.apply(
            x,
            encoded,
            padding_mask=padding_mask,
            segments=segments,
            encoded_segments=encoded_segments,
            attention_mask=attention_mask,
            return_weights=return_weights,
            training=training,
        )

    def init_cache(self, encoded, padding_mask, beam_size, fixed_length=None):
        """Prepares decoding step by step.

        Args:
            encoded: Tensor of shape `(batch, input_len, d_model)`.
            padding_mask: Boolean tensor of shape `(batch, input_len)`.
            beam_size, fixed_length: As in `Encoder.init_cache`.

        Returns:
            A `DecoderCache`.
        """
        mask = check_masks(encoded, encoded, padding_mask=padding_mask)
        cache = self.make_cache(ops.shape(encoded)[0], beam_size, fixed_length)
        memory = [
            layer.cross_attention.project_memory(encoded)
            for layer in self.stack
        ]
        return cache._replace(memory=memory, **mask)

    def step_layer(self, number, x, cache, where):
        memory = cache.memory[number], cache.padding_mask
        return self.stack[number].step(x, cache.past[number], where, *memory)
