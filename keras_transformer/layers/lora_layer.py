"""A base class of layers whose matrices can be adapted at a low rank."""

import keras
from keras import ops


class LoraLayer(keras.layers.Layer):
    """Adds `enable_lora` to a layer, as `keras.layers.Dense` has it.

    Low-rank adaptation, Hu et al. (2021): a matrix `W` stays as it is, and
    `lora_alpha / rank * A B` is added to it, of which only the narrow matrices
    `A` and `B` are trained. `B` starts at zero, so that nothing changes at
    first. A layer that is made of others adapts those of them that can be.

    As with `Dense`, biases remain trainable, the configuration holds rank and
    alpha, and the matrices are saved with their adaptation merged into them. A
    loaded layer has these, and adapters whose `B` is zero.

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

    def add_matrix(self, name, shape, initializer):
        """Adds a matrix of weights that `enable_lora` adapts."""
        # Cast by `merge`'s callers: a sum in low precision would lose what an
        # adaptation adds.
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

        The layer must be built. The arguments are those of `enable_lora` in
        `keras.layers.Dense`.
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

    def merge(self, matrix, ids=None):
        """Returns a matrix of `add_matrix` with its adaptation, `W + s A B`.

        With `ids`, an integer tensor, it returns the rows of these numbers
        alone.
        """

        def select(weight):
            return weight if ids is None else ops.take(weight, ids, axis=0)

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
            is_matrix = any(weight is matrix for matrix in self._matrices)
            store[str(number)] = self.merge(weight) if is_matrix else weight

    def load_own_variables(self, store):
        if not self.lora_enabled:
            super().load_own_variables(store)
            return
        for number, weight in enumerate(self._list_stored()):
            weight.assign(store[str(number)])
        for _, b in self._adapters.values():
            b.assign(ops.zeros(b.shape))

    def _list_stored(self):
        """Lists the weights of this layer alone, without its adapters."""
        adapters = {id(w) for pair in self._adapters.values() for w in pair}
        weights = self._trainable_variables + self._non_trainable_variables
        return [weight for weight in weights if id(weight) not in adapters]

    def get_config(self):
        config = super().get_config()
        if self.lora_rank:
            config["lora_rank"] = self.lora_rank
            config["lora_alpha"] = self.lora_alpha
        return config
