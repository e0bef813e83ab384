"""Dropout whose choice depends on the row of the batch, not on the device."""

import contextlib
import threading

import keras
from keras import ops

from keras_transformer.layers.random_bits import RandomBits
from keras_transformer.layers.random_bits import uint32
from keras_transformer.serialization import serializable

_CURRENT = threading.local()  # tf.distribute runs each replica in a thread


@serializable
class Dropout(keras.layers.Dropout):
    """Drops a share of its input's cells and scales up the rest.

    Alone it is Keras' own layer. Inside `dropout_noise` the cells to drop are a
    pure function of the row's seed and of how many dropout layers were called
    before: a row loses the same cells whatever device it is on and whatever
    rows it shares a batch with, on every backend, and there is no random state
    to save.

    Args:
        rate: P_drop, the share of the cells that is dropped.

    Call arguments:
        inputs: tensor of shape `(batch, ...)`.

    Returns:
        tensor of the same shape.

    Example:

    >>> import numpy as np
    >>> x = np.ones((1, 4, 8), "float32")
    >>> with dropout_noise(np.array([7], "int32")):
    ...     once = Dropout(0.5)(x, training=True)
    >>> with dropout_noise(np.array([7], "int32")):
    ...     again = Dropout(0.5)(x, training=True)
    >>> bool(ops.all(once == again))
    True
    """

    def call(self, inputs, training=False):
        noise = getattr(_CURRENT, "noise", None)
        if noise is None or not training or not self.rate:
            return super().call(inputs, training=training)
        threshold = uint32(round(self.rate * 2**32))
        kept = noise.draw(ops.shape(inputs)) >= threshold
        scaled = inputs * ops.cast(1.0 / (1.0 - self.rate), inputs.dtype)
        # Not a product, for whose gradient the cells would be kept as floats.
        return ops.where(kept, scaled, ops.zeros_like(scaled))


@contextlib.contextmanager
def dropout_noise(seeds):
    """Makes dropout inside a pure function of these seeds.

    Args:
        seeds: integer tensor of shape `(batch,)`, a random number for each row.
    """
    before = getattr(_CURRENT, "noise", None)
    _CURRENT.noise = RandomBits(seeds)
    try:
        yield
    finally:
        _CURRENT.noise = before
