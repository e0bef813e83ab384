"""Random bits as a pure function of seeds: the same on every backend."""

from keras import ops


class RandomBits:
    """Gives random bits for one call after another, from a seed for each row.

    A row's bits depend on its seed and on the number of the call alone, not on
    the rows beside it. These are good enough for dropout and for drawing
    words; they are not for secrets.

    Args:
        seeds: integer tensor of shape `(batch,)`.
    """

    def __init__(self, seeds):
        self.seeds = ops.cast(seeds, "uint32")
        self.num_calls = 0

    def draw(self, shape):
        """Returns random uint32 of `shape`, whose first axis is the rows."""
        self.num_calls += 1
        bits = self.seeds + uint32(self.num_calls * 0x9E3779B1)
        for length in shape[1:-1]:
            bits = scrambled(ops.expand_dims(bits, -1) + _numbers(length))
        columns = scrambled(_numbers(shape[-1]))
        return _mixed(ops.expand_dims(bits, -1) + columns)


def scrambled(x):
    """Returns other random uint32 for random or regular ones."""
    x = ops.bitwise_xor(x, ops.right_shift(x, uint32(16)))
    x = _mixed(x * uint32(0x21F0AAAD))
    return ops.bitwise_xor(x, ops.right_shift(x, uint32(15)))


def uint32(number):
    """Returns a whole number, modulo 2^32, as a tensor."""
    return ops.convert_to_tensor(number % 2**32, dtype="uint32")


def _numbers(length):
    numbers = ops.cast(ops.arange(length), "uint32")
    return numbers * uint32(0x85EBCA6B) + uint32(1)


def _mixed(x):
    # A permutation of the 32-bit numbers, known from the cipher RC6, whose high
    # bits depend on all bits: three operations for each cell.
    return x * (x + x + uint32(1))
