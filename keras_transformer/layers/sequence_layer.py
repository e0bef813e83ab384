"""A base class of layers that map a sequence of vectors to another."""

import warnings

import keras

from keras_transformer.layers.lora_layer import LoraLayer


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


def check_width(shape, d_model):
    """Raises a ValueError if an input has another width than `d_model`."""
    width = shape[-1]
    if width not in (None, d_model):
        raise ValueError(
            "The vectors of the input must have the width `d_model`. Received: "
            f"vectors of width {width}, d_model={d_model}. Use "
            f"d_model={width}, or project them with "
            f"keras.layers.Dense({d_model})."
        )
