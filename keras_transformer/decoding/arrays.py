"""Encoded sentences as the arrays of a search."""

import itertools
import typing

import numpy as np


class Sentences(typing.NamedTuple):
    """Encoded sentences, and what a search takes into account for each."""

    sources: list  # of lists of ids with the end id; a blank one is empty
    prefixes: list = None  # of lists of ids without the end id
    seeds: np.ndarray = None  # of the sampler, int32 of shape (num_sentences,)
    terms: list = None  # of lists of terms, which are lists of ids

    def arrays(self, batch, extra_length):
        """Returns the arguments of a search, see `compile_search`.

        Args:
            batch: List of the numbers of the sentences to search for.
            extra_length: Integer, by how many tokens a translation may be
                longer than its source.
        """
        sources = [self.sources[i] for i in batch]
        prefixes = [self.prefixes[i] if self.prefixes else [] for i in batch]
        limits = [
            length_limit(len(source), len(prefix) + 1, extra_length)
            for source, prefix in zip(sources, prefixes)
        ]
        terms = None
        if self.terms:
            terms = padded_terms([self.terms[i] for i in batch])
        return (
            padded(sources),
            np.array(limits, "int32"),
            padded(prefixes) if self.prefixes else None,
            None if self.seeds is None else self.seeds[batch],
            terms,
        )


def length_limit(source_len, prefix_len, extra_length):
    """Returns the greatest number of tokens of a translation.

    Args:
        source_len: Integer number of tokens of the source, the end included.
        prefix_len: Integer number of tokens of the prefix and an end. A prefix
            can be longer than its source.
        extra_length: Integer, see `Sentences.arrays`.
    """
    return max(source_len, prefix_len) + extra_length


def padded(sequences):
    """Returns ids as one array.

    Args:
        sequences: List of lists of ids.

    Returns:
        Int32 array of shape `(batch, length)`, padded with 0.
    """
    longest = max(map(len, sequences))
    array = np.zeros((len(sequences), longest), "int32")
    for row, ids in zip(array, sequences):
        row[: len(ids)] = ids
    return array


def padded_terms(terms):
    """Returns the ids of terms as one array.

    Args:
        terms: List with a list of lists of ids for each sentence.

    Returns:
        Int32 array of shape `(batch, num_terms, term_len)`, padded with 0. None
        if there are no terms.
    """
    num_terms = max(map(len, terms))
    if not num_terms:
        return None
    rows = [own + [[]] * (num_terms - len(own)) for own in terms]
    flat = padded(list(itertools.chain.from_iterable(rows)))
    return flat.reshape(len(terms), num_terms, -1)
