"""Sentences as token ids in flat files that are mapped into memory."""

import array
import itertools
import math
import os
import typing

import numpy as np

from keras_transformer.files import array_files
from keras_transformer.files import reading
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

SIDES = ("source", "target")
IDS_SUFFIX = ".ids"
OFFSETS_SUFFIX = ".offsets.npy"
TEXT_SUFFIX = ".txt"
SUFFIXES = (IDS_SUFFIX, OFFSETS_SUFFIX, TEXT_SUFFIX)  # of all files of a split
# Ends the errors about damaged files.
REMEDY = "Remove its folder and run kt-datagen again."
IDS_AT_ONCE = 2**24  # the number of ids that are checked together


class TokenSequences:
    """Holds token sequences of different lengths, a list of int32 arrays.

    `ids`, of shape `(ids,)`, holds all sequences, one after another. `offsets`,
    of shape `(sequences + 1,)`, says where each begins and the last one ends.
    """

    def __init__(self, ids, offsets):
        self.ids = ids
        self.offsets = offsets

    @classmethod
    def from_lists(cls, lists, dtype=np.int32):
        """Returns the sequences of a list of lists of ids."""
        ids = np.fromiter(itertools.chain.from_iterable(lists), dtype)
        offsets = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(sequence) for sequence in lists], out=offsets[1:])
        return cls(ids, offsets)

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, index):
        # A range takes negative numbers, and its IndexError ends an iteration.
        index = range(len(self))[index]
        return self.concatenate(np.array([index])).astype(np.int32)

    @property
    def lengths(self):
        """Number of tokens of each sequence, of shape `(sequences,)`."""
        return np.diff(self.offsets)

    def count_tokens(self, indices):
        """Returns the numbers of tokens of the sequences with these numbers."""
        return self.offsets[indices + 1] - self.offsets[indices]

    def concatenate(self, indices):
        """Returns the ids of some sequences, one after another."""
        lengths = self.count_tokens(indices)
        # The position of every id in the file, without a loop over sequences:
        # a running count, shifted for each sequence to its start.
        positions = np.arange(lengths.sum()) + np.repeat(
            self.offsets[indices] + lengths - np.cumsum(lengths), lengths
        )
        return self.ids[positions]

    def pad(self, indices, length):
        """Returns some sequences as an int32 array of shape `(rows, length)`.

        `indices` has shape `(rows,)`, or `(rows, sequences_per_row)` to write
        several sequences one after another into a row; -1 means no sequence.
        """
        indices = np.asarray(indices)
        if indices.ndim == 1:
            indices = indices[:, None]  # (rows, 1)
        is_sequence = indices >= 0
        lengths = np.where(is_sequence, self.count_tokens(indices), 0)
        row_lengths = lengths.sum(axis=1)
        padded = np.full((len(indices), length), PAD_ID, np.int32)
        padded[np.arange(length) < row_lengths[:, None]] = self.concatenate(
            indices[is_sequence]
        )
        return padded


class TokenArray(TokenSequences):
    """Reads the token sequences that a `TokenArrayWriter` wrote to a path.

    Only the parts in use are in memory, which a corpus may exceed.
    """

    def __init__(self, path):
        self.path = path + IDS_SUFFIX
        offsets = _read_offsets(path + OFFSETS_SUFFIX)
        reading.check_file(self.path, REMEDY)
        num_ids = int(offsets[-1])
        num_bytes = os.path.getsize(self.path)
        # The size of the file tells how wide the ids are.
        dtypes = {2 * num_ids: np.uint16, 4 * num_ids: np.int32}
        if not num_ids or num_bytes not in dtypes:
            fault = f"with {num_bytes:,} bytes for {num_ids:,} ids"
            raise reading.file_error(self.path, fault, REMEDY)
        ids = np.memmap(self.path, dtypes[num_bytes], mode="r")
        super().__init__(ids, offsets)

    def check(self, num_sentences, vocab_size):
        """Raises a `UserError` unless all sentences are there and valid.

        A valid one ends with the end id. All ids are read once.
        """
        fault = None
        if len(self) != num_sentences:
            fault = f"with {len(self):,} sentences instead of {num_sentences:,}"
        # The comparison comes first: an empty sentence has no last id.
        elif not self.lengths.all() or (
            (self.ids[self.offsets[1:] - 1] != END_ID).any()
        ):
            fault = f"where a sentence does not end with the id {END_ID}"
        else:
            for start in range(0, len(self.ids), IDS_AT_ONCE):
                part = self.ids[start : start + IDS_AT_ONCE]
                if part.min() <= PAD_ID or part.max() >= vocab_size:
                    fault = f"where an id is not from 1 to {vocab_size - 1:,}"
        if fault:
            raise reading.file_error(self.path, fault, REMEDY)


def _read_offsets(path):
    reading.check_file(path, REMEDY)
    num_bytes = os.path.getsize(path)
    with open(path, "rb") as file:
        try:
            header = array_files.read_header(file)
        except ValueError as error:
            raise reading.file_error(path, error, REMEDY) from error
        kind = (header.dtype, len(header.shape), header.total_bytes)
        if kind != (np.int64, 1, num_bytes) or not header.shape[0]:
            fault = f"with {header.dtype} numbers of shape {header.shape}"
            raise reading.file_error(path, fault, REMEDY)
        offsets = np.fromfile(file, np.int64)
    # Compared, because a difference of absurd numbers could overflow.
    if offsets[0] or (offsets[1:] < offsets[:-1]).any():
        fault = "where the offsets do not ascend from 0"
        raise reading.file_error(path, fault, REMEDY)
    return offsets


class TokenPairs(typing.NamedTuple):
    """Source and target sentences, two `TokenSequences` of the same length."""

    inputs: TokenSequences
    targets: TokenSequences


def pad(sequences):
    """Returns lists of ids as one int32 array, `(batch, length)`, with 0s."""
    rows = TokenSequences.from_lists(sequences)
    return rows.pad(np.arange(len(rows)), rows.lengths.max())


def join_sequences(parts):
    """Returns the sequences of one or two `TokenSequences`, one after another.

    Nothing is read or copied, except for the offsets.
    """
    if len(parts) == 1:
        return parts[0]
    numbers = [np.arange(len(part)) for part in parts]
    return MixedSequences(*parts, np.append(numbers[0], ~numbers[1]))


class MixedSequences(TokenSequences):
    """Takes each sequence from one of two `TokenSequences`, without a copy.

    `numbers`, of shape `(sequences,)`, holds the number n of a sequence of the
    first one, or `~n` for sequence n of the second one.
    """

    def __init__(self, first, second, numbers):
        self._parts = first, second
        self._numbers = numbers
        lengths = np.empty(len(numbers), np.int64)
        for part, is_here, chosen in self._divide(numbers):
            lengths[is_here] = part.count_tokens(chosen)
        super().__init__(None, np.append(0, np.cumsum(lengths)))

    def concatenate(self, indices):
        lengths = self.count_tokens(indices)
        ids = np.empty(lengths.sum(), np.int32)
        for part, is_here, chosen in self._divide(self._numbers[indices]):
            ids[np.repeat(is_here, lengths)] = part.concatenate(chosen)
        return ids

    def _divide(self, numbers):
        """Yields each part, where it has sequences, and their numbers in it."""
        for part, own in zip(self._parts, (numbers, ~numbers)):
            is_here = own >= 0
            yield part, is_here, own[is_here]


class TokenArrayWriter:
    """Writes token sequences to a flat file; a context manager.

    Writes `path.ids`, with 16 bits for each id if the vocabulary allows, and
    `path.offsets.npy` when the context ends.
    """

    def __init__(self, path, vocab_size):
        self._path = path
        self._dtype = ids_dtype(vocab_size)
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

    def extend(self, sequences):
        """Adds the sequences of a `TokenSequences`."""
        self._file.write(np.asarray(sequences.ids, self._dtype).tobytes())
        ends = self._ends[-1] + sequences.offsets[1:]
        self._ends.frombytes(np.asarray(ends, np.int64).tobytes())

    @property
    def num_tokens(self):
        """Number of tokens written so far."""
        return self._ends[-1]


def ids_dtype(vocab_size):
    """Returns the NumPy type of ids in a file."""
    # All usual vocabularies fit into 16 bits, which halves the file.
    return np.uint16 if vocab_size <= 1 << 16 else np.int32


def ids_path(directory, split, side):
    """Returns the path of the token ids of a "source" or "target" side."""
    return os.path.join(directory, f"{split}.{side}")


def read_ids(directory, split):
    """Returns the token ids of both sides, a dictionary of `TokenArray`."""
    return {
        side: TokenArray(ids_path(directory, split, side)) for side in SIDES
    }


def text_path(directory, split, side):
    """Returns the path of the raw text of a "source" or "target" side."""
    return os.path.join(directory, f"{split}.{side}{TEXT_SUFFIX}")


def read_text(directory, split, side, num_lines):
    """Returns the list of lines of a side's raw text."""
    path = text_path(directory, split, side)
    text = reading.read_text(path, REMEDY, max_bytes=math.inf)
    # `splitlines` also splits at rarer characters, which a sentence may hold.
    lines = text.split("\n")[:-1]
    if len(lines) != num_lines:
        fault = f"with {len(lines):,} lines instead of {num_lines:,}"
        raise reading.file_error(path, fault, REMEDY)
    return lines
