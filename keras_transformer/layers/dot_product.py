"""Scaled dot-product attention, in all heads at once."""

from keras import ops

# Its exponential is exactly 0. Minus infinity would turn a row that is masked
# throughout into NaN.
MASKED_SCORE = -1e9


def dot_product_attention(
    queries, keys, values, attention_mask, drop, bias=None
):
    """Computes `softmax(Q K^T / sqrt(d_k)) V` in every head.

    Section 3.2.1 of Vaswani et al. (2017). The softmax is always computed in
    float32. A query that may attend to no key attends equally to all of them.
    Further axes may follow `num_heads`, and `batch` in the mask.

    Args:
        queries: Tensor of shape `(batch, num_heads, query_len, d_k)`.
        keys: Tensor of shape `(batch, num_heads, key_len, d_k)`.
        values: Tensor of shape `(batch, num_heads, key_len, d_v)`.
        attention_mask: Boolean tensor that broadcasts to
            `(batch, query_len, key_len)`, or None.
        drop: Function that applies dropout to the weights.
        bias: Tensor that broadcasts to the weights and is added to the scores.
            Defaults to None.

    Returns:
        Tensor of shape `(batch, num_heads, query_len, d_v)`, and the float32
        weights `(batch, num_heads, query_len, key_len)` before dropout.
    """
    # Not `ops.dot_product_attention`: it has no dropout, and on TensorFlow it
    # takes up to 1.9 times as long as these products.
    # Scaled before the product, so that float16 scores stay in range.
    queries = queries * ops.cast(keys.shape[-1] ** -0.5, queries.dtype)
    keys = ops.swapaxes(keys, -1, -2)  # (batch, num_heads, d_k, key_len)
    # A softmax in low precision would not sum to one.
    scores = ops.cast(ops.matmul(queries, keys), "float32")
    if bias is not None:
        scores = scores + ops.cast(bias, "float32")
    if attention_mask is not None:
        allowed = ops.cast(attention_mask, "float32")
        # The same for all heads, whose axis is the second one.
        allowed = ops.expand_dims(allowed, 1 - len(queries.shape))
        scores = scores + (1.0 - allowed) * MASKED_SCORE
    weights = ops.softmax(scores, axis=-1)
    dropped = drop(ops.cast(weights, values.dtype))
    return ops.matmul(dropped, values), weights
