"""The sample that a vocabulary is trained on."""

import collections

import pytest

from keras_transformer.data.vocabulary.vocabularies import sample_corpora
from keras_transformer.data.vocabulary.vocabularies import sample_evenly


def corpora(*sizes):
    return [
        [(corpus, number) for number in range(size)]
        for corpus, size in enumerate(sizes)
    ]


def shares(sample):
    counts = collections.Counter(corpus for corpus, _ in sample)
    return [counts[corpus] / len(sample) for corpus in sorted(counts)]


class SampleTest:
    def test_temperature_1_samples_the_text_as_a_whole(self):
        parts = corpora(70, 30)
        expected = sample_evenly(parts[0] + parts[1], 40)
        assert sample_corpora(map(iter, parts), 40) == expected

    @pytest.mark.parametrize("temperature", [1, 1.5, 5, 1000])
    def test_shares_are_those_of_the_power_of_the_sizes(self, temperature):
        sizes = 9000, 900, 90
        sample = sample_corpora(corpora(*sizes), 4000, temperature)
        powers = [size ** (1 / temperature) for size in sizes]
        expected = [power / sum(powers) for power in powers]
        assert shares(sample) == pytest.approx(expected, abs=0.002)

    def test_a_small_corpus_is_repeated_evenly(self):
        sample = sample_corpora(corpora(1000, 10), 1010, temperature=1000)
        counts = collections.Counter(sample)
        repeats = [counts[1, number] for number in range(10)]
        assert max(repeats) - min(repeats) <= 1 < min(repeats)
        # The part of the large one is spread over all of it.
        chosen = [number for corpus, number in sample if corpus == 0]
        assert chosen[0] == 0 and chosen[-1] > 990
        assert len(set(chosen)) == len(chosen)

    def test_an_empty_corpus_has_no_share(self):
        sample = sample_corpora(corpora(0, 8), 100, temperature=5)
        assert sample == corpora(0, 8)[1]
        assert sample_corpora(corpora(0), 100, temperature=5) == []
