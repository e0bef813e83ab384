"""The base class of all layers with weights, and checks of their inputs."""

import inspect
import warnings

import keras
import numpy as np
from keras import ops

from keras_transformer.masks import check_padded

# Arguments of constructors that a configuration lacks or states otherwise.
_NOT_STORED = ("lora_rank", "lora_alpha", "options")


class Quantizable:
    """Lets a layer have the policy of a quantised layer, and compute as before.

    When a quantised layer is loaded, all of its parts get its policy, even
    those without matrices.
    """

    def quantize(self, mode=None, type_check=True, config=None):
        """Does nothing in a layer without matrices."""

    def quantized_call(self, *args, **kwargs):
        return self.call(*args, **kwargs)


class SequenceLayer(Quantizable, keras.layers.Layer):
    """Maps a sequence of vectors to another, and can be adapted or quantised.

    The output has the shape of the first input, which `model.summary()` shows.

    `enable_lora` and `quantize` are as in `keras.layers.Dense`. Low-rank
    adaptation, Hu et al. (2021): a matrix `W` stays as it is, and
    `lora_alpha / rank * A B` is added to it, of which only the narrow matrices
    `A` and `B` are trained. `B` starts at zero, so that nothing changes at
    first. A layer with sub-layers adapts those that can be adapted.

    As with `Dense`, biases remain trainable, the configuration holds rank and
    alpha, and the matrices are saved with their adaptation merged into them. A
    loaded layer has these, and adapters with a `B` of zeros.

    `quantize("int8")` stores each row of a matrix as 8-bit integers with one
    scale. Products use the restored numbers, which saves memory, not time.

    Args:
        lora_rank: Integer, the width of `A`; the layer is adapted as soon as
            it is built. Defaults to None, which adapts nothing.
        lora_alpha: Float, the numerator of the factor on `A B`. Defaults to
            `lora_rank`, which makes the factor 1.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(self, lora_rank=None, lora_alpha=None, **kwargs):
        super().__init__(**kwargs)
        self.lora_rank = lora_rank
        self.lora_alpha = lora_alpha or lora_rank
        self.lora_enabled = False
        self._matrices = []
        self._adapters = {}  # A and B by the name of the matrix
        self._scales = {}  # `(rows, 1)` by the name of an int8 matrix

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
        """Warns of a mask that Keras attached to an input, and drops it."""
        # The text is the same for all layers, so Python prints it once.
        if any(m is not None for m in keras.tree.flatten(previous_mask)):
            warnings.warn(
                "Layers of keras_transformer ignore the masks that Keras "
                "attaches, such as those of an embedding with mask_zero=True. "
                "Pass `padding_mask=masks.padding_mask(ids)` to the layers "
                "that attend, and leave mask_zero out."
            )

    def compute_output_shape(self, *shapes, **named_shapes):
        return [*shapes, *named_shapes.values()][0]

    def compute_output_spec(self, *args, **kwargs):
        # Traces `call`: `return_weights` adds outputs to the shape above.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)

    def add_matrix(self, name, shape, initializer):
        """Adds a matrix of weights that can be adapted and quantised."""
        if self.quantization_mode == "int8":  # a quantised layer is loaded
            return self._add_int8_matrix(name, shape)
        # `merge`'s callers cast it: low precision would lose small changes.
        matrix = self.add_weight(
            name=name, shape=shape, initializer=initializer, autocast=False
        )
        self._matrices.append(matrix)
        return matrix

    def enable_lora(
        self,
        rank,
        lora_alpha=None,
        a_initializer="he_uniform",
        b_initializer="zeros",
    ):
        """Freezes the matrices and adds a trainable adapter to each of them.

        A built layer takes the arguments of `keras.layers.Dense.enable_lora`.
        """
        if type(rank) is not int or rank < 1:
            raise ValueError(
                "`rank` must be a whole number of at least 1. Received: rank="
                f"{rank!r}. Use a small one such as 4."
            )
        if not self.built or self.lora_enabled:
            state = "already adapted" if self.built else "not built yet"
            raise ValueError(
                f"`enable_lora` needs a layer that is built, once. {self.name} "
                f"is {state}."
            )
        if any(layer.quantization_mode for layer in self._flatten_layers()):
            raise ValueError(
                "A layer must be adapted before it is quantised, since "
                f"`quantize` merges the adapters. Received: {self.name}, "
                "quantised to int8. Call `enable_lora` and train it first."
            )
        # A built layer takes no further weights unless, as in Keras' layers,
        # its tracker is unlocked.
        self._tracker.unlock()
        initializers = a_initializer, b_initializer
        for matrix in self._matrices:
            rows, columns = matrix.shape
            shapes = (rows, rank), (rank, columns)
            self._adapters[matrix.name] = [
                self.add_weight(
                    name=f"{matrix.name}_lora_{letter}",
                    shape=shape,
                    initializer=keras.initializers.get(initializer),
                    dtype="float32",
                    autocast=False,
                )
                for letter, shape, initializer in zip(
                    "ab", shapes, initializers
                )
            ]
            matrix.trainable = False
        self._tracker.lock()
        self.lora_rank, self.lora_alpha = rank, lora_alpha or rank
        self.lora_enabled = True
        for layer in self._layers:
            if hasattr(layer, "enable_lora"):
                layer.enable_lora(rank, self.lora_alpha, *initializers)

    def quantize(self, mode=None, type_check=True, config=None):
        """Turns the matrices, adaptations included, into 8-bit integers.

        The arguments are as for `keras.layers.Dense.quantize`, but the only
        mode is "int8". `keras.Model.quantize` calls it for layers without
        sub-layers. A layer with sub-layers quantises all of them.
        """
        # Keras makes a configuration of the mode, and unlocks the tracker.
        if mode != "int8" or config.weight_quantizer:
            raise NotImplementedError(
                "Layers of keras_transformer can only be quantised with mode "
                "'int8' and without a quantizer of weights. Received: "
                f'mode={mode!r}, config={config!r}. Use quantize("int8").'
            )
        if self._matrices and self.quantization_mode is None:
            for matrix in [*self._matrices]:
                self._quantize_matrix(matrix)
            self.dtype_policy = keras.dtype_policies.get(
                f"int8_from_{self.dtype_policy.name}"
            )
        for weight in sum(self._adapters.values(), []):
            self._untrack_variable(weight)
        self._adapters, self.lora_enabled, self.lora_rank = {}, False, None
        for layer in self._layers:
            if isinstance(layer, SequenceLayer):
                layer.quantize(mode)

    def _quantize_matrix(self, matrix):
        """Replaces a matrix by 8-bit integers."""
        integers, factors = keras.quantizers.abs_max_quantize(
            self.merge(matrix), axis=-1, to_numpy=True
        )
        self._matrices.remove(matrix)
        self._untrack_variable(matrix)
        stored = self._add_int8_matrix(matrix.name, matrix.shape)
        stored.assign(integers)
        self._scales[matrix.name].assign(1.0 / factors)
        # One matrix may have several names, as tied embeddings do.
        for attribute, value in [*vars(self).items()]:
            if value is matrix:
                setattr(self, attribute, stored)

    def _add_int8_matrix(self, name, shape):
        options = {"trainable": False, "autocast": False}
        matrix = self.add_weight(
            name=name, shape=shape, dtype="int8", initializer="zeros", **options
        )
        self._scales[name] = self.add_weight(
            name=f"{name}_scale",
            shape=(shape[0], 1),
            dtype="float32",
            initializer="ones",
            **options,
        )
        self._matrices.append(matrix)
        return matrix

    def merge(self, matrix, ids=None):
        """Returns a matrix of `add_matrix` with its adaptation, `W + s A B`.

        A quantised matrix is restored to floating-point numbers.

        With `ids`, an integer tensor, it returns only these rows.
        """

        def select(weight):
            return weight if ids is None else ops.take(weight, ids, axis=0)

        if matrix.name in self._scales:
            scale = select(self._scales[matrix.name])
            return ops.cast(select(matrix), scale.dtype) * scale
        if matrix.name not in self._adapters:
            return select(matrix)
        a, b = self._adapters[matrix.name]
        # A search gives low precision to all of them.
        matrix, a, b = (
            ops.cast(weight, self.variable_dtype)
            for weight in (select(matrix), select(a), b)
        )
        scale = self.lora_alpha / self.lora_rank
        return ops.add(matrix, scale * ops.matmul(a, b))

    def _post_build(self):
        super()._post_build()
        if self.lora_rank and not self.lora_enabled:
            self.enable_lora(self.lora_rank, self.lora_alpha)

    def save_own_variables(self, store):
        for number, weight in enumerate(self._list_stored()):
            is_adapted = weight.name in self._adapters
            store[str(number)] = self.merge(weight) if is_adapted else weight

    def load_own_variables(self, store):
        if not self.lora_enabled:
            super().load_own_variables(store)
            return
        for number, weight in enumerate(self._list_stored()):
            weight.assign(store[str(number)])
        for _, b in self._adapters.values():
            b.assign(ops.zeros(b.shape))

    def _list_stored(self):
        """Lists the weights of this layer without its adapters."""
        adapters = {id(w) for pair in self._adapters.values() for w in pair}
        weights = self._trainable_variables + self._non_trainable_variables
        return [weight for weight in weights if id(weight) not in adapters]

    def get_config(self):
        config = super().get_config()
        # Layers of this package keep their arguments under the same names.
        for cls in reversed(type(self).__mro__):
            if not cls.__module__.startswith("keras_transformer."):
                continue
            for name in inspect.signature(cls.__init__).parameters:
                if name not in _NOT_STORED and name in vars(self):
                    config[name] = getattr(self, name)
        if self.lora_rank:
            config["lora_rank"] = self.lora_rank
            config["lora_alpha"] = self.lora_alpha
        # The parts of a loaded layer take its policy.
        if policy := find_quantized_policy(self):
            config["dtype"] = keras.dtype_policies.serialize(policy)
        return config


def find_quantized_policy(layer):
    """Returns the policy of the quantised matrices in a layer, or None.

    Raises a `ValueError` if only some of the matrices are quantised, since a
    saved layer has one policy, and its file could not be loaded.
    """
    parts = [
        part
        for part in layer._flatten_layers()
        if isinstance(part, SequenceLayer) and part._matrices
    ]
    policies = {part.quantization_mode: part.dtype_policy for part in parts}
    if len(policies) > 1:
        raise ValueError(
            "A layer cannot be saved while only some of its parts are "
            f"quantised. Received: {layer.name}, quantised in part. Quantise "
            f'all of it, as in {layer.name}.quantize("int8").'
        )
    return policies.get("int8")


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


def check_masks(query, keys, causal=False, **masks):
    """Returns the masks of two sequences of vectors as boolean tensors.

    Lists and numbers are converted, but `segments` stay numbers. A mask may be
    None. An axis of it may have the size 1, and an `attention_mask` may lack
    the first axis. If `causal`, or with `segments`, both sequences must have
    one length. Raises a ValueError unless the masks fit to the sequences.
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
    lengths = {query.shape[1], keys.shape[1]} - {None}
    if len(lengths) > 1 and (causal or masks.get("segments") is not None):
        raise ValueError(
            "`causal` and `segments` are for self-attention. Received: "
            f"query of length {query.shape[1]}, memory of length "
            f"{keys.shape[1]}. Use an `attention_mask` instead."
        )
    return {
        name: mask if mask is None else _convert_mask(name, mask)
        for name, mask in masks.items()
    }


def _convert_mask(name, mask):
    mask = ops.convert_to_tensor(mask)
    return mask if "segments" in name else ops.cast(mask, "bool")
