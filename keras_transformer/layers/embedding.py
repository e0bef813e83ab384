"""The matrices that embed token ids and project to logits."""

import math

import keras
from keras import ops

from keras_transformer.layers.projection import project
from keras_transformer.layers.sequence_layer import SequenceLayer
from keras_transformer.layers.sequence_layer import check_choice
from keras_transformer.layers.sequence_layer import check_vectors
from keras_transformer.masks import check_padded
from keras_transformer.serialization import serializable


@serializable
class SharedEmbedding(SequenceLayer):
    """Embeds token ids, and projects vectors back to logits over them.

    Section 3.4 of Vaswani et al. (2017): both embeddings and the pre-softmax
    transformation share one matrix, and embeddings are multiplied by
    sqrt(d_model). The matrix starts with standard deviation d_model^-0.5, so
    that scaled embeddings start with unit variance. Padding is embedded like
    any other id: compute `masks.padding_mask` from the ids and pass it to the
    layers that attend.

    Args:
        vocab_size: Integer number of token ids.
        d_model: Integer width of a vector.
        scale_embeddings: Boolean, whether embeddings are multiplied by
            sqrt(d_model). Defaults to True.

    Call arguments:
        x: Integer ids of shape `(batch, length)`, or with `reverse` a tensor
            of shape `(batch, length, d_model)`.
        reverse: Boolean, whether to project to logits instead of embedding.
            Defaults to False.
        num_ids: Integer number of logits to compute, for the first ids.
            Defaults to None, which means all ids.

    Returns:
        Tensor of shape `(batch, length, d_model)`, or with `reverse`
        `(batch, length, num_ids)`.

    Example:

    >>> import numpy as np
    >>> embedding = SharedEmbedding(vocab_size=100, d_model=8)
    >>> x = embedding(np.array([[5, 7, 1]]))
    >>> embedding(x, reverse=True).shape
    TensorShape([1, 3, 100])
    """

    def __init__(self, vocab_size, d_model, scale_embeddings=True, **kwargs):
        super().__init__(**kwargs)
        self.scale_embeddings = scale_embeddings
        # Ids may arrive as floats, and bfloat16 would round 257 to 256.
        self.autocast = False
        self.vocab_size = vocab_size
        self.d_model = d_model

    def build(self, input_shape=None):
        self.embeddings = self.add_embeddings("embeddings", self.vocab_size)

    def add_embeddings(self, name, vocab_size):
        """Adds a matrix with a row of weights for each id."""
        initializer = keras.initializers.RandomNormal(stddev=self.d_model**-0.5)
        return self.add_matrix(name, (vocab_size, self.d_model), initializer)

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.d_model)

    def call(self, x, reverse=False, num_ids=None):
        if reverse:
            return self.project(self.embeddings, x, num_ids)
        return self.look_up(self.embeddings, x)

    def look_up(self, matrix, ids):
        """Embeds ids `(batch, length)` by rows of `(vocab_size, d_model)`."""
        check_padded(ids)
        ids = ops.cast(ids, "int32")
        vectors = self.merge(matrix, ids)  # (batch, length, d_model)
        # Cast after the look-up, which needs a few rows of a large matrix.
        vectors = ops.cast(vectors, self.compute_dtype)
        if not self.scale_embeddings:
            return vectors
        return vectors * ops.cast(math.sqrt(self.d_model), self.compute_dtype)

    def project(self, matrix, x, num_ids=None, bias=None, training=None):
        """Projects vectors to one logit for each of the first rows of a matrix.

        `matrix` is `(vocab_size, d_model)`, and `x` is `(batch, length,
        d_model)`. The `bias` is a vector, `(vocab_size,)`, and `training` as in
        `projection.add_bias`. Returns `(batch, length, num_ids)`, by default
        for all rows.
        """
        check_vectors(x, self.d_model)
        kernel = ops.convert_to_tensor(self.merge(matrix))[:num_ids]
        kernel = ops.transpose(kernel)  # (d_model, num_ids)
        # Without `autocast`, the largest product of the model would otherwise
        # be computed in float32, as in `keras.layers.ReversibleEmbedding`.
        kernel = ops.cast(kernel, self.compute_dtype)
        if bias is not None:
            bias = ops.convert_to_tensor(bias)[:num_ids]
        x = ops.cast(x, self.compute_dtype)
        return project(x, kernel, bias, training=training)


TIED_EMBEDDINGS = ("all", "target", "none")


@serializable
class TokenEmbeddings(SharedEmbedding):
    """Embeds inputs and targets, and projects to logits over the targets.

    `tied_embeddings` says which of the three share a matrix:

    - `all`: one matrix, `embeddings`, as in section 3.4 of Vaswani et al.
      (2017). Inputs and targets must have one vocabulary.
    - `target`: targets and softmax share `embeddings`, and inputs have
      `input_embeddings`.
    - `none`: targets have `embeddings`, inputs have `input_embeddings`, and the
      softmax has `softmax_weights`.

    All are initialised like the matrix of `SharedEmbedding`. A call embeds
    targets, or with `reverse` projects states to logits over their vocabulary.

    Args:
        vocab_size: Integer number of token ids of the targets.
        d_model: Integer width of a vector.
        tied_embeddings: String, one of `TIED_EMBEDDINGS`. Defaults to "all".
        input_vocab_size: Integer number of token ids of the inputs. Defaults
            to None, which means `vocab_size`.
        output_bias: Boolean, whether the logits have a bias. Defaults to
            False, as in the paper.
        scale_embeddings: Boolean, as in `SharedEmbedding`. Defaults to True.

    Example:

    >>> import numpy as np
    >>> embedding = TokenEmbeddings(
    ...     vocab_size=100, d_model=8, tied_embeddings="none"
    ... )
    >>> embedding.build()
    >>> x = embedding.embed_inputs(np.array([[5, 7, 1]]))
    >>> embedding.logits(x).shape
    TensorShape([1, 3, 100])
    """

    def __init__(
        self,
        vocab_size,
        d_model,
        tied_embeddings="all",
        input_vocab_size=None,
        output_bias=False,
        scale_embeddings=True,
        **kwargs,
    ):
        super().__init__(vocab_size, d_model, scale_embeddings, **kwargs)
        self.output_bias = output_bias
        self.tied_embeddings = check_choice(
            "tied_embeddings", tied_embeddings, TIED_EMBEDDINGS, "all"
        )
        self.input_vocab_size = input_vocab_size or vocab_size
        if tied_embeddings == "all" and self.input_vocab_size != vocab_size:
            raise ValueError(
                "One matrix for inputs and targets needs one vocabulary. "
                f"Received: tied_embeddings='all', vocab_size={vocab_size}, "
                f"input_vocab_size={input_vocab_size}. Use "
                'tied_embeddings="target".'
            )

    def build(self, input_shape=None):
        super().build(input_shape)
        self.input_embeddings = self.softmax_weights = self.embeddings
        size, self.bias = self.vocab_size, None
        if self.tied_embeddings != "all":
            self.input_embeddings = self.add_embeddings(
                "input_embeddings", self.input_vocab_size
            )
        if self.tied_embeddings == "none":
            self.softmax_weights = self.add_embeddings("softmax_weights", size)
        if self.output_bias:
            self.bias = self.add_bias("output_bias", size)

    def embed_inputs(self, ids, kept=None):
        """Embeds ids of inputs, `(batch, length)`.

        Where `kept`, booleans of the shape of the ids, is False, the vector is
        zero. Returns a tensor of shape `(batch, length, d_model)`.
        """
        return _only(kept, self.look_up(self.input_embeddings, ids))

    def embed_targets(self, ids, kept=None):
        """Embeds the ids of targets; see `embed_inputs`."""
        return _only(kept, self.look_up(self.embeddings, ids))

    def logits(self, states, num_ids=None, training=None):
        """Projects states `(batch, length, d_model)` to logits of target ids.

        Returns logits of the first `num_ids` ids, or of all, as a tensor of
        shape `(batch, length, num_ids)`. `training` is as in
        `projection.add_bias`.
        """
        matrix = self.softmax_weights
        return self.project(matrix, states, num_ids, self.bias, training)

    def factors(self, states):
        """Returns two factors of the logits of states, bias included.

        They are vectors `(batch, length, width)` and a matrix `(vocab_size,
        width)`. Losses take them instead of the logits, which are larger.
        """
        matrix = self.merge(self.softmax_weights)
        if self.bias is None:
            return states, matrix
        # The bias becomes one more column, and each vector ends in a one.
        matrix = ops.concatenate(
            [matrix, ops.expand_dims(self.bias, 1)], axis=1
        )  # (vocab_size, d_model + 1)
        ones = ops.ones_like(states[..., :1])
        return ops.concatenate([states, ones], axis=-1), matrix

    def call(self, x, reverse=False, num_ids=None):
        return self.logits(x, num_ids) if reverse else self.embed_targets(x)


def _only(kept, vectors):
    if kept is None:
        return vectors
    return ops.where(ops.expand_dims(kept, 2), vectors, ops.zeros_like(vectors))
