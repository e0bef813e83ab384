"""A base class of layers that map a sequence of vectors to another."""

import warnings

import keras
import numpy as np

from keras_transformer.layers.lora_layer import LoraLayer
from keras_transformer.masks import check_padded


class SequenceLayer(LoraLayer):
    """Tells `model.summary()` the shape of the output.

    The output has the shape of the first input. In a functional model,
    `return_weights` adds further outputs, which `compute_output_shape` cannot
    describe. Functional models therefore trace `call`, as they do for a layer
    without `compute_output_shape`.
    """

    def add_bias(self, name, width):
        """Adds a vector of weights that starts at zero."""
        return self.add_weight(name=name, shape=(width,), initializer="zeros")

    def freeze_parts(self):
        """Passes the `trainable` of this layer on to its sub-layers.

        Keras does so when `trainable` is set later, but not when it is an
        argument of a new layer, for example while a model is loaded.
        """
        for part in self._layers:
            part.trainable = self.trainable

    def compute_mask(self, inputs, previous_mask):
        """Warns of a mask that Keras attached to an input, and drops it.

        The text is the same for all layers, so Python prints it once.
        """
        if any(m is not None for m in keras.tree.flatten(previous_mask)):
            warnings.warn(
                "Layers of keras_transformer ignore the masks that Keras "
                "attaches, such as those of an embedding with mask_zero=True. "
                "Pass `padding_mask=masks.padding_mask(ids)` to the layers "
                "that attend, and leave mask_zero out."
            )

    def compute_output_shape(self, input_shape):
        return input_shape

    def compute_output_spec(self, *args, **kwargs):
        return keras.Operation.compute_output_spec(self, *args, **kwargs)


def check_choice(name, value, choices, paper_choice):
    """Returns the argument of a layer if it is one of the choices.

    The `ValueError` proposes `paper_choice`, the choice of the paper.
    """
    if value in choices:
        return value
    raise ValueError(
        f"`{name}` must be one of {', '.join(choices)}. Received: "
        f'{name}={value!r}. Use "{paper_choice}" for the model of the paper.'
    )


def check_sequence(shape, d_model=None):
    """Raises a ValueError unless a shape is `(batch, length, d_model)`.

    Without a `d_model`, any width is right.
    """
    if len(shape) != 3:
        raise ValueError(
            "Vectors must have the shape (batch, length, d_model). Received: "
            f"{tuple(shape)}. Reshape them to three axes."
        )
    width = shape[-1]
    if None not in (width, d_model) and width != d_model:
        raise ValueError(
            "The vectors of the input must have the width `d_model`. Received: "
            f"vectors of width {width}, d_model={d_model}. Use "
            f"d_model={width}, or project them with "
            f"keras.layers.Dense({d_model})."
        )


def check_vectors(x, d_model=None):
    """Raises a ValueError unless a tensor is `(batch, length, d_model)`."""
    check_padded(x)
    check_sequence(x.shape, d_model)


_MASK_AXES = {
    "padding_mask": ("batch", "key_len"),
    "segments": ("batch", "query_len"),
    "encoded_segments": ("batch", "key_len"),
    "attention_mask": ("batch", "query_len", "key_len"),
}


def check_masks(query, keys, **masks):
    """Raises a ValueError unless the masks fit to two sequences of vectors.

    A mask may be None. An axis of it may have the size 1, and an
    `attention_mask` may lack the first axis.
    """
    check_vectors(query)
    check_vectors(keys)
    sizes = {"batch": query.shape[0], "query_len": query.shape[1]}
    sizes["key_len"] = keys.shape[1]
    for name, mask in masks.items():
        if mask is None:
            continue
        axes, shape = _MASK_AXES[name], tuple(np.shape(mask))
        expected = tuple(sizes[axis] for axis in axes)
        pairs = zip(reversed(shape), reversed(expected))
        if not 2 <= len(shape) <= len(axes) or any(
            None not in pair and pair[0] not in (1, pair[1]) for pair in pairs
        ):
            raise ValueError(
                f"`{name}` must have the shape ({', '.join(axes)}), here "
                f"{expected}. Received: {shape}. keras_transformer.masks makes "
                "masks of the right shapes."
            )
