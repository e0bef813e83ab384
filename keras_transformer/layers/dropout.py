"""Dropout that depends on the row of the batch, not on the device."""

import contextlib
import threading

import keras
import numpy as np
from keras import ops

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
    always chooses the cells. The layer takes no mask.

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


class RandomBits:
    """Draws random bits, call after call, from a seed for each row.

    The bits of a row depend only on its seed and on the number of the call, not
    on the rows beside it. They are good enough for dropout and for sampling
    words. They are not fit for cryptography.
    """

    def __init__(self, seeds):
        self.seeds = ops.cast(seeds, "uint32")
        self.num_calls = 0

    def draw(self, shape):
        """Returns random uint32 of `shape`; its first axis is the rows."""
        # Counted in Python: a compiled graph keeps the number of each call.
        self.num_calls += 1
        # Odd multiples of the golden ratio times 2^32 lie far apart.
        bits = self.seeds + uint32(self.num_calls * 0x9E3779B1)
        for length in shape[1:-1]:
            bits = scramble(ops.expand_dims(bits, -1) + _numbers(length))
        columns = scramble(_numbers(shape[-1]))
        # The last axis is the longest, so its cells get the cheapest mixing.
        return _mix(ops.expand_dims(bits, -1) + columns)

    def draw_mask(self, shape, rate):
        """Returns booleans of `shape`, a share `rate` of which is False."""
        # Compared as integers: the noise needs no copy in floats. A rate just
        # below 1 must not round to 2^32, which is 0 in 32 bits.
        limit = min(round(rate * 2**32), 2**32 - 1)
        return self.draw(shape) >= uint32(limit)


def derive_seeds(seeds, number):
    """Returns uint32 seeds `(batch,)` for another purpose of the same rows.

    Each purpose has a `number`, from 1 on.
    """
    seeds = ops.cast(seeds, "uint32") + uint32(number * 0x9E3779B1)
    return scramble(seeds)


def scramble(x):
    """Returns uint32 that look random even if `x` is regular."""
    x = ops.bitwise_xor(x, ops.right_shift(x, uint32(16)))
    x = _mix(x * uint32(0x21F0AAAD))
    return ops.bitwise_xor(x, ops.right_shift(x, uint32(15)))


def uint32(number):
    """Returns an integer modulo 2^32 as a scalar tensor."""
    return ops.convert_to_tensor(np.uint32(number % 2**32))


def _numbers(length):
    numbers = ops.cast(ops.arange(length, dtype="int32"), "uint32")
    return numbers * uint32(0x85EBCA6B) + uint32(1)


def _mix(x):
    # The permutation x (2x + 1) of the 32-bit numbers, from the cipher RC6. Its
    # high bits depend on all bits of x, for three operations a cell.
    return x * (x + x + uint32(1))
