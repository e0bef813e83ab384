"""Words are aligned by the weights of their tokens."""

import numpy as np
import pytest

from keras_transformer.decoding.attention import Attention
from keras_transformer.decoding.attention_alignment import align_words

SOURCE = ["▁the", "▁red", "▁ca", "r", ".", "(end)"]
TARGET = ["▁el", "▁co", "che", "▁ro", "jo", ".", "(end)"]
# The source token that each target token attends to.
ATTENDED = [0, 2, 3, 1, 1, 4, 5]


def attention(source=SOURCE, target=TARGET, attended=ATTENDED, noise=0.0):
    generator = np.random.default_rng(0)
    cross = generator.uniform(size=(3, 2, len(target), len(source)))
    cross *= noise
    for place, key in enumerate(attended):
        cross[1, :, place, key] += 1.0
    cross /= cross.sum(axis=-1, keepdims=True) + 1e-9
    return Attention(source, target, encoder=None, decoder=None, cross=cross)


class AlignWordsTest:
    @pytest.mark.parametrize("noise", [0.0, 0.3])
    def test_words_follow_the_attention_of_the_last_layer_but_one(self, noise):
        words = ["the", "red", "car", "."], ["el", "coche", "rojo", "."]
        pairs = align_words(attention(noise=noise), *words)
        assert pairs == [(0, 0), (2, 1), (1, 2), (3, 3)]

    def test_only_mutual_choices_count(self):
        # Each target word attends to the first word of the source.
        weights = attention(attended=[0] * 7, noise=0.01)
        words = ["the", "red", "car", "."], ["el", "coche", "rojo", "."]
        pairs = align_words(weights, *words)
        # One of them, and the full stop.
        assert sorted(source for source, _ in pairs) == [0, 3]

    def test_no_word_is_aligned_with_punctuation(self):
        weights = attention(attended=[4, 2, 3, 1, 1, 0, 5], noise=0.01)
        words = ["the", "red", "car", "."], ["el", "coche", "rojo", "."]
        pairs = align_words(weights, *words)
        assert (3, 3) in pairs
        assert not {(3, 0), (0, 3)} & set(pairs)

    @pytest.mark.parametrize(
        "source, words",
        [
            (SOURCE, ["The", "red", "car", "."]),
            (["▁", "<0xF0>", "<0x9F>", "(end)"], ["😀"]),
            (["(end)"], []),
        ],
    )
    def test_other_spellings_are_not_aligned(self, source, words):
        targets = ["el", "coche", "rojo", "."]
        weights = attention(source, attended=[0] * 7)
        assert align_words(weights, words, targets) is None
