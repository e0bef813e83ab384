"""Finds the training pairs that the words of a translation come from."""

import typing

import numpy as np

from keras_transformer.data.memory.store import Match
from keras_transformer.data.memory.store import Pair
from keras_transformer.errors import UserError
from keras_transformer.token_ids import END_ID

NUM_PAIRS = 5  # that are shown
_COMPARED = 500  # pairs that are compared word by word
# What counts of a subword for each pair that has it and was chosen before, so
# that the next pair explains other words.
_EXPLAINED = 0.1
_PAIRS_AT_ONCE = 2**18  # their ids are in memory together


class TrainingPairs:
    """Finds the training pairs that the words of a translation come from.

    A model need not have any word from a certain pair. But a rare word, a name
    or a wrong translation can often be found in few of them.

    Args:
        problem: A `Problem` whose data are generated.

    Example:

        pairs = TrainingPairs.open(run)  # a `RunDirectory`
        pairs.find("Use tcl.", "Usate tcl.")[0].pair.source
    """

    def __init__(self, problem):
        self._pairs = problem.token_pairs("train")
        self._vocabularies = problem.vocabularies
        counts = [np.zeros(each.vocab_size) for each in self._vocabularies]
        for side, _, ids, _ in self._read():
            counts[side] += np.bincount(ids, minlength=len(counts[side]))
        # A subword counts as much as the square of its information, as in a
        # cosine of TF-IDF vectors. The end says nothing.
        self._weights = [
            np.log(each.sum() / np.maximum(each, 1)) ** 2 for each in counts
        ]
        for weights in self._weights:
            weights[END_ID] = 0
        # A pair of invisible marks has only ends, and must not divide by 0.
        self._sizes = np.maximum(self._sum(self._weights), 1e-9)

    @classmethod
    def open(cls, run) -> typing.Self:
        """Opens the training pairs of a `RunDirectory`."""
        # Imported here because most decoding does without generated data.
        from keras_transformer.runs.data_record import find_problem

        problem = find_problem(run)
        if problem is None or problem.data_dir is None:
            raise UserError(
                f"The training pairs of {run.path} must be on this machine. "
                "Received: a run without its data. Use one whose data_dir "
                "exists."
            )
        return cls(problem)

    def find(
        self, source: str, translation: str, number: int = NUM_PAIRS
    ) -> list[Match]:
        """Returns pairs that have the words of a text and its translation.

        Rare words count most. Each pair has words that the pairs before it
        lack, as far as there are any. The similarity of a pair, from 0 to 1, is
        the share of the words that it has, weighted in the same way.
        """
        queries = [
            np.unique(vocabulary.encode([text])[0])
            for vocabulary, text in zip(
                self._vocabularies, (source, translation)
            )
        ]
        left = [np.zeros_like(weights) for weights in self._weights]
        for side, query in enumerate(queries):
            left[side][query] = self._weights[side][query]
        total = sum(map(np.sum, left))
        if not total:
            return []
        # Repeated subwords count several times in this estimate.
        estimates = self._sum(left) / np.sqrt(self._sizes)
        candidates = np.argsort(-estimates, kind="stable")[:_COMPARED]
        shared = [self._find_shared(place, queries) for place in candidates]
        similarities = np.array([_add(left, ids) for ids in shared]) / total
        sizes = np.sqrt(self._sizes[candidates])
        matches: list[Match] = []
        while len(matches) < min(number, len(candidates)):
            gains = np.array([_add(left, ids) for ids in shared]) / sizes
            best = int(np.argmax(gains))
            if not gains[best]:
                break
            pair = Pair(*self._decode(candidates[best]))
            matches.append(Match(pair, float(similarities[best])))
            for weights, ids in zip(left, shared[best]):
                weights[ids] *= _EXPLAINED
            sizes[best] = np.inf
        return matches

    def _find_shared(self, place, queries):
        """Returns the ids that the sides of a pair share with their queries."""
        return [
            np.intersect1d(sequences[place], query)
            for sequences, query in zip(self._pairs, queries)
        ]

    def _decode(self, place):
        for vocabulary, sequences in zip(self._vocabularies, self._pairs):
            yield vocabulary.decode([sequences[place].tolist()])[0]

    def _sum(self, weights):
        """Returns the sum of weights of the ids of each pair, `(pairs,)`."""
        sums = np.zeros(len(self._pairs.inputs))
        for side, first, ids, starts in self._read():
            of_part = np.add.reduceat(weights[side][ids], starts)
            sums[first : first + len(starts)] += of_part
        return sums

    def _read(self):
        """Yields the ids of each side in parts.

        A part has the number of a side, the number of its first pair, ids, and
        the places where each pair begins.
        """
        for side, sequences in enumerate(self._pairs):
            for first in range(0, len(sequences), _PAIRS_AT_ONCE):
                last = min(first + _PAIRS_AT_ONCE, len(sequences))
                places = np.arange(first, last)
                lengths = sequences.count_tokens(places)
                ids = sequences.concatenate(places)
                yield side, first, ids, np.cumsum(lengths) - lengths


def _add(weights, ids):
    """Returns the sum of weights of the ids of both sides."""
    return sum(side[each].sum() for side, each in zip(weights, ids))
