"""The Transformer: embeddings, encoder, decoder and softmax weights."""

import dataclasses

import keras
from keras import ops

from keras_transformer.layers import Decoder
from keras_transformer.layers import DecoderLayer
from keras_transformer.layers import Dropout
from keras_transformer.layers import Encoder
from keras_transformer.layers import TokenEmbeddings
from keras_transformer.layers.positional_encoding import make_positions
from keras_transformer.layers.sequence_layer import Quantizable
from keras_transformer.layers.sequence_layer import check_choice
from keras_transformer.layers.sequence_layer import find_quantized_policy
from keras_transformer.layers.transformer_layer import check_options
from keras_transformer.layers.transformer_layer import take_options
from keras_transformer.masks import padding_mask
from keras_transformer.masks import segment_numbers
from keras_transformer.masks import segment_positions
from keras_transformer.serialization import serializable

# The options that the embeddings take, not the layers.
EMBEDDING_OPTIONS = ("tied_embeddings", "input_vocab_size")
EMBEDDING_OPTIONS += ("scale_embeddings", "output_bias")
# The options that the model itself keeps.
OWN_OPTIONS = ("vocab_size", "positional_encoding", "max_length", "packed")
OWN_OPTIONS += ("decoder_start", "lora_rank", "lora_alpha")
PARTS = ("embedding", "encoder", "decoder")  # each may be frozen


@serializable
class Transformer(Quantizable, keras.Model):
    """Maps a sequence of token ids to another.

    The model of Vaswani et al. (2017). By default, one matrix embeds inputs and
    targets and projects to logits (section 3.4). The id 0 is padding, from
    which the model makes all its masks. The decoder sees the targets shifted
    right by one position, by default with a zero vector first. It needs no
    begin id, and the same `targets` serve as decoder input and as labels.

    Args:
        vocab_size: Integer number of token ids of targets, with padding.
        num_layers: Integer, N, the encoder's number of layers. Defaults to 6.
        d_model: Integer width of the model. Defaults to 512.
        num_heads: Integer, h, the number of attention heads. Defaults to 8.
        d_ff: Integer inner width of feed-forward networks. Defaults to 2048.
        dropout: Float, P_drop, for the outputs of sub-layers and for embeddings
            plus positions. Defaults to 0.1.
        positional_encoding: String, "sinusoidal", "tensor2tensor" for its
            sinusoids, "learned" (table 3, row E), or "none". Defaults to
            "sinusoidal".
        max_length: Integer number of learned positions. Defaults to 256.
        packed: Boolean, whether a row may hold several sequences, one after
            another, each with the end id 1 at its end. Every sequence then
            attends only to itself, and its positions count from 0. Rows of one
            sequence give the same logits as unpacked. Defaults to False.
        num_decoder_layers: Integer number of layers of the decoder. Defaults to
            None, which means `num_layers`, as in the paper.
        tied_embeddings: String, which of the embeddings share a matrix: "all",
            "target" or "none", see `layers.TokenEmbeddings`. Defaults to
            "all", as in the paper.
        input_vocab_size: Integer number of token ids of the inputs. Defaults
            to None, which means `vocab_size`.
        scale_embeddings: Boolean, whether embeddings are multiplied by
            sqrt(d_model). Defaults to True, as in the paper.
        output_bias: Boolean, whether the logits have a bias. Defaults to
            False, as in the paper.
        decoder_start: String, what precedes the first token: "zero", a vector
            of zeros, or "padding", the embedding of id 0. Defaults to "zero".
        frozen: Collection of the parts ("embedding", "encoder", "decoder")
            whose weights do not change in training. A saved model keeps them,
            even if `model.encoder.trainable = False` was set later. Defaults to
            none.
        lora_rank: Integer, the rank for `enable_lora`, which is then called as
            soon as the model is built. Defaults to None, which adapts nothing.
        lora_alpha: Float, as in `enable_lora`. Defaults to None.
        **options: Further arguments of `layers.EncoderLayer` except `causal`,
            for all layers, and `name`, `dtype` and `trainable` of a model.

    Call arguments:
        features: Dictionary of `inputs`, integer ids of shape `(batch,
            input_len)`, and `targets`, ids of shape `(batch, target_len)`.
        return_weights: Boolean, whether to return the attention weights as
            well. Defaults to False.

    Returns:
        Logits of shape `(batch, target_len, vocab_size)`. With `return_weights`
        also a dictionary of lists with a tensor per layer: `encoder` of shape
        `(batch, num_heads, input_len, input_len)`, `decoder` of shape
        `(batch, num_heads, target_len, target_len)` and `cross` of shape
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
        vocab_size: int,
        num_layers: int = 6,
        d_model: int = 512,
        num_heads: int = 8,
        d_ff: int = 2048,
        dropout: float = 0.1,
        positional_encoding: str = "sinusoidal",
        max_length: int = 256,
        packed: bool = False,
        num_decoder_layers: int | None = None,
        decoder_start: str = "zero",
        frozen: list[str] | tuple[str, ...] = (),
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        **options,
    ):
        check_options(Transformer, options, DecoderLayer, TokenEmbeddings)
        keras_options = take_options(options, ("name", "dtype", "trainable"))
        super().__init__(**{"name": "transformer", **keras_options})
        self.decoder_start = check_choice(
            "decoder_start", decoder_start, ("zero", "padding"), "zero"
        )
        self.autocast = False  # would round ids, see `SharedEmbedding`
        self.vocab_size, self.d_model = vocab_size, d_model
        self.positional_encoding = positional_encoding
        self.max_length, self.packed = max_length, packed
        shared = {"dtype": self.dtype_policy}
        embedding_options = take_options(options, EMBEDDING_OPTIONS) | shared
        self.embedding = TokenEmbeddings(
            vocab_size, d_model, **embedding_options, name="embedding"
        )
        self.input_positions = self._make_positions("input_positions")
        self.target_positions = self._make_positions("target_positions")
        self.input_dropout = Dropout(dropout, name="input_dropout", **shared)
        self.target_dropout = Dropout(dropout, name="target_dropout", **shared)
        options |= {"d_model": d_model, "num_heads": num_heads}
        options |= {"d_ff": d_ff, "dropout": dropout, **shared}
        depths = num_layers, num_decoder_layers or num_layers
        self.encoder = Encoder(depths[0], **options, name="encoder")
        self.decoder = Decoder(depths[1], **options, name="decoder")
        check_parts(frozen)
        for part in frozen if self.trainable else PARTS:
            getattr(self, part).trainable = False
        self.lora_rank, self.lora_alpha = lora_rank, lora_alpha

    @classmethod
    def list_own_weights(cls, config):
        """Returns the shapes of weights that a subclass adds, by their names.

        Runs check their checkpoints by them, see `model_config.list_weights`.
        """
        return {}

    def build(self, features_shape=None):
        # The order matters: each kernel takes the next numbers of a seed.
        self.embedding.build((None, None))
        for layer in (
            self.input_positions,
            self.target_positions,
            self.input_dropout,
            self.target_dropout,
            self.encoder,
            self.decoder,
        ):
            layer.build((None, None, self.d_model))
        self.built = True
        if self.lora_rank:
            self.enable_lora(self.lora_rank, self.lora_alpha)

    def enable_lora(self, rank: int, lora_alpha: float | None = None) -> None:
        """Adapts all projections at a low rank, and freezes everything else.

        The projections are in attention and in the feed-forward networks; see
        `layers.sequence_layer`. The model must be built. Until it is trained,
        it computes the same as before.

        Args:
            rank: Integer width of the adapters, such as 4.
            lora_alpha: Float, the numerator of the factor on an adaptation.
                Defaults to `rank`, which makes the factor 1.
        """
        weights = self.weights  # without the adapters
        for stack in (self.encoder, self.decoder):
            stack.enable_lora(rank, lora_alpha)
        for weight in weights:
            weight.trainable = False
        self.lora_rank, self.lora_alpha = rank, lora_alpha

    def quantize(self, mode=None, config=None, filters=None, type_check=True):
        """Quantises all matrices to int8; see `layers.sequence_layer`.

        The model must be built. `keras.Model.quantize` has the arguments.
        """
        if filters is not None:
            raise ValueError(
                "A Transformer is quantised as a whole. Received: "
                f"filters={filters!r}. Leave `filters` out."
            )
        for part in (self.embedding, self.encoder, self.decoder):
            part.quantize(mode, config=config)
        if self.lora_rank:  # a file does not say which weights are frozen
            self.trainable = False
        self.lora_rank = None
        # Keras compiles them again.
        self.train_function = self.test_function = self.predict_function = None

    # Keras walks through properties when it saves a model, so this is a method.
    def list_models(self):
        return [self]  # an `Ensemble` has several

    def call(self, features, return_weights=False, training=None):
        decoded, weights, _ = self._decode(
            features, return_weights=return_weights, training=training
        )
        logits = self.logits(decoded, training)
        return (logits, weights) if return_weights else logits

    def decode(self, features, training=None, kept=None, return_weights=False):
        """Computes the decoder's output without projecting it to logits.

        Args:
            features, return_weights, training: As in the call.
            kept: Dictionary of booleans with the names and shapes of
                `features`. Where it is False, the embedding of the token is
                zero, but not its position. Defaults to None, which keeps all.

        Returns:
            Tensor of shape `(batch, target_len, d_model)`. With
            `return_weights` also the dictionary of weights, as in the call.
        """
        results = self._decode(features, kept, return_weights, training)
        return results[:2] if return_weights else results[0]

    def logits(self, states, training=None):
        """Projects states `(batch, length, d_model)` to logits over all ids."""
        return self.embedding.logits(states, training=training)

    def _decode(self, features, kept=None, return_weights=False, training=None):
        inputs, targets = get_ids(features)
        kept = kept or {"inputs": None, "targets": None}
        input_mask = padding_mask(inputs)
        input_segments = segment_numbers(inputs) if self.packed else None
        target_segments = segment_numbers(targets) if self.packed else None
        weights = {}
        options = {"return_weights": return_weights, "training": training}
        x = self._embed_inputs(inputs, input_segments, training, kept["inputs"])
        encoded = self.encoder(
            x, input_mask, segments=input_segments, **options
        )
        if return_weights:
            encoded, weights["encoder"] = encoded
        y = self._embed_targets(
            targets, target_segments, training, kept["targets"]
        )
        decoded = self.decoder(
            *(y, encoded, input_mask),
            segments=target_segments,
            encoded_segments=input_segments,
            **options,
        )
        if return_weights:
            decoded, weights["decoder"], weights["cross"] = decoded
        return decoded, weights, encoded

    def encode(self, inputs):
        """Encodes the inputs once, for every `decode_step` to attend to.

        From integer ids `(batch, input_len)` to vectors `(batch, input_len,
        d_model)` and the boolean padding mask `(batch, input_len)`.
        """
        input_mask = padding_mask(inputs)
        return self.encoder(self._embed_inputs(inputs), input_mask), input_mask

    def init_cache(self, encoded, padding_mask, beam_size, fixed_length=None):
        """Prepares decoding step by step; see `Decoder.init_cache`.

        The encoded inputs and their mask are as `encode` returns them.
        """
        return self.decoder.init_cache(
            encoded, padding_mask, beam_size, fixed_length
        )

    def decode_step(self, ids, position, cache, num_ids=None, adjust=None):
        """Computes the logits of the next token of each hypothesis.

        Args:
            ids: Integer tensor of shape `(batch, beam)`, the tokens before
                `position`. They are ignored at position 0.
            position: Scalar integer tensor, counted from 0.
            cache: A `DecoderCache`.
            num_ids: Integer number of logits to compute, for the first ids.
                Defaults to None, which means all ids.
            adjust: Function `(logits, states) -> logits` of the states `(batch,
                beam, d_model)` that were projected. Defaults to None.

        Returns:
            Float32 logits of shape `(batch, beam, num_ids)`, and the new cache.
        """
        x = self.embedding.embed_targets(ids)  # (batch, beam, d_model)
        # Position 0 sees the same vector as the shifted targets in training.
        x = ops.where(position > 0, x, self._embed_start())
        origin = ops.zeros((1, 1, self.d_model), dtype=x.dtype)
        x = x + self.target_positions(origin, start=position)
        x, cache = self.decoder.step(x, cache, position)
        # A search sums log-probabilities, which needs float32.
        logits = ops.cast(self.embedding.logits(x, num_ids), "float32")
        return (adjust(logits, x) if adjust else logits), cache

    def _embed_inputs(self, inputs, segments=None, training=None, kept=None):
        x = self.embedding.embed_inputs(inputs, kept)
        positions = None if segments is None else segment_positions(segments)
        x = self.input_positions(x, positions=positions)
        return self.input_dropout(x, training=training)

    def _embed_targets(self, targets, segments, training, kept):
        y = self.embedding.embed_targets(targets, kept)
        # Shifted right by one position: (batch, target_len, d_model)
        y = ops.pad(y, [[0, 0], [1, 0], [0, 0]])[:, :-1]
        positions = None
        is_first = ops.arange(ops.shape(y)[1], dtype="int32")[:, None] < 1
        if segments is not None:
            positions = segment_positions(segments)
            # The first token of a sequence must not see the end of another.
            is_first = ops.expand_dims(ops.equal(positions, 0), 2)
        y = ops.where(is_first, self._embed_start(), y)
        y = self.target_positions(y, positions=positions)
        return self.target_dropout(y, training=training)

    def _embed_start(self):
        """Returns the vector before the first token, `(1, 1, d_model)`."""
        if self.decoder_start == "padding":
            return self.embedding.embed_targets(ops.zeros((1, 1), "int32"))
        return ops.zeros((1, 1, self.d_model), self.compute_dtype)

    def _make_positions(self, name):
        arguments = self.positional_encoding, self.max_length, self.d_model
        return make_positions(*arguments, name=name, dtype=self.dtype_policy)

    def export(
        self,
        filepath,
        format="tf_saved_model",
        verbose=None,
        input_signature=None,
        **kwargs,
    ):
        """Exports the model as any Keras model, for ids of any length.

        Without an `input_signature`, Keras would take the shapes of the first
        call and round large ids to the precision of the model.
        """
        if input_signature is None:
            ids = keras.InputSpec(dtype="int32", shape=(None, None))
            input_signature = [{"inputs": ids, "targets": ids}]
        super().export(filepath, format, verbose, input_signature, **kwargs)

    def get_config(self):
        policy = find_quantized_policy(self) or self.embedding.dtype_policy
        return {
            **super().get_config(),
            **dataclasses.asdict(self.decoder.options),
            "num_layers": self.encoder.num_layers,
            "num_decoder_layers": self.decoder.num_layers,
            **{name: getattr(self, name) for name in OWN_OPTIONS},
            **{n: getattr(self.embedding, n) for n in EMBEDDING_OPTIONS},
            "frozen": [p for p in PARTS if not getattr(self, p).trainable],
            "dtype": keras.dtype_policies.serialize(policy),
        }


def get_ids(features):
    """Returns the ids of inputs and of targets, each `(batch, length)`."""
    received = type(features).__name__
    if isinstance(features, dict):
        if {"inputs", "targets"} <= features.keys():
            ids = features["inputs"], features["targets"]
            if all(len(side.shape) == 2 for side in ids):
                return ids
        received = {key: tuple(value.shape) for key, value in features.items()}
    raise ValueError(
        "A Transformer takes a dictionary of `inputs` and `targets`, both ids "
        f"of shape (batch, length). Received: {received}. Call "
        'model({"inputs": inputs, "targets": targets}).'
    )


def check_parts(frozen):
    """Raises a `ValueError` if `frozen` is not a list of `PARTS`."""
    if isinstance(frozen, str) or not set(frozen) <= set(PARTS):
        raise ValueError(
            "`frozen` must be a list with names of parts of the model. "
            f"Received: frozen={frozen!r}. Use some of {', '.join(PARTS)}."
        )
