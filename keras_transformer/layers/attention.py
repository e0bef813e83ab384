"""Multi-head scaled dot-product attention."""

import keras
from keras import ops

from keras_transformer.layers.cache import empty_slots
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.initializer import branch_end_initializer
from keras_transformer.layers.projection import project
from keras_transformer.masks import combine_masks
from keras_transformer.masks import neighbourhood_mask
from keras_transformer.serialization import serializable

MASKED_SCORE = -1e9  # exp of it is exactly 0; finite, so no row turns to NaN


@serializable
class MultiHeadAttention(keras.layers.Layer):
    """Attends from several learned subspaces at once.

    `Concat(head_1, ..., head_h) W_O` with
    `head_i = softmax(Q W_Qi (K W_Ki)^T / sqrt(d_k)) V W_Vi`. Section 3.2.2 of
    Vaswani et al. (2017). With `query` alone it is self-attention; with
    `memory` it attends from `query` to `memory`. The projections have no bias,
    as in the paper. The softmax is computed in float32 whatever the precision.

    A row of `attention_mask` without any True attends to all positions alike
    instead of becoming NaN: give it to rows whose output nobody reads.

    Args:
        d_model: width of inputs and output.
        num_heads: h, the number of heads.
        d_k: width of a head's queries and keys, by default d_model / h.
        d_v: width of a head's values, by default d_model / h.
        attention_dropout: share of attention weights dropped in training.
            The paper uses none; Tensor2Tensor's later sets use 0.1.
        neighbourhood: r, restricts self-attention to positions at most r
            away (section 4 of the paper). By default there is no limit.

    Call arguments:
        query: tensor of shape `(batch, query_len, d_model)`.
        memory: tensor of shape `(batch, key_len, d_model)`, by default query.
        attention_mask: boolean tensor that broadcasts to
            `(batch, query_len, key_len)`, True = may attend.
        return_weights: whether to return the attention weights as well.

    Returns:
        tensor of shape `(batch, query_len, d_model)`; with `return_weights`
        also the weights, `(batch, num_heads, query_len, key_len)`, float32.

    Example:

    >>> import numpy as np
    >>> attention = MultiHeadAttention(d_model=8, num_heads=2)
    >>> attention(np.ones((1, 3, 8), "float32")).shape
    TensorShape([1, 3, 8])
    """

    def __init__(
        self,
        d_model,
        num_heads,
        d_k=None,
        d_v=None,
        attention_dropout=0.0,
        neighbourhood=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if d_model % num_heads and not (d_k and d_v):
            divisor = max(n for n in range(1, num_heads) if d_model % n == 0)
            raise ValueError(
                "`d_model` must be divisible by `num_heads`. Received: "
                f"d_model={d_model}, num_heads={num_heads}. Use a divisor of "
                f"d_model such as {divisor}, or state d_k and d_v."
            )
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_k or d_model // num_heads
        self.d_v = d_v or d_model // num_heads
        self.attention_dropout = attention_dropout
        self.neighbourhood = neighbourhood
        self.dropout_layer = Dropout(
            attention_dropout, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, query_shape, memory_shape=None):
        keys = self.num_heads * self.d_k
        values = self.num_heads * self.d_v
        self.query_kernel = self._add_kernel("query", self.d_model, keys)
        self.key_kernel = self._add_kernel("key", self.d_model, keys)
        self.value_kernel = self._add_kernel("value", self.d_model, values)
        self.output_kernel = self._add_kernel(
            "output", values, self.d_model, branch_end_initializer()
        )

    def call(
        self,
        query,
        memory=None,
        attention_mask=None,
        return_weights=False,
        training=None,
    ):
        if memory is None:
            queries, keys, values = self._project_all(query)
            attention_mask = self._restrict(attention_mask, query)
        else:
            queries = self._project_query(query)
            keys, values = self.project_memory(memory)
        return self._attend(
            queries, keys, values, attention_mask, return_weights, training
        )

    def project_memory(self, memory):
        """Computes keys and values once, to be attended to many times.

        Args:
            memory: tensor of shape `(batch, key_len, d_model)`.

        Returns:
            keys `(batch, num_heads, key_len, d_k)` and
            values `(batch, num_heads, key_len, d_v)`.
        """
        projected = self._project(memory, self.key_kernel, self.value_kernel)
        keys, values = ops.split(projected, [self.num_heads * self.d_k], -1)
        keys = self._split_heads(keys, self.d_k)
        return keys, self._split_heads(values, self.d_v)

    def attend(self, query, keys, values, attention_mask=None):
        """Attends to keys and values from `project_memory`.

        Args:
            query: tensor of shape `(batch, query_len, d_model)`.
            keys: tensor of shape `(batch, num_heads, key_len, d_k)`.
            values: tensor of shape `(batch, num_heads, key_len, d_v)`.
            attention_mask: as in the call.

        Returns:
            tensor of shape `(batch, query_len, d_model)`.
        """
        queries = self._project_query(query)
        return self._attend(queries, keys, values, attention_mask)

    def init_cache(self, batch, num_slots=None):
        """Returns the keys and values of no position yet.

        Args:
            batch: Number of sentences, an integer or a scalar tensor.
            num_slots: Number of positions times the number of beams. By default
                the cache grows with each position.

        Returns:
            Keys `(batch, num_heads, num_slots, d_k)` and values
            `(batch, num_heads, num_slots, d_v)`, a pair of slots.
        """
        return tuple(
            empty_slots(
                (batch, self.num_heads),
                num_slots,
                (width,),
                dtype=self.compute_dtype,
            )
            for width in (self.d_k, self.d_v)
        )

    def step(self, query, cache, position, visible):
        """Self-attention of a sentence's beams to all that led to them.

        The beams stand where positions would: they share the sentence's keys
        and values, among which `visible` chooses.

        Args:
            query: tensor of shape `(batch, beam, d_model)`, the newest position
                of each beam.
            cache: keys and values of all beams at all positions before, as
                `init_cache` makes them.
            position: scalar integer tensor, the position of `query`.
            visible: boolean tensor of shape `(batch, beam, num_slots)`, those
                of `query` among the slots (`ancestor_mask`).

        Returns:
            tensor of shape `(batch, beam, d_model)`, and the cache with the
            newest keys and values in it.
        """
        # Three products: to join the kernels would copy them at each step.
        queries = self._project_query(query)
        keys = self._split_heads(
            self._project(query, self.key_kernel), self.d_k
        )
        values = self._split_heads(
            self._project(query, self.value_kernel), self.d_v
        )
        cache = tuple(
            slots.write(newest, position)
            for slots, newest in zip(cache, (keys, values))
        )
        keys, values = (slots.entries for slots in cache)
        return self._attend(queries, keys, values, visible), cache

    def _attend(
        self,
        queries,
        keys,
        values,
        attention_mask=None,
        return_weights=False,
        training=None,
    ):
        queries = queries * ops.cast(self.d_k**-0.5, queries.dtype)
        scores = ops.matmul(queries, ops.transpose(keys, (0, 1, 3, 2)))
        scores = ops.cast(scores, "float32")
        if attention_mask is not None:
            allowed = ops.cast(attention_mask, "float32")
            allowed = ops.expand_dims(allowed, -3)  # the same for all heads
            scores = scores + (1.0 - allowed) * MASKED_SCORE
        weights = ops.softmax(scores, axis=-1)
        dropped = self.dropout_layer(
            ops.cast(weights, values.dtype), training=training
        )
        heads = ops.matmul(dropped, values)
        output = self._project(self._join_heads(heads), self.output_kernel)
        return (output, weights) if return_weights else output

    def _restrict(self, attention_mask, query):
        if self.neighbourhood is None:
            return attention_mask
        near = neighbourhood_mask(ops.shape(query)[1], self.neighbourhood)
        return combine_masks(attention_mask, near)

    def _project_query(self, query):
        queries = self._project(query, self.query_kernel)
        return self._split_heads(queries, self.d_k)

    def _project_all(self, query):
        kernels = (self.query_kernel, self.key_kernel, self.value_kernel)
        projected = self._project(query, *kernels)
        width = self.num_heads * self.d_k
        # Not slices, whose gradients each fill a whole array with zeros.
        queries, keys, values = ops.split(projected, [width, 2 * width], -1)
        return (
            self._split_heads(queries, self.d_k),
            self._split_heads(keys, self.d_k),
            self._split_heads(values, self.d_v),
        )

    def _project(self, x, *kernels):
        # One product for all; the cast because `step` runs outside of
        # `__call__`, where Keras casts no weights.
        kernel = kernels[0]
        if len(kernels) > 1:
            kernel = ops.concatenate(kernels, axis=-1)
        return project(x, ops.cast(kernel, self.compute_dtype))

    def _split_heads(self, x, width):
        batch, length = ops.shape(x)[:2]
        x = ops.reshape(x, (batch, length, self.num_heads, width))
        return ops.transpose(x, (0, 2, 1, 3))  # (batch, heads, length, width)

    def _join_heads(self, x):
        x = ops.transpose(x, (0, 2, 1, 3))  # (batch, length, heads, d_v)
        batch, length = ops.shape(x)[:2]
        return ops.reshape(x, (batch, length, self.num_heads * self.d_v))

    def _add_kernel(self, name, rows, columns, initializer="glorot_uniform"):
        return self.add_weight(
            name=name, shape=(rows, columns), initializer=initializer
        )

    def get_config(self):
        return {
            **super().get_config(),
            "d_model": self.d_model,
            "num_heads": self.num_heads,
            "d_k": self.d_k,
            "d_v": self.d_v,
            "attention_dropout": self.attention_dropout,
            "neighbourhood": self.neighbourhood,
        }
