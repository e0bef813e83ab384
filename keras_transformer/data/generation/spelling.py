"""Learns from pairs alone which letter of a word writes each phone.

The letters write the phones in order, and each letter writes up to four of
them. Expectation maximisation learns how probable each sequence of phones is
for a letter, as in "Joint-sequence models for grapheme-to-phoneme conversion"
(Bisani and Ney, 2008), there with several letters at a time.
"""

import collections
import sys
import time

import numpy as np

from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.token_ids import END_ID

NUM_ROUNDS = 6  # of expectation maximisation
MAX_PAIRS = 10_000  # to learn from, spread evenly over the data
# Weights of a letter that writes 0, 1, ... phones, before anything is learned.
FIRST_WEIGHTS = (0.1, 1.0, 0.1, 0.02, 0.005)
MAX_PHONES = len(FIRST_WEIGHTS) - 1  # of one letter
UNSEEN = 1e-8  # weight of phones that a letter has not written yet
SMALLEST_SHARE = 1e-8  # a smaller share in a pair is not counted


def learn_links(token_pairs):
    """Returns the links between sources and targets, for `TokenLinks`.

    A letter is any token of a source, and a phone any token of a target; the
    end has no link. Every phone is linked to the letter that most probably
    writes it. A pair has no links if it has more than four phones for each
    letter, or some 300 letters, for which the probabilities become 0.

    Args:
        token_pairs: A `TokenPairs`.

    Returns:
        `TokenSequences`; for each pair, the positions of a source token and of
        a target token, and so on for each link.
    """
    begin = time.monotonic()
    pairs = [
        [tuple(ids[ids != END_ID].tolist()) for ids in pair]
        for pair in zip(*token_pairs, strict=True)
    ]
    examples = pairs[:: -(-len(pairs) // MAX_PAIRS)]
    weights = None
    for _ in range(NUM_ROUNDS):
        counts = collections.defaultdict(collections.Counter)
        for letters, phones in examples:
            shares = find_shares(letters, phones, weights)
            for letter, start, length in np.argwhere(shares > SMALLEST_SHARE):
                written = phones[start : start + length]
                share = shares[letter, start, length]
                counts[letters[letter]][written] += share
        weights = {letter: _normalise(row) for letter, row in counts.items()}
    links = [_link(*pair, weights) for pair in pairs]
    seconds = time.monotonic() - begin
    print(f"Aligned {len(pairs):,} pairs in {seconds:.1f} s.", file=sys.stderr)
    return TokenSequences.from_lists(links)


def _normalise(counts):
    """Returns the counts of a `Counter` divided by their sum."""
    total = counts.total()  # once, since a letter has many counts
    return {written: count / total for written, count in counts.items()}


def find_shares(letters, phones, weights=None):
    """Returns how probably each letter writes each part of the phones.

    Args:
        letters: Tuple of ids.
        phones: Tuple of ids.
        weights: Dictionary of each letter to the probability of each tuple of
            phones. Defaults to None, for `FIRST_WEIGHTS`.

    Returns:
        Array of shape `(letters, phones + 1, 5)`. The value at `[i, start, n]`
        is the probability that letter i writes the n phones from `start` on.
        All values are 0 if the letters cannot write the phones.
    """
    scores = _score(letters, phones, weights)
    # How many phones a letter can write, and from which places.
    moves = [(n, slice(len(phones) + 1 - n)) for n in range(MAX_PHONES + 1)]
    moves = moves[: len(phones) + 1]
    # The total weight of all ways to write the phones before a place with the
    # letters before another, and of all ways to write the rest.
    before = np.zeros((len(letters) + 1, len(phones) + 1))
    after = np.zeros_like(before)
    before[0, 0] = after[-1, -1] = 1
    for letter, of_letter in enumerate(scores):
        for length, starts in moves:
            weight = before[letter, starts] * of_letter[starts, length]
            before[letter + 1, length:] += weight
    for letter, of_letter in reversed(list(enumerate(scores))):
        for length, starts in moves:
            weight = after[letter + 1, length:] * of_letter[starts, length]
            after[letter, starts] += weight
    shares = before[:-1, :, None] * scores
    for length, starts in moves:
        shares[:, starts, length] *= after[1:, length:]
    return shares / max(after[0, 0], np.finfo(float).tiny)


def _score(letters, phones, weights):
    """Returns the weight of each place in the result of `find_shares`."""
    scores = np.zeros((len(letters), len(phones) + 1, MAX_PHONES + 1))
    for length in range(min(MAX_PHONES, len(phones)) + 1):
        starts = range(len(phones) + 1 - length)
        parts = [phones[start : start + length] for start in starts]
        for number, letter in enumerate(letters):
            row = FIRST_WEIGHTS[length]
            if weights:
                seen = weights.get(letter, {})
                row = [seen.get(part, UNSEEN) for part in parts]
            scores[number, : len(parts), length] = row
    return scores


def _link(letters, phones, weights):
    """Returns the positions of the letter and the phone of each link."""
    shares = find_shares(letters, phones, weights)
    writes = np.zeros((len(letters), len(phones)))
    for length in range(1, MAX_PHONES + 1):
        for offset in range(min(length, len(phones))):
            # The phone is the one with this offset in what the letter writes.
            starts = len(phones) - offset
            writes[:, offset:] += shares[:, :starts, length]
    if not writes.any():
        return []
    positions = [writes.argmax(axis=0), np.arange(len(phones))]
    return np.stack(positions, axis=1).ravel().tolist()
