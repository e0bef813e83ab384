"""Multi-head scaled dot-product attention."""

import functools

from keras import ops

from keras_transformer import errors
from keras_transformer.layers import projection
from keras_transformer.layers.cache import count_remembered
from keras_transformer.layers.cache import make_slots
from keras_transformer.layers.dropout import make_inner_dropout
from keras_transformer.layers.local_attention import attend_to_neighbours
from keras_transformer.layers.relative_positions import Distances
from keras_transformer.layers.relative_positions import add_tables
from keras_transformer.layers.sequence_layer import SequenceLayer
from keras_transformer.layers.sequence_layer import check_masks
from keras_transformer.layers.sequence_layer import check_sequence
from keras_transformer.layers.sequence_layer import check_vectors
from keras_transformer.masks import combine_masks
from keras_transformer.masks import self_attention_mask
from keras_transformer.serialization import serializable

# Its exponential is exactly 0. Minus infinity would turn a row that is masked
# throughout into NaN.
MASKED_SCORE = -1e9


@serializable
class MultiHeadAttention(SequenceLayer):
    """Attends from several learned subspaces at once.

    Computes `Concat(head_1, ..., head_h) W_O` with
    `head_i = softmax(Q W_Qi (K W_Ki)^T / sqrt(d_k)) V W_Vi`, section 3.2.2 of
    Vaswani et al. (2017). With `query` alone it is self-attention. With
    `memory` it attends from `query` to `memory`. The projections of the paper
    have no bias. The softmax is computed in float32 in every precision.

    Pass the `padding_mask` whenever the keys are padded, `causal` in a language
    model, `segments` if rows are packed, and an `attention_mask` for any other
    rule. A query may attend to a key only if all of them allow it. The output
    of a query that may attend to no key is finite but meaningless. With a
    `neighbourhood_size`, self-attention takes time and memory linear in the
    length, unless an `attention_mask` is given or the weights are returned.

    To attend in another way, derive a class and override `compute_attention`.
    Encoder and decoder layers take the class as their argument `attention`.

    Args:
        d_model: Integer width of inputs and output.
        num_heads: Integer, h, the number of heads. Must divide `d_model` unless
            `d_k` and `d_v` are set.
        d_k: Integer width of queries and keys in a head.
        d_v: Integer width of a head's values. Both widths default to
            `d_model / num_heads`.
        attention_dropout: Float, the share of attention weights that is
            dropped. The paper's translation models use none, Tensor2Tensor's
            later sets 0.1. Defaults to 0.0.
        neighbourhood_size: Integer, r, the number of neighbouring positions,
            itself included, that a position attends to in self-attention
            (`masks.neighbourhood_mask`). Defaults to 0, no restriction.
        initializer: String, "small_branch_ends", "tensor2tensor" or "glorot",
            the initial values of the kernels; see `layers.projection`.
            Defaults to "small_branch_ends".
        attention_bias: Boolean, whether the four projections have a bias.
            Defaults to False.
        max_relative_position: Integer, k, the distance up to which each one has
            a learned vector in self-attention, one for keys and one for values
            (Shaw et al., 2018). Defaults to 0, no vectors.

    Call arguments:
        query: Tensor of shape `(batch, query_len, d_model)`.
        memory: Tensor of shape `(batch, key_len, d_model)`, by default `query`.
        attention_mask: Boolean tensor that broadcasts to
            `(batch, query_len, key_len)`, True where a query may attend to a
            key. Defaults to None, which hides nothing.
        padding_mask: Boolean tensor of shape `(batch, key_len)`, True for real
            tokens. Defaults to None, which means that all are real.
        segments: Integer tensor of shape `(batch, query_len)` for packed rows,
            in self-attention. Positions attend only to those with the same
            number. Defaults to None.
        causal: Boolean, whether self-attention hides later positions. Defaults
            to False.
        return_weights: Boolean, whether to return the attention weights as
            well. Defaults to False.

    Returns:
        Tensor of shape `(batch, query_len, d_model)`. With `return_weights`
        also the attention weights, a float32 tensor of shape
        `(batch, num_heads, query_len, key_len)`.

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
        neighbourhood_size=0,
        initializer=projection.SMALL_BRANCH_ENDS,
        attention_bias=False,
        max_relative_position=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        errors.check_heads(d_model, num_heads, d_k, d_v)
        if neighbourhood_size < 0:
            raise ValueError(
                "`neighbourhood_size` must be 0 or more. Received: "
                f"neighbourhood_size={neighbourhood_size}. Use 0 to attend to "
                "all positions."
            )
        if max_relative_position < 0:
            raise ValueError(
                "`max_relative_position` must be 0 or more. Received: "
                f"max_relative_position={max_relative_position}. Use 0 for no "
                "vectors."
            )
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_k or d_model // num_heads
        self.d_v = d_v or d_model // num_heads
        self.attention_dropout = attention_dropout
        self.neighbourhood_size = neighbourhood_size
        self.initializer = projection.check_initializer(initializer)
        self.attention_bias = attention_bias
        self.max_relative_position = max_relative_position
        self.dropout_layer = make_inner_dropout(
            attention_dropout, self.dtype_policy
        )

    def build(self, query_shape, memory_shape=None):
        for shape in filter(None, (query_shape, memory_shape)):
            check_sequence(shape, self.d_model)
        keys_width = self.num_heads * self.d_k
        values_width = self.num_heads * self.d_v
        # The projections of `memory`, which is `query` in self-attention.
        joint_width = keys_width + values_width
        query_width = keys_width
        if memory_shape is None:
            query_width = joint_width = joint_width + keys_width
        self.query_kernel, self.key_kernel, self.value_kernel = (
            self.add_matrix(
                name,
                (self.d_model, columns),
                projection.make_projection_initializer(
                    self.initializer, self.d_model, joint_columns
                ),
            )
            for name, columns, joint_columns in (
                ("query", keys_width, query_width),
                ("key", keys_width, joint_width),
                ("value", values_width, joint_width),
            )
        )
        self.output_kernel = self.add_matrix(
            "output",
            (values_width, self.d_model),
            projection.make_branch_end_initializer(self.initializer),
        )
        self.biases = {}  # by the name of the projection
        if self.attention_bias:
            for name in ("query", "key", "value", "output"):
                width = getattr(self, f"{name}_kernel").shape[-1]
                self.biases[name] = self.add_bias(f"{name}_bias", width)
        if self.max_relative_position and memory_shape is None:
            self.relative_tables = add_tables(self)

    # Keras would fill arguments called `mask` or `query_mask` with its masks.
    def call(
        self,
        query,
        memory=None,
        attention_mask=None,
        padding_mask=None,
        segments=None,
        causal=False,
        return_weights=False,
        training=None,
    ):
        attention_mask, *masks = check_masks(
            query,
            query if memory is None else memory,
            causal,
            attention_mask=attention_mask,
            padding_mask=padding_mask,
            segments=segments,
        ).values()
        size, positions = 0, None
        if memory is None:
            projected = self._project_all(query, training)
            size = self.neighbourhood_size
            positions = ops.expand_dims(
                ops.arange(ops.shape(query)[1], dtype="int32"), 0
            )
        else:
            projected = (
                *self._project(query, "query", training=training),
                *self.project_memory(memory, training),
            )
        masks.append(causal)
        if size and attention_mask is None and not return_weights:
            attend = functools.partial(
                self.compute_attention, training=training
            )
            heads = attend_to_neighbours(attend, *projected, size, *masks)
            return self._project_heads(heads, training)
        visible = self_attention_mask(ops.shape(query)[1], *masks, size)
        visible = combine_masks(attention_mask, visible)
        heads, weights = self.compute_attention(
            *projected,
            visible,
            training,
            query_positions=positions,
            key_positions=positions,
        )
        output = self._project_heads(heads, training)
        return (output, weights) if return_weights else output

    def compute_attention(
        self,
        queries,
        keys,
        values,
        attention_mask=None,
        training=None,
        query_positions=None,
        key_positions=None,
        bias=None,
    ):
        """Computes `softmax(Q K^T / sqrt(d_k)) V` in every head.

        Section 3.2.1 of Vaswani et al. (2017). The softmax is always computed
        in float32. A query that may attend to no key attends equally to all.
        Vectors of `max_relative_position` are added where there are positions.

        Override this method to attend in another way. It serves teacher forcing
        and step-by-step decoding alike. In a step, the beams are on the axis
        of queries and the cache on the axis of keys, so only the positions tell
        how far a key is from a query. With a `neighbourhood_size` it is also
        called with an axis of blocks after `num_heads` in queries, keys and
        values, and after `batch` in mask and positions.

        Args:
            queries: Tensor of shape `(batch, num_heads, query_len, d_k)`.
            keys: Tensor of shape `(batch, num_heads, key_len, d_k)`.
            values: Tensor of shape `(batch, num_heads, key_len, d_v)`.
            attention_mask: Boolean tensor that broadcasts to
                `(batch, query_len, key_len)`, or None.
            training: Boolean or None, whether dropout is active.
            query_positions: Integer tensor that broadcasts to
                `(batch, query_len)`, the position of each query in its row.
                None in cross-attention, where positions are of two sequences.
            key_positions: Integer tensor that broadcasts to `(batch, key_len)`,
                likewise of the keys. Those that the mask hides may be negative.
            bias: Tensor that broadcasts to the weights and is added to the
                scores before the softmax, for subclasses. Defaults to None.

        Returns:
            Tensor of shape `(batch, num_heads, query_len, d_v)`, and the
            float32 weights `(batch, num_heads, query_len, key_len)` before
            dropout.
        """
        # Not `ops.dot_product_attention`: it has no dropout, and on TensorFlow
        # it takes up to 1.9 times as long as these products.
        # Scaled before the product, so that float16 scores stay in range.
        queries = queries * ops.cast(keys.shape[-1] ** -0.5, queries.dtype)
        keys = ops.swapaxes(keys, -1, -2)  # (batch, num_heads, d_k, key_len)
        # A softmax in low precision would not sum to one.
        scores = ops.cast(ops.matmul(queries, keys), "float32")
        distances = None
        if self.max_relative_position and query_positions is not None:
            distances = Distances(query_positions, key_positions)
            key_table, value_table = map(self._cast, self.relative_tables)
            products = distances.score(queries, key_table)
            scores = scores + ops.cast(products, "float32")
        if bias is not None:
            scores = scores + ops.cast(bias, "float32")
        if attention_mask is not None:
            allowed = ops.cast(attention_mask, "float32")
            # The second axis is for the heads, which all have the same mask.
            allowed = ops.expand_dims(allowed, 1 - len(queries.shape))
            scores = scores + (1.0 - allowed) * MASKED_SCORE
        weights = ops.softmax(scores, axis=-1)
        dropped = ops.cast(weights, values.dtype)
        dropped = self.dropout_layer(dropped, training=training)
        heads = ops.matmul(dropped, values)
        if distances is not None:
            heads = heads + distances.sum(dropped, value_table)
        return heads, weights

    def project_memory(self, memory, training=None):
        """Computes keys and values once, to be attended to many times.

        `memory` is `(batch, key_len, d_model)`. Returns keys `(batch,
        num_heads, key_len, d_k)` and values `(batch, num_heads, key_len, d_v)`.
        """
        return self._project(memory, "key", "value", training=training)

    def attend(self, query, keys, values, attention_mask=None):
        """Attends to keys and values from `project_memory`.

        Query and result are `(batch, query_len, d_model)`. The mask is as in
        the call.
        """
        (queries,) = self._project(query, "query")
        heads, _ = self.compute_attention(queries, keys, values, attention_mask)
        return self._project_heads(heads)

    def init_cache(self, batch, num_slots=None):
        """Makes empty slots for the keys and values of earlier positions.

        `batch` is the number of sentences, an integer or a scalar tensor, and
        `num_slots` the number of positions times the number of beams. Without
        it, the cache grows with each position. Returns keys `(batch, num_heads,
        num_slots, d_k)` and values `(batch, num_heads, num_slots, d_v)`.
        """
        leading, dtype = (batch, self.num_heads), self.compute_dtype
        return tuple(
            make_slots(leading, num_slots, (width,), dtype=dtype)
            for width in (self.d_k, self.d_v)
        )

    def step(self, query, cache, position, visible, key_positions=None):
        """Attends from the newest position of each beam to its ancestors.

        The beams of a sentence are on the axis of query positions. They share
        the sentence's keys and values, among which `visible` selects.

        Args:
            query: Tensor of shape `(batch, beam, d_model)`, the newest position
                of each beam.
            cache: Keys and values of all beams at all earlier positions, as
                `init_cache` or an earlier step returned them.
            position: Scalar integer tensor, the position of `query`.
            visible: Boolean tensor of shape `(batch, beam, num_slots)`, the
                slots that each beam may attend to (`ancestor_mask`).
            key_positions: Integer tensor of shape `(1, num_slots)`, each slot's
                position. Only relative positions and subclasses need it.
                Defaults to None.

        Returns:
            Tensor of the shape of `query`, and the cache with its keys and
            values in it.
        """
        # Three products, since joining the kernels copies them at each step.
        queries, keys, values = (
            self._project(query, name)[0] for name in ("query", "key", "value")
        )
        limit = count_remembered(self.neighbourhood_size)
        cache = tuple(
            slots.write(newest, position, limit)
            for slots, newest in zip(cache, (keys, values))
        )
        keys, values = (slots.entries for slots in cache)
        heads, _ = self.compute_attention(
            *(queries, keys, values, visible),
            query_positions=ops.reshape(position, (1, 1)),
            key_positions=key_positions,
        )
        return self._project_heads(heads), cache

    def _project_all(self, query, training=None):
        # A subclass of the benchmark leaves out these matrices.
        names = "query", "key", "value"
        return self._project(query, *names, training=training)

    def _project(self, x, *names, training=None):
        check_vectors(x, self.d_model)
        kernels = [
            self._cast(self.merge(getattr(self, f"{name}_kernel")))
            for name in names
        ]
        biases = [
            self._cast(self.biases[name]) for name in names if self.biases
        ]
        return projection.project_to_heads(
            x, kernels, self.num_heads, biases, training
        )

    def _project_heads(self, heads, training=None):
        bias = self._cast(self.biases["output"]) if self.biases else None
        kernel = self._cast(self.merge(self.output_kernel))
        # (batch, query_len, num_heads, d_v)
        heads = ops.transpose(heads, (0, 2, 1, 3))
        return projection.project(heads, kernel, bias, training=training)

    def _cast(self, weight):
        # `step` runs outside `__call__`, where Keras does not cast weights.
        return ops.cast(weight, self.compute_dtype)
