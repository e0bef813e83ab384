"""Sampled segmentations of the training text, new ones in each epoch."""

import numpy as np

from keras_transformer.data.generation.token_arrays import MixedSequences
from keras_transformer.data.generation.token_arrays import TokenPairs
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.data.vocabulary.bpe_dropout import BpeDropout

MAX_SAMPLES = 16  # largest number of segmentations of a word in an epoch
CHARACTERS_AT_ONCE = 2**17  # number of characters that are merged together
# Text without spaces can be one word of any length. The time for a word grows
# with the square of its length, so longer ones keep their segmentation.
MAX_CHARACTERS = 1000


class SubwordSampler:
    """Segments training pairs anew for each epoch, with BPE-dropout.

    Without dropout, all epochs have the stored pairs. Otherwise each epoch
    draws new segmentations of every distinct word, as many as the word has
    occurrences but at most `MAX_SAMPLES`. The occurrences of the word use them
    in turn. An epoch therefore costs little more than a look-up, and any
    occurrence has the distribution that `BpeDropout` describes. Memory holds 4
    bytes for each word of the text and, during an epoch, the drawn
    segmentations. `vocabulary` belongs to both sides, or to the targets.
    """

    def __init__(
        self, token_pairs, vocabulary, dropout, seed, source_vocabulary=None
    ):
        self._stored = token_pairs
        self._seed = seed
        # Sides with one vocabulary share the segmentations of a word.
        groups = [(token_pairs, vocabulary)]
        if source_vocabulary and source_vocabulary.sha256 != vocabulary.sha256:
            vocabularies = source_vocabulary, vocabulary
            groups = [([s], v) for s, v in zip(token_pairs, vocabularies)]
        self._samplers = [
            _WordSampler(*group, dropout) for group in groups if dropout
        ]

    def sample(self, epoch, longest):
        """Returns the pairs of an epoch, `TokenPairs`.

        The pairs depend only on these arguments and on the class's. A pair
        keeps its stored segmentation if either one has more than `longest`
        tokens on a side. Each side may have its maximum, in an array `(2,)`.
        """
        if not self._samplers:
            return self._stored
        # The 2 separates it from generators that order epochs and seed rows.
        generator = np.random.default_rng([self._seed, epoch, 2])
        sides = sum((each.sample(generator) for each in self._samplers), [])
        stored_lengths = [side.lengths for side in self._stored]
        lengths = np.maximum([side.lengths for side in sides], stored_lengths)
        is_stored = (lengths > np.reshape(longest, (-1, 1))).any(axis=0)
        numbers = np.arange(len(is_stored))
        numbers = np.where(is_stored, numbers, ~numbers)
        return TokenPairs(
            *(
                MixedSequences(stored, side, numbers)
                for stored, side in zip(self._stored, sides)
            )
        )


class _WordSampler:
    """Draws segmentations of the words of sides with one vocabulary."""

    def __init__(self, sides, vocabulary, dropout):
        self._bpe = BpeDropout(vocabulary, dropout)
        words = DistinctWords(self._bpe.starts_word)
        self._sides = [words.number(side) for side in sides]
        self._spellings = words.spellings()
        self._characters = self._bpe.spell(self._spellings)
        self._first_ranks = self._bpe.first_ranks(self._characters)
        # The stored segmentation of a word has the number of the word. The
        # drawn ones have the numbers after these.
        num_drawn = self._count_drawn()
        all_words = np.arange(len(num_drawn), dtype=np.int32)
        drawn_words = np.repeat(all_words, num_drawn)
        self._word_of = np.concatenate([all_words, drawn_words])
        first_drawn = len(num_drawn) + np.cumsum(num_drawn) - num_drawn
        first = np.where(num_drawn, first_drawn, all_words)
        num_used = np.zeros(len(num_drawn), np.int64)
        for side in self._sides:
            _take_turns(side.ids, first, num_drawn, num_used)
        groups = _group_equal(self._characters.count_tokens(drawn_words))
        self._groups = [len(num_drawn) + group for group in groups]

    def sample(self, generator):
        """Returns the `_SampledSequences` of each side in an epoch."""
        segmentations = self._draw(generator)
        return [
            _SampledSequences(numbers, segmentations) for numbers in self._sides
        ]

    def _count_drawn(self):
        """Returns the number of segmentations that an epoch draws of a word."""
        num_words = len(self._spellings)
        counts = np.zeros(num_words, np.int64)
        for side in self._sides:
            for part in _slices(side.ids):
                counts += np.bincount(part, minlength=num_words)
        lengths = self._characters.lengths
        is_drawn = (lengths > 1) & (lengths <= MAX_CHARACTERS)
        return np.minimum(counts, np.where(is_drawn, MAX_SAMPLES, 0))

    def _draw(self, generator):
        """Returns all segmentations of an epoch, `TokenSequences`."""
        lengths = np.empty(len(self._word_of), np.int64)
        lengths[: len(self._spellings)] = self._spellings.lengths
        drawn = []
        for group in self._groups:
            words = self._word_of[group]
            matrices = [
                sequences.concatenate(words).reshape(len(words), -1).T
                for sequences in (self._characters, self._first_ranks)
            ]  # (characters, words)
            for columns, pieces in self._bpe.segment(*matrices, generator):
                lengths[group[columns]] = len(pieces)
                drawn.append((group[columns], pieces))
        offsets = np.append(0, np.cumsum(lengths))
        ids = np.empty(offsets[-1], np.int32)
        ids[: len(self._spellings.ids)] = self._spellings.ids
        for numbers, pieces in drawn:
            places = offsets[numbers] + np.arange(len(pieces))[:, None]
            ids[places] = pieces
        return TokenSequences(ids, offsets)


class _SampledSequences(TokenSequences):
    """Token sequences that are put together from segmentations of words.

    `numbers` are `TokenSequences` of numbers of segmentations, and
    `segmentations` hold the ids of each.
    """

    def __init__(self, numbers, segmentations):
        # Only lengths are computed here. The ids are put together when a batch
        # asks for them, so no second copy of the corpus is in memory.
        token_counts = segmentations.lengths
        lengths = [
            sums(token_counts[numbers.concatenate(n)], numbers.count_tokens(n))
            for n in parts(numbers)
        ]
        offsets = np.append(0, np.cumsum(np.concatenate(lengths)))
        super().__init__(None, offsets)
        self._numbers = numbers
        self._segmentations = segmentations

    def concatenate(self, indices):
        return self._segmentations.concatenate(
            self._numbers.concatenate(indices)
        )


def _take_turns(words, first, num_drawn, num_used):
    """Replaces each word, in place, by the number of its next segmentation.

    `first`, `num_drawn` and `num_used` hold a number for each distinct word:
    its first segmentation, how many there are (0 means the stored one), and how
    many occurrences came before. These occurrences are added to `num_used`.
    """
    # Sorted by word, the occurrences of a word stand side by side. The number
    # of one is its place among them, plus those that came in earlier parts.
    for part in _slices(words):
        order = np.argsort(part, kind="stable")
        distinct, counts = np.unique(part, return_counts=True)
        earlier = np.arange(len(part)) - np.repeat(
            np.cumsum(counts) - counts - num_used[distinct], counts
        )
        num_used[distinct] += counts
        word = part[order]
        part[order] = first[word] + earlier % np.maximum(1, num_drawn[word])


def _group_equal(lengths):
    """Yields the places of equal lengths, not too many together."""
    order = np.argsort(lengths, kind="stable")
    ends = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, ends):
        if len(group):
            at_once = max(1, CHARACTERS_AT_ONCE // lengths[group[0]])
            yield from np.split(group, range(at_once, len(group), at_once))


def _slices(array):
    """Yields consecutive parts of an array of bounded size."""
    for start in range(0, len(array), IDS_AT_ONCE):
        yield array[start : start + IDS_AT_ONCE]


IDS_AT_ONCE = 2**21  # number of ids that are processed together


class DistinctWords:
    """Numbers the distinct words of token sequences.

    A word is a run of ids from one that starts a word to the next such one. The
    number of a word of one id is this id. The others are numbered as they come.
    `starts_word` tells for each id whether it starts a word.
    """

    def __init__(self, starts_word):
        self._starts_word = starts_word
        self._numbers = {}  # of words of several ids, as bytes

    def number(self, sequences):
        """Returns the words of `TokenSequences` by their numbers."""
        numbers, num_words = [], []
        for chosen in parts(sequences):
            ids = sequences.concatenate(chosen).astype(np.int32)
            lengths = sequences.count_tokens(chosen)
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
    """Returns the sums of consecutive runs of values of these lengths."""
    totals = np.append(0, np.cumsum(values, dtype=np.int64))
    ends = np.cumsum(lengths)
    return totals[ends] - totals[ends - lengths]
