"""Random bits as a pure function of seeds, the same on every backend."""

import numpy as np
from keras import ops


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
        """Returns random uint32 of `shape`, whose first axis is the rows."""
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
        # Compared as integers: the noise needs no copy in floats.
        return self.draw(shape) >= uint32(round(rate * 2**32))


def derive_seeds(seeds, number):
    """Returns uint32 seeds `(batch,)` for another purpose of the same rows.

    Each purpose has a `number`, from 1 on.
    """
    seeds = ops.cast(seeds, "uint32") + uint32(number * 0x9E3779B1)
    return scramble(seeds)


def scramble(x):
    """Returns uint32 that look random even if those of `x` are regular."""
    x = ops.bitwise_xor(x, ops.right_shift(x, uint32(16)))
    x = _mix(x * uint32(0x21F0AAAD))
    return ops.bitwise_xor(x, ops.right_shift(x, uint32(15)))


def uint32(number):
    """Returns an integer modulo 2^32 as a scalar tensor."""
    return ops.convert_to_tensor(np.uint32(number % 2**32))


def _numbers(length):
    numbers = ops.cast(ops.arange(length), "uint32")
    return numbers * uint32(0x85EBCA6B) + uint32(1)


def _mix(x):
    # The permutation x (2x + 1) of the 32-bit numbers, from the cipher RC6. Its
    # high bits depend on all bits of x, for three operations a cell.
    return x * (x + x + uint32(1))
