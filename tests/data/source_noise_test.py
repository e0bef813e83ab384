import random

import numpy as np
import pytest
from segmentation import WORDS

from keras_transformer.data.generation.token_arrays import TokenPairs
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.data.text import disturbances
from keras_transformer.data.text.letter_case import restore_case
from keras_transformer.data.text.source_noise import disturb_sources
from keras_transformer.data.vocabulary import subwords
from keras_transformer.data.vocabulary.subword_sampling import SubwordSampler

LONGEST = 1000
TEXTS = [
    f"<fr> {first} %s {second} {third} café."
    for first in WORDS
    for second in WORDS
    for third in WORDS
    if len(first) > 3
]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("noise") / "vocab.model"
    return subwords.train_subwords(WORDS * 9, 310, str(path), ["<fr>"])


@pytest.fixture(scope="module")
def pairs(vocabulary):
    side = TokenSequences.from_lists(vocabulary.encode(TEXTS))
    return TokenPairs(side, side)


def read(vocabulary, sequences):
    return vocabulary.decode([ids.tolist() for ids in sequences])


class DisturbancesTest:
    @pytest.mark.parametrize("change", disturbances.ALL)
    def test_code_survives(self, change):
        text = "<fr> Écrivez %s --help CHV%d https://a.b/C in café."
        disturbed = change(text, random.Random(0))
        assert disturbed != text
        for word in text.split()[0:1] + text.split()[2:6]:
            assert word in disturbed.split()

    @pytest.mark.parametrize("change", disturbances.ALL)
    @pytest.mark.parametrize("text", ["", " ", "?!", "a", "漢字。", "%d %s"])
    def test_odd_texts_do_not_vanish(self, change, text):
        assert bool(change(text, random.Random(0)).strip()) >= bool(
            text.strip()
        )

    def test_typos_change_few_words_by_a_letter(self):
        words = ["wonderful"] * 40
        text = disturbances.typos(" ".join(words), random.Random(3))
        changed = [w for w in text.split(" ") if w != words[0]]
        assert 1 <= len(changed) <= 6
        assert {abs(len(w) - len(words[0])) for w in changed} <= {0, 1}
        assert {w[0] for w in changed} == {"w"}

    def test_each_disturbance_that_changes_a_text_is_equally_likely(self):
        text = "Who watches this?"
        generator = random.Random(0)
        results = [disturbances.disturb(text, generator) for _ in range(5000)]
        assert text not in results
        for change in (
            disturbances.capitals,
            disturbances.lower_case,
            disturbances.title_case,
            disturbances.missing_final_punctuation,
        ):
            share = results.count(change(text, None)) / len(results)
            assert share == pytest.approx(1 / 5, abs=0.02)

    def test_a_test_set_is_always_disturbed_in_the_same_way(self):
        first, second = (
            disturbances.disturb_all(TEXTS, disturbances.typos)
            for _ in range(2)
        )
        assert first == second != TEXTS


class DisturbSourcesTest:
    def test_a_share_of_sources_is_disturbed_and_targets_stay(
        self, vocabulary, pairs
    ):
        noisy = disturb_sources(pairs, vocabulary, 0.3, 0, 0, LONGEST)
        assert noisy.targets is pairs.targets
        texts = read(vocabulary, noisy.inputs)
        changed = [a for a, b in zip(texts, TEXTS) if a != b]
        # Capitals often become the usual case again.
        generator = random.Random(1)
        trials = [t for t in TEXTS for _ in range(20)]
        disturbed = [disturbances.disturb(t, generator) for t in trials]
        restored = restore_case(disturbed, vocabulary)
        remaining = np.mean([a != b for a, b in zip(restored, trials)])
        assert remaining > 0.5
        # 4 standard deviations of a binomial distribution.
        share = 0.3 * remaining
        margin = 4 * np.sqrt(share * (1 - share) / len(TEXTS))
        assert abs(len(changed) / len(TEXTS) - share) < margin
        # The tag keeps its id, the first one.
        assert {ids[0] for ids in noisy.inputs} == {pairs.inputs[0][0]}
        # Each has the segmentation that it would get for decoding.
        assert vocabulary.encode(texts) == [x.tolist() for x in noisy.inputs]

    def test_padded_batches_hold_the_same_ids_in_any_order(
        self, vocabulary, pairs
    ):
        inputs = disturb_sources(pairs, vocabulary, 0.5, 0, 0, LONGEST).inputs
        order = np.random.default_rng(0).permutation(len(inputs))
        padded = inputs.pad(order, int(inputs.lengths.max()))
        for row, number in zip(padded, order):
            assert row[row > 0].tolist() == inputs[number].tolist()

    def test_noise_is_a_pure_function_of_seed_and_epoch(
        self, vocabulary, pairs
    ):
        def make(seed, epoch):
            noisy = disturb_sources(
                pairs, vocabulary, 0.5, seed, epoch, LONGEST
            )
            return read(vocabulary, noisy.inputs)

        assert make(1, 2) == make(1, 2)
        assert len({tuple(make(*key)) for key in [(1, 2), (1, 3), (2, 2)]}) == 3

    def test_without_noise_nothing_is_made(self, vocabulary, pairs):
        assert disturb_sources(pairs, None, 0.0, 0, 0, LONGEST) is pairs

    def test_no_source_exceeds_the_longest(self, vocabulary, pairs):
        longest = int(pairs.inputs.lengths.max())
        lengths = [
            disturb_sources(pairs, vocabulary, 1.0, 0, 0, limit).inputs.lengths
            for limit in (longest, LONGEST)
        ]
        assert lengths[0].max() == longest < lengths[1].max()

    def test_text_in_sampled_segmentations_can_be_disturbed(
        self, vocabulary, pairs
    ):
        sampled = SubwordSampler(pairs, vocabulary, 0.5, 0).sample(0, LONGEST)
        noisy = disturb_sources(sampled, vocabulary, 0.5, 0, 0, LONGEST)
        expected = disturb_sources(pairs, vocabulary, 0.5, 0, 0, LONGEST)
        texts = read(vocabulary, noisy.inputs)
        assert texts == read(vocabulary, expected.inputs)
