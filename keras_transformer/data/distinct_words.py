"""The distinct words of token sequences, and which of them stands where."""

import numpy as np

from keras_transformer.data.token_arrays import TokenSequences

IDS_AT_ONCE = 2**21  # number of ids that are worked on together


class DistinctWords:
    """Numbers the distinct words of token sequences.

    A word is a run of ids from one that starts a word to the next such one. The
    number of a word of one id is this id. The others are numbered as they come.

    Args:
        starts_word: Boolean array of shape `(vocab_size,)`, which ids start a
            word.
    """

    def __init__(self, starts_word):
        self._starts_word = starts_word
        self._numbers = {}  # of words of several ids, as bytes

    def number(self, sequences):
        """Returns the words of sequences by their numbers.

        Args:
            sequences: `TokenSequences` of ids.

        Returns:
            `TokenSequences` of the numbers of words.
        """
        numbers, num_words = [], []
        for chosen in parts(sequences):
            ids = sequences.concatenated(chosen).astype(np.int32)
            lengths = sequences.lengths_of(chosen)
            is_start = self._starts_word[ids]
            is_start[np.cumsum(lengths) - lengths] = True
            numbers.append(self._number_part(ids, np.flatnonzero(is_start)))
            num_words.append(sums(is_start, lengths))
        offsets = np.append(0, np.cumsum(np.concatenate(num_words)))
        return TokenSequences(np.concatenate(numbers), offsets)

    def _number_part(self, ids, starts):
        """Returns the numbers of the words that start at some of the ids."""
        numbers = ids[starts]
        ends = np.append(starts[1:], len(ids))
        content, width = ids.tobytes(), ids.itemsize
        first = len(self._starts_word)
        several = np.flatnonzero(ends - starts > 1)
        numbers[several] = [
            self._numbers.setdefault(
                content[start:end], first + len(self._numbers)
            )
            for start, end in zip(
                (width * starts[several]).tolist(),
                (width * ends[several]).tolist(),
            )
        ]
        return numbers

    def spellings(self):
        """Returns the ids of every word, `TokenSequences` by number."""
        single = np.arange(len(self._starts_word), dtype=np.int32)
        several = np.frombuffer(b"".join(self._numbers), np.int32)
        lengths = [len(word) // single.itemsize for word in self._numbers]
        ends = len(single) + np.cumsum(lengths, dtype=np.int64)
        offsets = np.concatenate([np.arange(len(single) + 1), ends])
        return TokenSequences(np.concatenate([single, several]), offsets)


def parts(sequences):
    """Yields the numbers of consecutive sequences with a bounded sum of ids."""
    num_parts = int(sequences.offsets[-1]) // IDS_AT_ONCE + 1
    limits = IDS_AT_ONCE * np.arange(1, num_parts)
    bounds = np.searchsorted(sequences.offsets, limits).tolist()
    for start, end in zip([0, *bounds], [*bounds, len(sequences)]):
        if start < end:
            yield np.arange(start, end)


def sums(values, lengths):
    """Returns the sums of consecutive runs of values.

    Args:
        values: Array of shape `(values,)`.
        lengths: Integer array of shape `(runs,)`, at least 0.
    """
    totals = np.append(0, np.cumsum(values, dtype=np.int64))
    ends = np.cumsum(lengths)
    return totals[ends] - totals[ends - lengths]
