"""The matrices of token embeddings and softmax weights of a model."""

from keras import ops

from keras_transformer.layers.embedding import SharedEmbedding
from keras_transformer.serialization import serializable

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

    All of them start like the matrix of `SharedEmbedding`, and logits have no
    bias. A call embeds targets, or with `reverse` projects states to logits
    over the targets' vocabulary.

    Args:
        vocab_size: Integer number of token ids of the targets.
        d_model: Integer width of a vector.
        tied_embeddings: String, one of `TIED_EMBEDDINGS`. Defaults to "all".
        input_vocab_size: Integer number of token ids of the inputs. Defaults
            to None, which means `vocab_size`.

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
        **kwargs,
    ):
        super().__init__(vocab_size, d_model, **kwargs)
        self.tied_embeddings = tied_embeddings
        self.input_vocab_size = input_vocab_size or vocab_size
        if tied_embeddings not in TIED_EMBEDDINGS:
            raise ValueError(
                "`tied_embeddings` must be one of "
                f"{', '.join(TIED_EMBEDDINGS)}. Received: "
                f"tied_embeddings={tied_embeddings!r}. "
                'Use "all" for the model of the paper.'
            )
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
        if self.tied_embeddings != "all":
            self.input_embeddings = self.add_matrix(
                "input_embeddings", self.input_vocab_size
            )
        if self.tied_embeddings == "none":
            self.softmax_weights = self.add_matrix(
                "softmax_weights", self.vocab_size
            )

    def embed_inputs(self, ids, kept=None):
        """Embeds the ids of inputs.

        Args:
            ids: Integer ids of shape `(batch, length)`.
            kept: Boolean tensor of the shape of `ids`. Where it is False, the
                vector is zero. Defaults to None, which keeps all.

        Returns:
            Tensor of shape `(batch, length, d_model)`.
        """
        return _only(kept, self.look_up(self.input_embeddings, ids))

    def embed_targets(self, ids, kept=None):
        """Embeds the ids of targets; see `embed_inputs`."""
        return _only(kept, self.look_up(self.embeddings, ids))

    def logits(self, states, num_ids=None):
        """Projects states `(batch, length, d_model)` to logits of target ids.

        Args:
            states: Tensor of shape `(batch, length, d_model)`.
            num_ids: Integer number of logits, those of the first ids. Defaults
                to None, which means all ids.

        Returns:
            Tensor of shape `(batch, length, num_ids)`.
        """
        return self.project(self.softmax_weights, states, num_ids)

    def call(self, x, reverse=False, num_ids=None):
        return self.logits(x, num_ids) if reverse else self.embed_targets(x)

    def get_config(self):
        return {
            **super().get_config(),
            "tied_embeddings": self.tied_embeddings,
            "input_vocab_size": self.input_vocab_size,
        }


def _only(kept, vectors):
    if kept is None:
        return vectors
    return ops.where(kept[:, :, None], vectors, ops.zeros_like(vectors))
