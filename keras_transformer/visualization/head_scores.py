"""Scores of attention heads: how diagonal, local, sharp and bracket-like.

Each score compares a head with uniform attention, which gives every word of a
sentence the same weight. Uniform attention scores 0 and a perfect head 1. A
score below 0 is possible: a head that attends to distant words alone is less
local than uniform attention.
"""

import typing

import numpy as np

from keras_transformer.errors import UserError

SCORES = ("diagonal", "local", "sharp", "brackets")
OFFSETS = (-1, 0, 1)  # to the previous word, the word itself, the next word
TINY = 1e-12


class HeadScores(typing.NamedTuple):
    """Scores of all heads, arrays of shape `(num_layers, num_heads)`."""

    diagonal: np.ndarray
    local: np.ndarray
    sharp: np.ndarray
    brackets: np.ndarray  # None without trees
    offset: np.ndarray  # of the best diagonal, one of OFFSETS
    distance: np.ndarray  # mean distance in words
    num_sentences: int
    num_words: int

    def to_dictionary(self):
        """Returns a dictionary of only the scores, without missing ones."""
        scores = {name: getattr(self, name) for name in SCORES}
        return {name: s for name, s in scores.items() if s is not None}


class HeadScorer:
    """Scores the heads of a model over many sentences.

    In a sentence of n words, `A[i, j]` is the weight from word i to word j. For
    uniform attention it is 1 / n. Each quantity q below is a mean over all
    words i of all sentences, and u is its value for uniform attention.

    - diagonal: `(q - u) / (1 - u)` with `q = A[i, i + offset]`, where that word
      exists, for the offset in -1, 0 and 1 with the highest score.
    - local: `1 - q / u` with `q = sum over j of A[i, j] * |i - j|`, the
      distance in words.
    - sharp: `1 - q / u` with `q = -sum over j of A[i, j] * ln A[i, j]`, the
      entropy in nats.
    - brackets: `(q - u) / (1 - u)`, where q is the share of the weights to
      other words that stays within the smallest constituent around word i that
      has two words or more. The end of a sentence is no word here. Neighbours
      often share a constituent, so a diagonal head scores above 0, too.

    A sentence of a single word counts for nothing.
    """

    def __init__(self):
        self._heads = self._uniform = 0
        self._num_sentences = self._num_words = 0

    def add(self, weights, constituents=()):
        """Adds the attention of a sentence.

        The weights have the shape `(num_layers, num_heads, num_words,
        num_words)`. For each word except the end of the sentence,
        `constituents` holds the span `(start, stop)` of the smallest
        constituent of two words or more around it. Text without trees has none.
        """
        num_words = weights.shape[-1]
        if num_words < 2:
            return
        weights = weights.astype("float64")
        self._num_sentences += 1
        self._num_words += num_words
        uniform = np.full((num_words, num_words), 1 / num_words)
        self._heads = self._heads + _sums(weights, constituents)
        self._uniform = self._uniform + _sums(uniform, constituents)

    def scores(self):
        """Returns the `HeadScores` of the sentences so far."""
        if not self._num_sentences:
            raise UserError(
                "There is no sentence of two words or more to score heads on. "
                "Use other sentences."
            )
        *at_offsets, distances, entropies, inside, others = np.moveaxis(
            self._heads, -1, 0
        )
        *by_chance, far, blurred, uniform_inside, uniform_others = self._uniform
        # Words that have the neighbour, for each offset.
        ends = self._num_words - self._num_sentences
        possible = ends, self._num_words, ends
        diagonals = np.stack(
            [
                (q - u) / (n - u)
                for q, u, n in zip(at_offsets, by_chance, possible)
            ]
        )  # (offset, num_layers, num_heads)
        brackets = None
        if uniform_inside < uniform_others:
            chance = uniform_inside / uniform_others
            # A head that attends to no other word has no share.
            share = inside / np.maximum(others, TINY)
            brackets = (share - chance) / (1 - chance)
        return HeadScores(
            diagonals.max(axis=0),
            1 - distances / far,
            1 - entropies / blurred,
            brackets,
            np.take(OFFSETS, diagonals.argmax(axis=0)),
            distances / self._num_words,
            self._num_sentences,
            self._num_words,
        )


def entropy(weights):
    """Returns the entropy of each row of `(..., queries, keys)`, in nats."""
    # 0 * ln 0 counts as 0.
    logarithms = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return -(weights * logarithms).sum(axis=-1)


def _sums(weights, constituents):
    """Returns the sums of all quantities over a sentence, along a last axis."""
    places = np.arange(weights.shape[-1])
    distances = np.abs(places[:, None] - places)
    is_inside = np.zeros(distances.shape, bool)
    for word, (start, stop) in enumerate(constituents):
        is_inside[word, start:stop] = True
    # The end of the sentence, which no constituent holds, is not counted.
    is_counted = (places < len(constituents)) & (distances > 0)
    is_counted &= places[:, None] < len(constituents)

    def total(factors):
        return (weights * factors).sum(axis=(-2, -1))

    return np.stack(
        [
            *(total(places == places[:, None] + o) for o in OFFSETS),
            total(distances),
            entropy(weights).sum(axis=-1),
            total(is_inside & is_counted),
            total(is_counted),
        ],
        axis=-1,
    )
