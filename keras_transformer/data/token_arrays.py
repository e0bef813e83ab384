"""Sentences as token ids in flat files, mapped into memory when read."""

import array
import os
import typing

import numpy as np

IDS_SUFFIX = ".ids"
OFFSETS_SUFFIX = ".offsets.npy"


class TokenArray:
    """Read token sequences of different lengths from a flat file.

    Behaves as a read-only list of int32 arrays. Only the parts in use are in
    memory, so a corpus may be larger than the machine's memory.

    Args:
        path: path that a `TokenArrayWriter` wrote to.
    """

    def __init__(self, path):
        self.offsets = np.load(path + OFFSETS_SUFFIX)  # (sequences + 1,)
        num_ids, num_bytes = (
            self.offsets[-1],
            os.path.getsize(path + IDS_SUFFIX),
        )
        dtypes = {2 * num_ids: np.uint16, 4 * num_ids: np.int32}
        if not num_ids or num_bytes not in dtypes:
            raise ValueError(
                "The file of token ids must be as long as its offsets say. "
                f"Received: path={path + IDS_SUFFIX}, {num_bytes} bytes for "
                f"{num_ids} ids. Remove its folder and run kt-datagen again."
            )
        self.ids = np.memmap(path + IDS_SUFFIX, dtypes[num_bytes], mode="r")

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, index):
        index = range(len(self))[index]
        start, end = self.offsets[index], self.offsets[index + 1]
        return self.ids[start:end].astype(np.int32)

    @property
    def lengths(self):
        """Number of tokens of each sequence, integers `(sequences,)`."""
        return np.diff(self.offsets)

    def padded(self, indices, length):
        """Return the chosen sequences as one array, filled up with 0.

        Args:
            indices: integers `(rows,)`, or `(rows, sequences_per_row)` for
                several sequences one after another in a row; -1 stands for
                none.
            length: width of the array, at least the fullest row's.

        Returns:
            int32 array `(rows, length)`.
        """
        indices = np.asarray(indices)
        if indices.ndim == 1:
            indices = indices[:, None]
        starts = self.offsets[indices]
        lengths = np.where(indices < 0, 0, self.offsets[indices + 1] - starts)
        row_lengths = lengths.sum(axis=1)
        starts, lengths = starts.ravel(), lengths.ravel()
        # Where to read: from each start on, less what was read before it.
        positions = np.arange(lengths.sum()) + np.repeat(
            starts + lengths - np.cumsum(lengths), lengths
        )
        padded = np.zeros((len(indices), length), np.int32)
        padded[np.arange(length) < row_lengths[:, None]] = self.ids[positions]
        return padded


class TokenPairs(typing.NamedTuple):
    """Hold source and target sentences, two `TokenArray`s of one length."""

    inputs: TokenArray
    targets: TokenArray


class TokenArrayWriter:
    """Write token sequences to a flat file; a context manager.

    Writes `<path>.ids`, 16 bits per id where the vocabulary allows, and
    `<path>.offsets.npy` on leaving the context.

    Args:
        path: path without suffix.
        vocab_size: number of different ids.
    """

    def __init__(self, path, vocab_size):
        self._path = path
        self._dtype = np.uint16 if vocab_size <= 1 << 16 else np.int32
        self._ends = array.array("q", [0])

    def __enter__(self):
        self._file = open(self._path + IDS_SUFFIX, "wb")
        return self

    def __exit__(self, *exception):
        self._file.close()
        np.save(self._path + OFFSETS_SUFFIX, np.array(self._ends, np.int64))

    def append(self, ids):
        """Add one sequence of token ids."""
        self._file.write(np.asarray(ids, self._dtype).tobytes())
        self._ends.append(self._ends[-1] + len(ids))

    @property
    def num_tokens(self):
        return self._ends[-1]
