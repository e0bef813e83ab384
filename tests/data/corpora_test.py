"""The corpora of a training text and the pairs of each epoch."""

import collections

import numpy as np
import pytest

from keras_transformer.data.generation import corpora
from keras_transformer.data.generation.corpora import Corpus
from keras_transformer.data.generation.corpora import choose_pairs


def count(pairs):
    return collections.Counter(pairs.tolist())


class ChooseTest:
    def test_a_whole_weight_repeats_every_pair(self):
        counts = count(choose_pairs([(5, 3), (7, 1)], seed=4, epoch=2))
        assert counts == {
            **dict.fromkeys(range(5), 3),
            **{n: 1 for n in range(5, 12)},
        }

    def test_two_epochs_of_a_half_have_every_pair_once(self):
        halves = [choose_pairs([(10, 0.5)], 1, epoch) for epoch in range(4)]
        assert [len(half) for half in halves] == [5] * 4
        for first in (0, 2):
            both = np.concatenate(halves[first : first + 2])
            assert sorted(both) == list(range(10))
        assert sorted(halves[0]) != sorted(halves[2])

    @pytest.mark.parametrize("weight", [0.3, 1.5, 2.25, 1 / 3, 1e-3])
    @pytest.mark.parametrize("num_pairs", [1, 3, 1000])
    def test_epochs_together_are_passes_through_the_corpus(
        self, weight, num_pairs
    ):
        epochs = [choose_pairs([(num_pairs, weight)], 7, e) for e in range(9)]
        expected = weight * num_pairs
        sizes = [len(pairs) for pairs in epochs]
        assert max(sizes) - min(sizes) <= 1
        assert sum(sizes) == pytest.approx(9 * expected, abs=1)
        counts = np.bincount(np.concatenate(epochs), minlength=num_pairs)
        # No pair comes a second time before all have come once.
        assert counts.max() - counts.min() <= 1

    def test_seed_and_epoch_decide_it(self):
        def chosen(seed, epoch):
            return choose_pairs([(100, 0.5), (100, 0.5)], seed, epoch).tolist()

        assert chosen(1, 2) == chosen(1, 2)
        assert chosen(1, 2) != chosen(2, 2)
        halves = np.reshape(chosen(1, 2), (2, 50))
        assert sorted(halves[0]) != sorted(halves[1] - 100)

    def test_a_corpus_that_cleaning_emptied_is_left_out(self):
        assert count(choose_pairs([(0, 3), (2, 1)], 0, 0)) == {0: 1, 1: 1}


class CorpusTest:
    @pytest.mark.parametrize("weight", [0, -1, 1001, float("nan")])
    def test_a_weight_out_of_range_is_an_error(self, weight):
        with pytest.raises(ValueError, match="above 0 and at most 1,000"):
            Corpus(("a.tsv",), weight)

    def test_a_corpus_given_twice_is_an_error(self, tmp_path):
        path = str(tmp_path / "a.tsv")
        again = str(tmp_path / "." / "a.tsv")
        with pytest.raises(ValueError, match="a.tsv twice. .*a.tsv:2"):
            corpora.check_distinct([Corpus((path,)), Corpus((again,), 2)])
        corpora.check_distinct([Corpus((path, "b")), Corpus(("b", path))])
