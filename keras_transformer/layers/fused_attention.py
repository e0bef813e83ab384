"""Attention by the fused kernel of the device."""

from keras import ops

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.serialization import serializable


@serializable
class FusedAttention(MultiHeadAttention):
    """Computes what `MultiHeadAttention` does, by a kernel of the device.

    `keras.ops.dot_product_attention` never writes the scores to memory where a
    fused kernel exists: with JAX on GPUs, in half precision. On a processor and
    with TensorFlow it is slower than `MultiHeadAttention`. Weights, arguments
    and results are the same, up to rounding in the precision of the layer.

    The kernel supports no dropout of weights, no bias, no neighbourhood, no
    relative positions, and on JAX no values of another width than the keys.
    With these, `MultiHeadAttention` does the work itself.
    """

    def compute_attention(
        self,
        queries,
        keys,
        values,
        attention_mask=None,
        training=None,
        **options,
    ):
        # The compiler drops unused results: the weights, unless a call returns
        # them, and these heads wherever the kernel computes others.
        heads, weights = super().compute_attention(
            *(queries, keys, values, attention_mask, training), **options
        )
        drops = training and self.attention_dropout
        has_bias = options.get("bias") is not None
        has_bias = has_bias or self.max_relative_position
        is_even = self.d_k == self.d_v
        if drops or has_bias or not is_even or len(queries.shape) > 4:
            return heads, weights
        if attention_mask is not None:
            # (batch or 1, 1, query_len, key_len), the same for all heads
            attention_mask = ops.expand_dims(attention_mask, -3)
            while len(attention_mask.shape) < 4:
                attention_mask = ops.expand_dims(attention_mask, 0)
        # The kernel expects the axis of heads after the axis of positions.
        heads = ops.dot_product_attention(
            *(ops.swapaxes(x, 1, 2) for x in (queries, keys, values)),
            mask=attention_mask,
        )
        return ops.swapaxes(heads, 1, 2), weights
