"""Training sources with typos and other noise, new in each epoch."""

import random

import numpy as np

from keras_transformer.data.generation import token_arrays
from keras_transformer.data.text.disturbances import disturb
from keras_transformer.data.text.letter_case import restore_case
from keras_transformer.errors import UserError

TEXTS_AT_ONCE = 2**14  # number of texts that are decoded together


def check_vocabulary(vocabulary):
    """Raises a `UserError` unless a vocabulary can spell disturbed words."""
    if not (vocabulary.has_bytes or vocabulary.is_imported):
        raise UserError(
            "`source_noise` needs a vocabulary that can spell any word. "
            "Received: one without bytes. Leave source_noise at 0, or use "
            "another problem."
        )


def disturb_sources(token_pairs, vocabulary, share, seed, epoch, longest):
    """Returns the pairs of an epoch, a `share` with a disturbed source.

    The text of a source is read from its ids by the `Subwords` of the sources,
    disturbed, and encoded as it would be for decoding, where most capitals
    become small letters again; see `letter_case`. A source that would exceed
    `longest` tokens stays. The result is a pure function of the arguments.
    """
    if not share:
        return token_pairs
    sources = token_pairs.inputs
    # The 4 separates it from generators that order epochs or segment words.
    chooser = np.random.default_rng([seed, epoch, 4])
    pair_numbers = np.flatnonzero(chooser.random(len(sources)) < share)
    generator = random.Random(int(chooser.integers(2**63)))
    numbers, disturbed = [], []
    for start in range(0, len(pair_numbers), TEXTS_AT_ONCE):
        part = pair_numbers[start : start + TEXTS_AT_ONCE]
        ends = np.cumsum(sources.count_tokens(part))
        rows = np.split(sources.concatenate(part), ends[:-1])
        texts = [disturb(t, generator) for t in vocabulary.decode(rows)]
        texts = restore_case(texts, vocabulary)
        for number, ids in zip(part, vocabulary.encode(texts)):
            if len(ids) <= longest:
                numbers.append(number)
                disturbed.append(np.array(ids, np.int32))
    disturbed = token_arrays.TokenSequences.from_lists(disturbed)
    places = np.arange(len(sources))
    places[numbers] = ~np.arange(len(numbers))
    mixed = token_arrays.MixedSequences(sources, disturbed, places)
    return token_arrays.TokenPairs(mixed, token_pairs.targets)
