"""The encoder: a stack of self-attention and feed-forward layers."""

import dataclasses

from keras_transformer.layers.transformer_layer import LayerOptions
from keras_transformer.layers.transformer_layer import LayerStack
from keras_transformer.layers.transformer_layer import TransformerLayer
from keras_transformer.serialization import serializable


@dataclasses.dataclass(frozen=True)
class EncoderOptions(LayerOptions):
    """The settings of an `EncoderLayer`."""

    causal: bool = False  # whether the future is hidden


@serializable
class EncoderLayer(TransformerLayer):
    """Applies self-attention and a feed-forward network, each with a residual.

    Section 3.1 of Vaswani et al. (2017).

    Pass `padding_mask` whenever sequences are padded. With `causal=True` it is
    a layer of a decoder-only language model, and needs no causal mask.

    Args:
        d_model, num_heads, d_ff: As in `LayerOptions`.
        **options: Further fields of `LayerOptions`, which documents them.
            `causal` is a boolean, whether each position attends only to itself
            and to earlier ones. Defaults to False.

    Call arguments:
        x: Tensor of shape `(batch, length, d_model)`.
        padding_mask, segments, attention_mask, return_weights: As in
            `MultiHeadAttention`, where `query_len` and `key_len` are `length`.

    Returns:
        Tensor of shape `(batch, length, d_model)`. With `return_weights` also
        the attention weights, of shape `(batch, num_heads, length, length)`.

    Example:

    >>> import numpy as np
    >>> layer = EncoderLayer(d_model=8, num_heads=2, d_ff=32)
    >>> x = np.ones((1, 3, 8), "float32")
    >>> layer(x, padding_mask=np.array([[True, True, False]])).shape
    TensorShape([1, 3, 8])
    """

    options_class = EncoderOptions

    def __init__(self, d_model, num_heads, d_ff, *args, **options):
        super().__init__(d_model, num_heads, d_ff, *args, **options)
        self.self_attention = self.make_attention("self_attention")
        self.feed_forward = self.make_feed_forward()
        # Files of version 0.1 contain the names of these attributes.
        self.attention_residual = self.make_residual("self_attention")
        self.feed_forward_residual = self.make_residual("feed_forward")
        self.freeze_parts()

    def build(self, input_shape):
        # The order matters: each kernel takes the next numbers of a seed.
        self.self_attention.build(input_shape)
        self.attention_residual.build(input_shape)
        self.feed_forward.build(input_shape)
        self.feed_forward_residual.build(input_shape)

    def call(
        self,
        x,
        padding_mask=None,
        segments=None,
        attention_mask=None,
        return_weights=False,
        training=None,
    ):
        # Padded queries are not hidden: later masks and the loss ignore them.
        masks = self.select_masks(
            x, padding_mask, segments, attention_mask, self.options.causal
        )
        query = self.attention_residual.enter(x)
        output, weights = self.attend(
            self.self_attention,
            query,
            return_weights=return_weights,
            training=training,
            **masks,
        )
        x = self.attention_residual.leave(x, output, training)
        hidden = self.feed_forward_residual.enter(x)
        output = self.feed_forward(hidden, training=training)
        x = self.feed_forward_residual.leave(x, output, training)
        return (x, weights) if return_weights else x

    def step(self, x, cache, where):
        """Applies the layer to the newest position of each beam.

        `x` is `(batch, beam, d_model)`, `cache` are the slots of the keys and
        values, and `where` the last arguments of `MultiHeadAttention.step`.
        Returns a tensor of the shape of `x`, and the new slots.
        """
        query = self.attention_residual.enter(x)
        output, cache = self.self_attention.step(query, cache, *where)
        x = self.attention_residual.leave(x, output)
        output = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, output), cache


@serializable
class Encoder(LayerStack):
    """Applies `num_layers` encoder layers, one after another.

    Section 3.1 of Vaswani et al. (2017). The input is vectors, not ids: embed
    the tokens and add positions first. With `norm="pre"` a normalisation
    follows the last layer. With `causal=True` this is the stack of
    a decoder-only language model, and `init_cache` and `step` compute one
    position after another; see `search.continuation.generate`.

    Args:
        num_layers: Integer, N, the number of layers.
        **options: Arguments of `EncoderLayer` and of a Keras layer.

    Call arguments: as for `EncoderLayer`.

    Returns:
        Tensor of shape `(batch, length, d_model)`. With `return_weights` also
        a list of `num_layers` tensors of shape
        `(batch, num_heads, length, length)`.

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
        attention_mask=None,
        return_weights=False,
        training=None,
    ):
        return self.apply(
            x,
            padding_mask=padding_mask,
            segments=segments,
            attention_mask=attention_mask,
            return_weights=return_weights,
            training=training,
        )

    def init_cache(self, batch, beam_size, fixed_length=None):
        """Prepares computing a causal stack step by step.

        Args:
            batch: Number of sequences, an integer or a scalar tensor.
            beam_size: Number of hypotheses per sequence.
            fixed_length: Maximum number of positions, an integer or a scalar
                tensor. Defaults to None, which lets the cache grow with each
                position and needs a backend whose loops can change shapes.

        Returns:
            A `DecoderCache` for the argument `cache` of `step`.
        """
        if not self.options.causal:
            raise ValueError(
                "Step-by-step decoding needs an encoder with `causal=True`, "
                "since others attend to positions that do not exist yet. "
                "Received: causal=False. Make and train the encoder with "
                "causal=True."
            )
        return self.make_cache(batch, beam_size, fixed_length)

    def step_layer(self, number, x, cache, where):
        return self.stack[number].step(x, cache.past[number], where)
