"""The weights of Marian models under our names and in our order."""

import dataclasses
import typing

import numpy as np

from keras_transformer.model_config import list_weights

# The names there of our sub-layers, and of their normalisations.
_SUBLAYERS = {
    "self_attention": ("self_attn.", "self_attn_layer_norm."),
    "cross_attention": ("encoder_attn.", "encoder_attn_layer_norm."),
    "feed_forward": ("", "final_layer_norm."),
}
# The name of our weight in transformers, and the axes of its array there,
# outputs first. The axis "model" has the length d_model.
_WEIGHTS = {
    "query": ("q_proj.weight", "heads", "model"),
    "key": ("k_proj.weight", "heads", "model"),
    "value": ("v_proj.weight", "heads", "model"),
    "output": ("out_proj.weight", "model", "heads"),
    "query_bias": ("q_proj.bias", "heads"),
    "key_bias": ("k_proj.bias", "heads"),
    "value_bias": ("v_proj.bias", "heads"),
    "output_bias": ("out_proj.bias", "model"),
    "inner": ("fc1.weight", "inner", "model"),
    "inner_bias": ("fc1.bias", "inner"),
    "outer": ("fc2.weight", "model", "inner"),
    "outer_bias": ("fc2.bias", "model"),
    "gamma": ("weight", "model"),
    "beta": ("bias", "model"),
}
LOGITS_BIAS = "final_logits_bias"
SHARED = "model.shared.weight"
INPUTS = "model.encoder.embed_tokens.weight"
TARGETS = "model.decoder.embed_tokens.weight"
SOFTMAX = "lm_head.weight"


class Place(typing.NamedTuple):
    """The place of one of our weights in a Marian model.

    Our array is `theirs[np.ix_(*order)]`; kernels are also transposed.
    """

    name: str  # in transformers
    order: tuple  # for each axis there, the index of each of our entries
    is_kernel: bool

    @property
    def shape(self):
        """The shape of the array in transformers."""
        return tuple(map(len, self.order))

    def import_array(self, array):
        """Converts an array of transformers to ours."""
        array = array[np.ix_(*self.order)]
        if self.name == LOGITS_BIAS:
            return array[0]
        return np.ascontiguousarray(array.T if self.is_kernel else array)

    def export_array(self, array):
        """Converts our array to the layout of transformers."""
        exported = np.empty(self.shape, "float32")
        exported[np.ix_(*self.order)] = array.T if self.is_kernel else array
        return exported


def make_places(config, vocabularies):
    """Returns the `Place` of each weight of a model by its name.

    `config` is a `ModelConfig`. The result includes all biases, whether the
    model has them or not.
    """
    full = dataclasses.replace(config, attention_bias=True, output_bias=True)
    # Marian has all sines before all cosines, where the paper alternates. With
    # d_model in the paper's order, both models compute the same.
    model = np.arange(config.d_model).reshape(2, -1).T.ravel()
    places = {}
    for name, shape in list_weights(full, *vocabularies.sizes).items():
        _, stack, *parts = name.split("/")
        if stack == "embedding":
            places[name] = _find_matrix(parts[0], config, vocabularies, model)
        else:
            places[name] = _find_weight(stack, parts, shape, model)
    return places


def _find_matrix(weight, config, vocabularies, model):
    sources, targets = (side.original_ids for side in vocabularies)
    shared = SHARED if config.tied_embeddings == "all" else TARGETS
    name, *order = {
        "output_bias": (LOGITS_BIAS, np.arange(1), targets),
        "input_embeddings": (INPUTS, sources, model),
        "softmax_weights": (SOFTMAX, targets, model),
        "embeddings": (shared, targets, model),
    }[weight]
    return Place(name, tuple(order), is_kernel=False)


def _find_weight(stack, parts, shape, model):
    layer, sublayer, *_, weight = parts
    is_norm = sublayer.endswith("_residual")
    prefix = _SUBLAYERS[sublayer.removesuffix("_residual")][is_norm]
    name, *axes = _WEIGHTS[weight]
    # Kernels there have outputs first, as many as our last axis.
    sizes = reversed(shape) if len(shape) == 2 else shape
    order = tuple(
        model if axis == "model" else np.arange(size)
        for axis, size in zip(axes, sizes)
    )
    number = layer.removeprefix("layer_")
    return Place(
        f"model.{stack}.layers.{number}.{prefix}{name}",
        order,
        is_kernel=len(shape) == 2,
    )


def list_copies(config):
    """Returns names of copies that a file may hold beside the original."""
    if config.tied_embeddings == "all":
        return dict.fromkeys((INPUTS, TARGETS, SOFTMAX), SHARED)
    return {SOFTMAX: TARGETS} if config.tied_embeddings == "target" else {}


def make_positions(length, d_model):
    """Returns the table of positions that a file may hold, `(length, d_model)`.

    >>> make_positions(1, 4)
    array([[0., 0., 1., 1.]], dtype=float32)
    """
    scale = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angles = np.arange(length)[:, None] * scale
    waves = [np.sin(angles), np.cos(angles)]
    return np.concatenate(waves, axis=1).astype("float32")
