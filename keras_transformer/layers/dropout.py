"""Dropout that depends on the row of the batch, not on the device."""

import contextlib
import threading

import keras
from keras import ops

from keras_transformer.layers.random_bits import RandomBits
from keras_transformer.layers.sequence_layer import Quantizable
from keras_transformer.serialization import serializable

_CURRENT = threading.local()  # tf.distribute runs each replica in a thread


@serializable
class Dropout(Quantizable, keras.layers.Dropout):
    """Drops a share of the cells of its input and scales up the rest.

    Outside `dropout_noise` this is the layer of Keras. Inside it, the dropped
    cells are a pure function of the row's seed and of the number of dropout
    calls before this one. A row then loses the same cells on every device and
    backend, whichever rows share its batch, and there is no random state to
    save. With a `noise_shape`, a rate of 1 or an input of one axis, Keras
    always chooses the cells. It takes no mask.

    Args:
        rate: Float, P_drop, the share of the cells that is dropped.
        **kwargs: Arguments of `keras.layers.Dropout`.

    Call arguments:
        inputs: Tensor of shape `(batch, ...)`.

    Returns:
        Tensor of the shape of `inputs`.

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
        is_plain = 0 < self.rate < 1 and not self.noise_shape
        has_rows = len(inputs.shape) > 1
        if noise is None or not training or not (is_plain and has_rows):
            return super().call(inputs, training=training)
        kept = noise.draw_mask(ops.shape(inputs), self.rate)
        scaled = inputs * ops.cast(1.0 / (1.0 - self.rate), inputs.dtype)
        # A product would keep the cells as floats until the backward pass.
        return ops.where(kept, scaled, ops.zeros_like(scaled))


def make_inner_dropout(rate, dtype):
    """Makes the dropout inside a layer that has matrices.

    Without a rate it is a function, since `keras.Model.quantize` skips the
    matrices of layers that have sub-layers.
    """
    if not rate:
        return lambda x, training=None: x
    dropout = Dropout(rate, dtype=dtype, name="dropout")
    dropout.quantize = _refuse_quantization
    return dropout


def _refuse_quantization(*args, **kwargs):
    raise NotImplementedError(
        "`model.quantize` skips layers with attention_dropout or "
        "activation_dropout. Quantise the stack that they belong to, as in "
        'encoder.quantize("int8").'
    )


@contextlib.contextmanager
def dropout_noise(seeds):
    """Makes the dropped cells a pure function of the seeds of the rows.

    Args:
        seeds: Integer tensor of shape `(batch,)`, a random number for each row.

    Yields:
        None. The seeds apply inside the context.
    """
    before = getattr(_CURRENT, "noise", None)
    _CURRENT.noise = RandomBits(seeds)
    try:
        yield
    finally:
        _CURRENT.noise = before
