"""The letters that write phones, against enumeration and a known spelling."""

import itertools
import math
import random

import numpy as np
import pytest

from keras_transformer.data.generation import spelling
from keras_transformer.data.generation.token_arrays import TokenPairs
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.token_ids import END_ID

# What each letter of a made-up language writes; 13 is silent.
WRITTEN = {10: (50,), 11: (51,), 12: (52, 53), 13: (), 14: (54,)}


def make_pairs(words):
    """Returns the `TokenPairs` of words of the made-up language."""
    phones = [itertools.chain(*map(WRITTEN.get, word)) for word in words]
    sides = [[[*word, END_ID] for word in side] for side in (words, phones)]
    return TokenPairs(*map(TokenSequences.from_lists, sides))


class FindSharesTest:
    @pytest.mark.parametrize("phones", [(7,), (7, 8), (7, 7, 8), (8,) * 5])
    @pytest.mark.parametrize("letters", [(3,), (3, 4, 3)])
    def test_shares_equal_enumeration(self, letters, phones):
        weights = {
            3: {(): 0.2, (7,): 0.5, (8,): 0.1, (7, 7): 0.2},
            4: {(7,): 0.3, (8,): 0.3, (8, 8): 0.4},
        }
        expected = np.zeros((len(letters), len(phones) + 1, 5))
        for lengths in itertools.product(range(5), repeat=len(letters)):
            if sum(lengths) != len(phones):
                continue
            ends = list(itertools.accumulate(lengths))
            cells = [
                (number, end - length, length)
                for number, (end, length) in enumerate(zip(ends, lengths))
            ]
            weight = math.prod(
                weights[letters[n]].get(phones[s : s + k], spelling.UNSEEN)
                for n, s, k in cells
            )
            for cell in cells:
                expected[cell] += weight
        if total := expected[0].sum():
            expected /= total
        shares = spelling.find_shares(letters, phones, weights)
        np.testing.assert_allclose(shares, expected, rtol=1e-9)


class LearnLinksTest:
    def test_a_spelling_is_learned_from_pairs_alone(self):
        generator = random.Random(0)
        words = [
            [*generator.choices([*WRITTEN], k=generator.randint(1, 6)), 10]
            for _ in range(200)
        ]
        links = spelling.learn_links(make_pairs(words))
        for word, found in zip(words, links, strict=True):
            writers = [n for n, i in enumerate(word) for _ in WRITTEN[i]]
            assert found[::2].tolist() == writers
            assert found[1::2].tolist() == list(range(len(writers)))

    def test_more_than_four_phones_for_each_letter_have_no_links(self):
        sides = [[2, END_ID], [3, END_ID]], [[5] * 5 + [END_ID], [6, END_ID]]
        pairs = TokenPairs(*map(TokenSequences.from_lists, sides))
        assert spelling.learn_links(pairs).lengths.tolist() == [0, 2]
