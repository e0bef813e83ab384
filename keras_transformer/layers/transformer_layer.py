"""What encoder and decoder share: the parts of a layer, and its stack."""

import dataclasses
import inspect

import keras
from keras import ops

from keras_transformer.errors import did_you_mean
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.cache import DecoderCache
from keras_transformer.layers.cache import count_remembered
from keras_transformer.layers.cache import make_slots
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.projection import SMALL_BRANCH_ENDS
from keras_transformer.layers.residual import NORM_EPSILON
from keras_transformer.layers.residual import LayerNormalization
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.sequence_layer import SequenceLayer
from keras_transformer.layers.sequence_layer import check_masks
from keras_transformer.masks import ancestor_mask
from keras_transformer.masks import combine_masks
from keras_transformer.masks import self_attention_mask


@dataclasses.dataclass(frozen=True)
class LayerOptions:
    """The settings of a layer of encoder or decoder, and how its parts follow.

    They are plain values only, because a saved model stores them as JSON. An
    `attention` may be given as a class that is registered with Keras. It takes
    the arguments and call arguments of `MultiHeadAttention`; `return_weights`
    is passed only when weights are wanted.
    """

    d_model: int  # width of input and output
    num_heads: int  # number of attention heads (h)
    d_ff: int  # inner width of the feed-forward network
    d_k: int | None = None  # width of a head's keys; None = d_model / h
    d_v: int | None = None  # width of a head's values; None = d_model / h
    dropout: float = 0.1  # rate on the output of each sub-layer (P_drop)
    attention_dropout: float = 0.0  # rate on attention weights
    activation_dropout: float = 0.0  # rate inside the feed-forward network
    norm: str = "post"  # as in the paper, or "pre"
    neighbourhood_size: int = 0  # positions that one attends to (r); 0 = all
    initializer: str = SMALL_BRANCH_ENDS  # or "tensor2tensor"
    attention: str | None = None  # name of a class; None = MultiHeadAttention
    activation: str = "relu"  # inside the feed-forward; or "gelu", "silu"
    attention_bias: bool = False  # whether attention's projections have biases
    norm_epsilon: float = NORM_EPSILON  # added to the variance
    max_relative_position: int = 0  # clipped distance (k); 0 = no vectors

    def __post_init__(self):
        name = _find_registered_name(self.attention)
        object.__setattr__(self, "attention", name)


class TransformerLayer(SequenceLayer):
    """Makes the sub-layers of a layer of encoder or decoder."""

    options_class = LayerOptions

    def __init__(self, *args, **kwargs):
        names = [field.name for field in dataclasses.fields(self.options_class)]
        options = take_options(kwargs, names)
        super().__init__(**kwargs)
        self.options = self.options_class(*args, **options)

    def make_part(self, cls, name, like=None, **changes):
        """Makes a sub-layer from those options that its constructor takes.

        They are the arguments of `like`, by default `cls`. Another attention
        need not take them all, so those with their defaults are left out.
        """
        names = inspect.signature((like or cls).__init__).parameters
        values = {**vars(self.options), **changes}
        arguments = {
            field.name: values[field.name]
            for field in dataclasses.fields(self.options)
            if field.name in names and values[field.name] != field.default
        }
        return cls(**arguments, name=name, dtype=self.dtype_policy)

    def make_attention(self, name, **changes):
        """Makes an attention sub-layer of the class that the options name."""
        cls = MultiHeadAttention
        if self.options.attention:
            cls = keras.saving.get_registered_object(self.options.attention)
        return self.make_part(cls, name, MultiHeadAttention, **changes)

    def make_feed_forward(self):
        return self.make_part(FeedForward, "feed_forward")

    def make_residual(self, name):
        """Makes the residual connection around the sub-layer of this name."""
        return self.make_part(Residual, f"{name}_residual")

    def attend(self, attention, *vectors, return_weights, **options):
        """Returns the output of an attention sub-layer, and weights or None."""
        # Another attention may have no weights to return.
        if not return_weights:
            return attention(*vectors, **options), None
        return attention(*vectors, return_weights=True, **options)

    def select_masks(self, x, padding_mask, segments, attention_mask, causal):
        """Returns the masks for the call of `MultiHeadAttention`."""
        masks = {"padding_mask": padding_mask, "segments": segments}
        check_masks(x, x, attention_mask=attention_mask, **masks)
        masks["causal"] = causal
        if self.options.neighbourhood_size:
            # A mask of all pairs would be larger than the attention.
            return {**masks, "attention_mask": attention_mask}
        everywhere = self_attention_mask(ops.shape(x)[1], **masks)
        return {"attention_mask": combine_masks(everywhere, attention_mask)}

    def get_config(self):
        return {**super().get_config(), **dataclasses.asdict(self.options)}


def _find_registered_name(attention):
    """Returns the name under which Keras saves a class of attention."""
    # Keras finds the class again by this name, but returns None without an
    # error for a class that is not registered.
    name = attention
    if isinstance(attention, type):
        name = keras.saving.get_registered_name(attention)
    if name and not keras.saving.get_registered_object(name):
        raise ValueError(
            "`attention` must be a class that is registered with Keras, or its "
            f"registered name. Received: attention={attention!r}. Decorate the "
            "class with @keras.saving.register_keras_serializable()."
        )
    return name


def take_options(options, names):
    """Removes the options that have one of the names, and returns them."""
    return {name: options.pop(name) for name in names if name in options}


def check_options(owner, options, layer_class, *classes):
    """Raises a `ValueError` that names `owner` for an unknown option.

    `layer_class` is the class of layers that take the options, which `owner`
    and the constructors of the other `classes` may take as well.
    """
    fields = dataclasses.fields(layer_class.options_class)
    names = {field.name for field in fields}
    for cls in (owner, *classes, SequenceLayer, keras.layers.Layer):
        names |= inspect.signature(cls.__init__).parameters.keys()
    names -= {"self", "args", "kwargs", "options"}
    for name in options.keys() - names:
        raise ValueError(
            f"`{name}` must be an argument of {owner.__name__}. Received: "
            f"{name}={options[name]!r}. {did_you_mean(name, names)}The "
            f"arguments are: {', '.join(sorted(names))}."
        )


class LayerStack(SequenceLayer):
    """Holds `num_layers` equal layers and, with pre-norm, a normalisation.

    Subclasses name the `layer_class` and write `call` and `step_layer`, which
    applies a layer to the newest position and returns its new slots as well.
    """

    layer_class: type

    def __init__(self, num_layers, **options):
        check_options(type(self), options, self.layer_class)
        names = "name", "dtype", "trainable", "lora_rank", "lora_alpha"
        super().__init__(**take_options(options, names))
        if num_layers < 1:
            raise ValueError(
                "`num_layers` must be at least 1. Received: "
                f"num_layers={num_layers}. Leave the stack out instead."
            )
        self.num_layers = num_layers
        self.stack = [
            self.layer_class(
                **options, dtype=self.dtype_policy, name=f"layer_{i}"
            )
            for i in range(num_layers)
        ]
        # The layers are equal, so the options of one hold for all.
        self.options = self.stack[0].options
        # With pre-norm, no layer normalises its own output.
        self.final_norm = None
        if self.options.norm == "pre":
            self.final_norm = LayerNormalization(
                self.options.norm_epsilon,
                dtype=self.dtype_policy,
                name="final_norm",
            )
        self.freeze_parts()

    def build(self, input_shape):
        for layer in self.stack:
            layer.build(input_shape)
        if self.final_norm:
            self.final_norm.build(input_shape)

    def make_cache(self, batch, beam_size, fixed_length):
        """Makes the `DecoderCache` of a stack that attends only to itself."""
        num_positions, num_slots = fixed_length, None
        if fixed_length is not None:
            limit = count_remembered(self.options.neighbourhood_size)
            num_positions = limit or fixed_length
            num_slots = num_positions * beam_size
        return DecoderCache(
            # No beam has the number -1, so nothing attends to an empty slot.
            ancestors=make_slots((batch, beam_size), num_positions, value=-1),
            past=[
                layer.self_attention.init_cache(batch, num_slots)
                for layer in self.stack
            ],
        )

    def step(self, x, cache, position):
        """Decodes one position of each beam through every layer.

        `x` is `(batch, beam, d_model)`, and `position` a scalar integer tensor,
        counted from 0. Returns a tensor of the shape of `x` and the new cache.
        """
        beam_size = x.shape[1]
        # Keys and values are written once and never move. Which slots belong to
        # a beam is a table of its ancestors, and the mask follows from it.
        # A beam is its own ancestor at the newest position.
        itself = ops.reshape(ops.arange(beam_size, dtype="int32"), (1, -1, 1))
        # (batch, beam, 1)
        itself = ops.repeat(itself, ops.shape(x)[0], axis=0)
        limit = count_remembered(self.options.neighbourhood_size)
        ancestors = cache.ancestors.write(itself, position, limit)
        # Each position has a slot for every beam: (1, length x beam)
        key_positions = ancestors.list_positions(position)[None]
        key_positions = ops.repeat(key_positions, beam_size, axis=1)
        visible = ancestor_mask(ancestors.entries, beam_size)
        where = position, visible, key_positions
        past = []
        for number in range(self.num_layers):
            x, slots = self.step_layer(number, x, cache, where)
            past.append(slots)
        return self.finish(x), cache._replace(ancestors=ancestors, past=past)

    def apply(self, *vectors, return_weights, **options):
        """Applies all layers; the arguments are those of a layer.

        With `return_weights` it also returns a list for each kind of attention
        weights that a layer returns.
        """
        weights = []
        x, *encoded = vectors
        for layer in self.stack:
            x = layer(x, *encoded, return_weights=return_weights, **options)
            if return_weights:
                x, *weights_of_layer = x
                weights.append(weights_of_layer)
        x = self.finish(x)
        return (x, *map(list, zip(*weights))) if return_weights else x

    def finish(self, x):
        """Normalises the output of the last layer if it is pre-norm."""
        return self.final_norm(x) if self.final_norm else x

    def get_config(self):
        return {**super().get_config(), **dataclasses.asdict(self.options)}
