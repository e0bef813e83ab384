"""Sentences as token ids in flat files that are mapped into memory."""

import array
import os
import typing

import numpy as np

from keras_transformer.token_ids import PAD_ID

IDS_SUFFIX = ".ids"
OFFSETS_SUFFIX = ".offsets.npy"


class TokenArray:
    """Reads token sequences of different lengths from a flat file.

    It behaves as a read-only list of int32 arrays. Only the parts in use are
    in memory, so a corpus may be larger than the memory of the machine.

    Args:
        path: Path without suffix that a `TokenArrayWriter` wrote to.
    """

    def __init__(self, path):
        self.offsets = np.load(path + OFFSETS_SUFFIX)  # (sequences + 1,)
        num_ids, num_bytes = (
            self.offsets[-1],
            os.path.getsize(path + IDS_SUFFIX),
        )
        # The size of the file tells how wide the ids are.
        dtypes = {2 * num_ids: np.uint16, 4 * num_ids: np.int32}
        if not num_ids or num_bytes not in dtypes:
            raise ValueError(
                "A file of token ids must be as long as its offsets require. "
                f"Received: path={path + IDS_SUFFIX}, {num_bytes} bytes for "
                f"{num_ids} ids. Remove its folder and run kt-datagen again."
            )
        self.ids = np.memmap(path + IDS_SUFFIX, dtypes[num_bytes], mode="r")

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, index):
        # Indexing a range handles negative numbers, and raises the IndexError
        # that ends an iteration.
        index = range(len(self))[index]
        start, end = self.offsets[index], self.offsets[index + 1]
        return self.ids[start:end].astype(np.int32)

    @property
    def lengths(self):
        """Number of tokens of each sequence, of shape `(sequences,)`."""
        return np.diff(self.offsets)

    def padded(self, indices, length):
        """Returns the chosen sequences as one padded array.

        Args:
            indices: Integer array of shape `(rows,)`, or `(rows,
                sequences_per_row)` to write several sequences one after
                another into a row; -1 means no sequence.
            length: Length of the array, at least that of the longest row.

        Returns:
            An int32 array of shape `(rows, length)`, padded with `PAD_ID`.
        """
        indices = np.asarray(indices)
        if indices.ndim == 1:
            indices = indices[:, None]  # (rows, 1)
        starts = self.offsets[indices]  # (rows, sequences_per_row)
        lengths = np.where(indices < 0, 0, self.offsets[indices + 1] - starts)
        row_lengths = lengths.sum(axis=1)
        starts, lengths = starts.ravel(), lengths.ravel()
        # The position of every id in the file, without a loop over sequences:
        # a running count, shifted for each sequence to its start.
        positions = np.arange(lengths.sum()) + np.repeat(
            starts + lengths - np.cumsum(lengths), lengths
        )
        padded = np.full((len(indices), length), PAD_ID, np.int32)
        padded[np.arange(length) < row_lengths[:, None]] = self.ids[positions]
        return padded


class TokenPairs(typing.NamedTuple):
    """Source and target sentences, two `TokenArray`s of the same length."""

    inputs: TokenArray
    targets: TokenArray


class TokenArrayWriter:
    """Writes token sequences to a flat file; a context manager.

    Writes `path.ids`, with 16 bits for each id if the vocabulary allows, and
    `path.offsets.npy` when the context ends.

    Args:
        path: Path without suffix.
        vocab_size: Number of different ids.
    """

    def __init__(self, path, vocab_size):
        self._path = path
        # All usual vocabularies fit into 16 bits, which halves the file.
        self._dtype = np.uint16 if vocab_size <= 1 << 16 else np.int32
        # An array, not a list: a corpus has tens of millions of sentences.
        self._ends = array.array("q", [0])

    def __enter__(self):
        self._file = open(self._path + IDS_SUFFIX, "wb")
        return self

    def __exit__(self, *exception):
        self._file.close()
        # The offsets come last, when the number of sequences is known.
        np.save(self._path + OFFSETS_SUFFIX, np.array(self._ends, np.int64))

    def append(self, ids):
        """Adds one sequence of token ids."""
        self._file.write(np.asarray(ids, self._dtype).tobytes())
        self._ends.append(self._ends[-1] + len(ids))

    @property
    def num_tokens(self):
        """Number of tokens written so far."""
        return self._ends[-1]
