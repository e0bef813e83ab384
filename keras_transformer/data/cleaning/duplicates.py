"""The rule that drops pairs that occurred before, exactly or nearly."""

import hashlib

import numpy as np


class DuplicateRule:
    """Drops a pair if an earlier pair has the same key.

    The key `str` finds pairs with the same text. The key `normal_form` also
    finds pairs that differ only in case, punctuation, digits and spaces, such
    as a statement and a question of the same words.

    It keeps a hash of 8 bytes for each distinct pair and no text. The
    probability that any two of 100 million pairs share one is 0.03 %.
    """

    def __init__(self, name, key):
        self.name = name
        self._key = key
        self._hashes = HashSet()

    def find_drops(self, pairs):
        """Returns a list that tells for each pair whether it is dropped."""
        digests = b"".join(
            _digest("\n".join(map(self._key, pair))) for pair in pairs
        )
        hashes = np.frombuffer(digests, np.uint64)
        return self._hashes.add(hashes).tolist()


def _digest(text):
    # `hash` would be faster, but differs from process to process.
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


class HashSet:
    """A set of 64-bit integers that takes 8 bytes for each of them.

    It consists of sorted arrays, each more than twice as long as the next one.
    A search goes through few arrays, and an integer is moved few times.

    >>> hashes = HashSet()
    >>> hashes.add(np.array([3, 5, 3], np.uint64)).tolist()
    [False, False, True]
    >>> hashes.add(np.array([7, 5], np.uint64)).tolist()
    [False, True]
    """

    def __init__(self):
        self._arrays = []

    def __len__(self):
        return sum(map(len, self._arrays))

    def add(self, hashes):
        """Adds uint64 integers, and returns whether each occurred before."""
        distinct, first_positions = np.unique(hashes, return_index=True)
        were_there = self._contains(distinct)
        occurred = np.ones(len(hashes), bool)
        occurred[first_positions] = were_there
        self._append(distinct[~were_there])
        return occurred

    def _contains(self, hashes):
        is_there = np.zeros(len(hashes), bool)
        for array in self._arrays:
            positions = np.searchsorted(array, hashes)
            # A value above all others would be looked up beyond the end.
            is_there |= array.take(positions, mode="clip") == hashes
        return is_there

    def _append(self, array):
        if not len(array):
            return
        self._arrays.append(array)
        while len(self._arrays) > 1 and (
            len(self._arrays[-2]) <= 2 * len(self._arrays[-1])
        ):
            last = self._arrays.pop()
            merged = np.concatenate([self._arrays.pop(), last])
            # The stable sort merges two sorted halves in one pass.
            merged.sort(kind="stable")
            self._arrays.append(merged)
