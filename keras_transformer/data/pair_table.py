"""A table from pairs of ids to numbers, which looks up whole arrays."""

import numpy as np

# With one entry in four, most look-ups end at the first place.
_PLACES_PER_PAIR = 4
# An odd number near 2**63 / golden ratio spreads the codes evenly (Knuth).
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_EMPTY = -1


class PairTable:
    """Maps pairs of ids to numbers.

    It is a hash table with linear probing. A look-up of an array is a few
    operations of NumPy.

    Args:
        lefts, rights: Integer arrays of shape `(pairs,)`, the distinct pairs;
            ids are at least 0 and less than 2**31.
        numbers: Integer array of shape `(pairs,)`, the number of each pair.
        default: Number of all other pairs.

    Example:

    >>> table = PairTable(np.array([5]), np.array([7]), np.array([3]), -1)
    >>> table.find(np.array([5, 7]), np.array([7, 5])).tolist()
    [3, -1]
    """

    def __init__(self, lefts, rights, numbers, default):
        num_bits = max(1, int(_PLACES_PER_PAIR * len(lefts)).bit_length())
        self._shift = np.uint64(64 - num_bits)
        self._last = 2**num_bits - 1
        self._codes = np.full(2**num_bits, _EMPTY, np.int64)
        self._numbers = np.full(2**num_bits, default, np.int32)
        codes = _codes(lefts, rights)
        places = self._places(codes)
        while len(codes):
            is_free = self._codes[places] == _EMPTY
            # Where several codes meet, one of them is written.
            self._codes[places[is_free]] = codes[is_free]
            is_placed = self._codes[places] == codes
            self._numbers[places[is_placed]] = numbers[is_placed]
            codes, numbers = codes[~is_placed], numbers[~is_placed]
            places = self._next(places[~is_placed])

    def find(self, lefts, rights):
        """Returns the numbers of pairs.

        Args:
            lefts, rights: Integer arrays of the same shape.

        Returns:
            Integer array of that shape.
        """
        codes = _codes(lefts, rights)
        places = self._places(codes)
        there = self._codes[places]
        # The number of an empty place is the default.
        numbers = self._numbers[places]
        is_other = (there != codes) & (there != _EMPTY)
        if is_other.any():
            numbers[is_other] = self._find_next(
                codes[is_other], places[is_other]
            )
        return numbers

    def _find_next(self, codes, places):
        """Returns the numbers of codes that are not at these places."""
        numbers = np.empty(len(codes), np.int32)
        left = np.arange(len(codes))
        while len(left):
            places = self._next(places)
            there = self._codes[places]
            is_end = (there == codes[left]) | (there == _EMPTY)
            numbers[left[is_end]] = self._numbers[places[is_end]]
            left, places = left[~is_end], places[~is_end]
        return numbers

    def _places(self, codes):
        hashes = codes.astype(np.uint64) * _MULTIPLIER
        return (hashes >> self._shift).astype(np.int64)

    def _next(self, places):
        return (places + 1) & self._last


def _codes(lefts, rights):
    return np.asarray(lefts, np.int64) << 32 | rights
