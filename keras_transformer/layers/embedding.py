"""One matrix as source embedding, target embedding and softmax weights."""

import math

import keras
from keras import ops

from keras_transformer.layers.projection import project
from keras_transformer.serialization import serializable


@serializable
class SharedEmbedding(keras.layers.Layer):
    """Embeds token ids, and projects vectors back to logits over them.

    Section 3.4 of Vaswani et al. (2017): both embeddings and the pre-softmax
    transformation share one matrix, and embeddings are multiplied by
    sqrt(d_model). The matrix starts with standard deviation d_model^-0.5, so
    that scaled embeddings start with unit variance.

    Args:
        vocab_size: number of token ids.
        d_model: width of a vector.

    Call arguments:
        x: integer ids of shape `(batch, length)`, or with `reverse` a tensor
            of shape `(batch, length, d_model)`.
        reverse: whether to project to logits instead of embedding.
        num_ids: how many ids get logits, the first ones; by default all.

    Returns:
        tensor of shape `(batch, length, d_model)`, or with `reverse`
        `(batch, length, num_ids)`.

    Example:

    >>> import numpy as np
    >>> embedding = SharedEmbedding(vocab_size=100, d_model=8)
    >>> x = embedding(np.array([[5, 7, 1]]))
    >>> embedding(x, reverse=True).shape
    TensorShape([1, 3, 100])
    """

    def __init__(self, vocab_size, d_model, **kwargs):
        super().__init__(**kwargs)
        # Ids may come as floats, which low precision would round: 257 to 256.
        self.autocast = False
        self.vocab_size = vocab_size
        self.d_model = d_model

    def build(self, input_shape=None):
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocab_size, self.d_model),
            initializer=keras.initializers.RandomNormal(
                stddev=self.d_model**-0.5
            ),
        )

    def call(self, x, reverse=False, num_ids=None):
        if reverse:
            return self._project(x, num_ids)
        vectors = ops.take(self.embeddings, ops.cast(x, "int32"), axis=0)
        vectors = ops.cast(vectors, self.compute_dtype)
        return vectors * ops.cast(math.sqrt(self.d_model), self.compute_dtype)

    def _project(self, x, num_ids):
        kernel = ops.convert_to_tensor(self.embeddings)[:num_ids]
        kernel = ops.transpose(kernel)
        kernel = ops.cast(kernel, self.compute_dtype)
        return project(ops.cast(x, self.compute_dtype), kernel)

    def get_config(self):
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "d_model": self.d_model,
        }
