"""The Transformer: embeddings, encoder, decoder and softmax weights."""

import keras
from keras import ops

from keras_transformer.layers import Decoder
from keras_transformer.layers import Dropout
from keras_transformer.layers import Encoder
from keras_transformer.layers import LearnedPositionalEncoding
from keras_transformer.layers import SharedEmbedding
from keras_transformer.layers import SinusoidalPositionalEncoding
from keras_transformer.masks import padding_mask
from keras_transformer.masks import segment_numbers
from keras_transformer.masks import segment_positions
from keras_transformer.serialization import serializable

POSITIONAL_ENCODINGS = ("sinusoidal", "learned")
# Keras dtype policy of each precision that training and decoding offer.
POLICIES = {
    "float32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}


@serializable
class Transformer(keras.Model):
    """Maps a sequence of token ids to another.

    The model of Vaswani et al. (2017). One matrix embeds inputs and targets
    and projects to logits (section 3.4); 0 is the id of padding. The decoder
    sees the targets shifted right by one position, a zero vector first, so
    that no begin id is needed: `targets` go in and stand as labels unchanged.

    Args:
        vocab_size: number of token ids, padding included.
        num_layers: N, layers of the encoder and of the decoder.
        d_model: width of the model.
        num_heads: h, the number of attention heads.
        d_ff: width of the feed-forward networks' inner layer.
        d_k: width of a head's queries and keys, by default d_model / h.
        d_v: width of a head's values, by default d_model / h.
        dropout: P_drop, of sub-layer outputs and of embeddings plus positions.
        attention_dropout: share of attention weights that is dropped.
        activation_dropout: share of inner feed-forward activations dropped.
        norm: "post" as in the paper, or "pre".
        positional_encoding: "sinusoidal", or "learned" (table 3, row E).
        max_length: number of learned positions.
        neighbourhood: r, restricts self-attention to positions at most r away.
        packed: whether a row may hold several sequences, one after another,
            each with the end id 1 at its end. Every sequence then attends to
            itself alone, and its positions count from 0. Rows of one sequence
            give the same as without.

    Call arguments:
        features: dictionary of `inputs`, integer ids `(batch, input_len)`, and
            `targets`, integer ids `(batch, target_len)`.
        return_weights: whether to return the attention weights as well.

    Returns:
        logits of shape `(batch, target_len, vocab_size)`; with
        `return_weights` also a dictionary of lists, a tensor per layer:
        `encoder` `(batch, num_heads, input_len, input_len)`, `decoder`
        `(batch, num_heads, target_len, target_len)` and `cross`
        `(batch, num_heads, target_len, input_len)`.

    Example:

    >>> import numpy as np
    >>> model = Transformer(
    ...     vocab_size=100, num_layers=1, d_model=8, num_heads=2, d_ff=16
    ... )
    >>> ids = np.array([[5, 7, 1]])
    >>> model({"inputs": ids, "targets": ids}).shape
    TensorShape([1, 3, 100])
    """

    def __init__(
        self,
        vocab_size,
        num_layers=6,
        d_model=512,
        num_heads=8,
        d_ff=2048,
        d_k=None,
        d_v=None,
        dropout=0.1,
        attention_dropout=0.0,
        activation_dropout=0.0,
        norm="post",
        positional_encoding="sinusoidal",
        max_length=256,
        neighbourhood=None,
        packed=False,
        name="transformer",
        **kwargs,
    ):
        super().__init__(name=name, **kwargs)
        self.autocast = False  # of ids, see `SharedEmbedding`
        self.stack_options = {
            "num_layers": num_layers,
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
        self.vocab_size = vocab_size
        self.d_model = d_model
        self.positional_encoding = positional_encoding
        self.max_length = max_length
        self.packed = packed
        shared = {"dtype": self.dtype_policy}
        self.embedding = SharedEmbedding(
            vocab_size, d_model, name="embedding", **shared
        )
        self.input_positions = self._make_positions("input_positions")
        self.target_positions = self._make_positions("target_positions")
        self.input_dropout = Dropout(dropout, name="input_dropout", **shared)
        self.target_dropout = Dropout(dropout, name="target_dropout", **shared)
        self.encoder = Encoder(**self.stack_options, name="encoder", **shared)
        self.decoder = Decoder(**self.stack_options, name="decoder", **shared)

    def build(self, features_shape=None):
        sequence = (None, None, self.d_model)
        self.embedding.build()
        self.input_positions.build(sequence)
        self.target_positions.build(sequence)
        self.encoder.build(sequence)
        self.decoder.build(sequence)
        self.built = True

    def call(self, features, return_weights=False, training=None):
        decoded, weights = self._decode(features, training)
        logits = self.embedding(decoded, reverse=True)
        return (logits, weights) if return_weights else logits

    def decoded(self, features, training=None):
        """Computes what the logits are projected from.

        For a loss that does without logits (`projected_cross_entropy`).

        Args:
            features: as in the call.
            training: whether to drop out.

        Returns:
            tensor of shape `(batch, target_len, d_model)`.
        """
        return self._decode(features, training)[0]

    def _decode(self, features, training):
        inputs, targets = features["inputs"], features["targets"]
        mask = padding_mask(inputs)
        input_segments = segment_numbers(inputs) if self.packed else None
        target_segments = segment_numbers(targets) if self.packed else None
        encoded, encoder_weights = self.encoder(
            self._embed_inputs(inputs, input_segments, training),
            mask,
            segments=input_segments,
            return_weights=True,
            training=training,
        )
        decoded, decoder_weights, cross_weights = self.decoder(
            self._embed_targets(targets, target_segments, training),
            encoded,
            mask,
            segments=target_segments,
            encoded_segments=input_segments,
            return_weights=True,
            training=training,
        )
        return decoded, {
            "encoder": encoder_weights,
            "decoder": decoder_weights,
            "cross": cross_weights,
        }

    def encode(self, inputs):
        """Encodes once what `decode_step` attends to.

        Args:
            inputs: integer ids of shape `(batch, input_len)`.

        Returns:
            tensor of shape `(batch, input_len, d_model)` and the boolean
            padding mask `(batch, input_len)`.
        """
        mask = padding_mask(inputs)
        return self.encoder(self._embed_inputs(inputs), mask), mask

    def init_cache(self, encoded, mask, beam_size, fixed_length=None):
        """Prepares decoding step by step.

        Args:
            encoded, mask: Tensors as `encode` returns them.
            beam_size, fixed_length: Arguments of `Decoder.init_cache`.

        Returns:
            A `DecoderCache`. It reorders its beams itself.
        """
        return self.decoder.init_cache(encoded, mask, beam_size, fixed_length)

    def decode_step(self, ids, position, cache, num_ids=None):
        """Computes the logits of the next token of each hypothesis.

        Args:
            ids: integer tensor of shape `(batch, beam)`, the tokens before
                `position`; ignored at position 0.
            position: scalar integer tensor, counted from 0.
            cache: A `DecoderCache`.
            num_ids: how many ids get logits, the first ones; by default all.

        Returns:
            float32 logits of shape `(batch, beam, num_ids)`; the cache.
        """
        x = self.embedding(ids)  # (batch, beam, d_model)
        x = x * ops.cast(position > 0, x.dtype)
        origin = ops.zeros((1, 1, self.d_model), dtype=x.dtype)
        x = x + self.target_positions(origin, start=position)
        x, cache = self.decoder.step(x, cache, position)
        logits = self.embedding(x, reverse=True, num_ids=num_ids)
        return ops.cast(logits, "float32"), cache

    def _embed_inputs(self, inputs, segments=None, training=None):
        x = self.embedding(inputs)
        positions = None if segments is None else segment_positions(segments)
        x = self.input_positions(x, positions=positions)
        return self.input_dropout(x, training=training)

    def _embed_targets(self, targets, segments, training):
        y = self.embedding(targets)
        y = ops.pad(y[:, :-1], [[0, 0], [1, 0], [0, 0]])  # shifted right
        positions = None
        if segments is not None:
            positions = segment_positions(segments)
            is_first = ops.equal(positions, 0)[:, :, None]
            y = ops.where(is_first, ops.zeros_like(y), y)
        y = self.target_positions(y, positions=positions)
        return self.target_dropout(y, training=training)

    def _make_positions(self, name):
        shared = {"name": name, "dtype": self.dtype_policy}
        if self.positional_encoding == "sinusoidal":
            return SinusoidalPositionalEncoding(**shared)
        if self.positional_encoding == "learned":
            return LearnedPositionalEncoding(
                self.max_length, self.d_model, **shared
            )
        raise ValueError(
            "`positional_encoding` must be one of "
            f"{', '.join(POSITIONAL_ENCODINGS)}. Received: "
            f"positional_encoding={self.positional_encoding!r}. "
            'Use "sinusoidal" for the paper\'s model.'
        )

    def get_config(self):
        return {
            **super().get_config(),
            **self.stack_options,
            "vocab_size": self.vocab_size,
            "positional_encoding": self.positional_encoding,
            "max_length": self.max_length,
            "packed": self.packed,
        }


def build_transformer(hparams, vocab_size, dtype=None):
    """Builds the model that an hparams set describes, its weights made.

    Args:
        hparams: an `HParams`.
        vocab_size: number of token ids, padding included.
        dtype: Keras dtype policy, e.g. "mixed_bfloat16".

    Returns:
        a `Transformer`.

    Example:

    >>> from keras_transformer.hparam import HParams
    >>> hparams = HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16)
    >>> build_transformer(hparams, vocab_size=100).count_params()
    2208
    """
    model = Transformer(
        vocab_size,
        num_layers=hparams.num_layers,
        d_model=hparams.d_model,
        num_heads=hparams.num_heads,
        d_ff=hparams.d_ff,
        d_k=hparams.d_k or None,
        d_v=hparams.d_v or None,
        dropout=hparams.dropout,
        attention_dropout=hparams.attention_dropout,
        activation_dropout=hparams.activation_dropout,
        norm=hparams.norm,
        positional_encoding=hparams.positional_encoding,
        max_length=hparams.max_length,
        neighbourhood=hparams.neighbourhood or None,
        packed=hparams.packed,
        dtype=dtype,
    )
    model.build()
    return model
