"""A base class of layers whose matrices can be adapted or quantised."""

import keras
from keras import ops


class Quantizable:
    """Lets a layer have the policy of a quantised layer.

    It computes as before. When a quantised layer is loaded, all of its parts
    get its policy, even those without matrices.
    """

    def quantize(self, mode=None, type_check=True, config=None):
        """Does nothing in a layer without matrices."""

    def quantized_call(self, *args, **kwargs):
        return self.call(*args, **kwargs)


class LoraLayer(keras.layers.Layer):
    """Adds `enable_lora` and `quantize` to a layer, as in `keras.layers.Dense`.

    Low-rank adaptation, Hu et al. (2021): a matrix `W` stays as it is, and
    `lora_alpha / rank * A B` is added to it, of which only the narrow matrices
    `A` and `B` are trained. `B` starts at zero, so that nothing changes at
    first. A layer with sub-layers adapts those that can be adapted.

    As with `Dense`, biases remain trainable, the configuration holds rank and
    alpha, and the matrices are saved with their adaptation merged into them. A
    loaded layer has these, and adapters whose `B` is zero.

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

        The arguments are those of `keras.layers.Dense.quantize`, but the only
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
            if isinstance(layer, LoraLayer):
                layer.quantize(mode)

    def quantized_call(self, *args, **kwargs):
        return self.call(*args, **kwargs)

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
        if self.lora_rank:
            config["lora_rank"] = self.lora_rank
            config["lora_alpha"] = self.lora_alpha
        # The parts of a loaded layer take its policy.
        for layer in self._flatten_layers(include_self=False):
            if layer.quantization_mode:
                policy = layer.dtype_policy
                config["dtype"] = keras.dtype_policies.serialize(policy)
        return config
