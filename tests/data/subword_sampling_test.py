import random

import numpy as np
import pytest
from segmentation import WORDS
from segmentation import segmentation_probabilities

from keras_transformer.data.batches.batch_plan import plan_batches
from keras_transformer.data.batches.update_batches import Layout
from keras_transformer.data.batches.update_batches import UpdateBatches
from keras_transformer.data.generation.token_arrays import TokenPairs
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.data.generation.token_arrays import join_sequences
from keras_transformer.data.vocabulary import subword_sampling
from keras_transformer.data.vocabulary import subwords
from keras_transformer.data.vocabulary.subword_sampling import SubwordSampler

LONGEST = 1000


def random_texts(num_texts, seed):
    """Returns sentences, some with characters that no vocabulary has."""
    generator = random.Random(seed)
    strange = ["(S", ")S", "Grüße", "漢字", "🙂", "x", "\u00e9", "a" * 30]
    return [
        " ".join(generator.choices(WORDS * 3 + strange, k=length))
        for length in generator.choices(range(1, 30), k=num_texts)
    ]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("sampling") / "vocab.model"
    return subwords.train_subwords(WORDS * 9, 310, str(path), ["(S", ")S"])


@pytest.fixture(scope="module")
def texts():
    return random_texts(300, seed=0), random_texts(300, seed=1)


@pytest.fixture(scope="module")
def stored(vocabulary, texts):
    sides = [
        TokenSequences.from_lists(vocabulary.encode(side)) for side in texts
    ]
    return TokenPairs(*sides)


def ids_of(pairs):
    return [[ids.tolist() for ids in side] for side in pairs]


class SubwordSamplerTest:
    @pytest.mark.parametrize("dropout", [0.1, 0.7, 0.999999])
    def test_samples_decode_to_the_text(
        self, vocabulary, texts, stored, dropout
    ):
        sampler = SubwordSampler(stored, vocabulary, dropout, seed=0)
        for epoch in range(2):
            pairs = sampler.sample(epoch, LONGEST)
            for sequences, lines in zip(ids_of(pairs), texts):
                assert vocabulary.decode(sequences) == lines
                assert all(ids.index(1) == len(ids) - 1 for ids in sequences)

    def test_each_side_can_have_a_vocabulary(self, vocabulary, texts, tmp_path):
        source_vocabulary = subwords.train_subwords(
            WORDS * 9, 290, str(tmp_path / "vocab.source.model")
        )
        both = source_vocabulary, vocabulary
        stored = TokenPairs(
            *(
                TokenSequences.from_lists(v.encode(side))
                for v, side in zip(both, texts)
            )
        )
        sampler = SubwordSampler(stored, vocabulary, 0.5, 0, source_vocabulary)
        sampled = ids_of(sampler.sample(0, LONGEST))
        assert sampled != ids_of(stored)
        for v, sequences, lines in zip(both, sampled, texts):
            assert v.decode(sequences) == lines

    def test_one_vocabulary_read_twice_is_one(self, vocabulary, stored):
        again = subwords.Subwords.from_bytes(vocabulary.model_bytes)
        expected = SubwordSampler(stored, vocabulary, 0.5, 0).sample(0, 90)
        sampler = SubwordSampler(stored, vocabulary, 0.5, 0, again)
        assert ids_of(sampler.sample(0, 90)) == ids_of(expected)

    def test_without_dropout_the_ids_are_those_stored(self, vocabulary, stored):
        pairs = SubwordSampler(stored, vocabulary, 0.0, 0).sample(3, LONGEST)
        assert ids_of(pairs) == ids_of(stored)

    def test_much_dropout_leaves_characters(self, vocabulary, texts, stored):
        sampler = SubwordSampler(stored, vocabulary, 0.999999, 0)
        inputs = sampler.sample(0, LONGEST).inputs
        for ids, text in zip(inputs, texts[0]):
            pieces = vocabulary.pieces(ids[:-1])
            plain = [p for p in pieces if p[0] != "<" and p[1:] not in "(S)S"]
            assert all(len(piece) == 1 for piece in plain)
            assert pieces.count("▁(S") == text.split().count("(S")

    def test_lengths_and_rows_agree_with_the_sequences(
        self, vocabulary, stored
    ):
        inputs = SubwordSampler(stored, vocabulary, 0.5, 0).sample(0, 90).inputs
        sequences = [ids.tolist() for ids in inputs]
        assert inputs.lengths.tolist() == [len(ids) for ids in sequences]
        rows = np.array([[5, 7, -1], [2, -1, -1], [9, 9, 9]])
        padded = inputs.pad(rows, 300)
        for row, numbers in zip(padded.tolist(), rows):
            expected = sum([sequences[n] for n in numbers if n >= 0], [])
            assert row == expected + [0] * (300 - len(expected))

    def test_seed_and_epoch_decide_the_sample(self, vocabulary, stored):
        first = SubwordSampler(stored, vocabulary, 0.1, seed=5)
        samples = [ids_of(first.sample(epoch, LONGEST)) for epoch in (0, 1)]
        again = SubwordSampler(stored, vocabulary, 0.1, seed=5)
        # Epoch 1 without an epoch 0 before it, as after a resume.
        assert ids_of(again.sample(1, LONGEST)) == samples[1]
        assert ids_of(again.sample(0, LONGEST)) == samples[0]
        other = SubwordSampler(stored, vocabulary, 0.1, seed=6)
        assert samples[0] != samples[1] != ids_of(other.sample(1, LONGEST))

    def test_equal_words_differ_within_a_sentence(self, vocabulary):
        side = TokenSequences.from_lists(vocabulary.encode(["widest " * 12]))
        pairs = TokenPairs(side, side)
        sampler = SubwordSampler(pairs, vocabulary, 0.5, 0)
        (ids,) = sampler.sample(0, LONGEST).inputs
        words = "".join(vocabulary.pieces(ids[:-1]))
        assert words == "▁widest" * 12
        text = " ".join(vocabulary.pieces(ids[:-1]))
        assert len({word.strip() for word in text.split("▁")[1:]}) > 3

    def test_every_occurrence_has_the_distribution_of_the_word(
        self, vocabulary
    ):
        # The first, an early and the last of 100 occurrences.
        side = TokenSequences.from_lists(vocabulary.encode(["newest"] * 100))
        sampler = SubwordSampler(TokenPairs(side, side), vocabulary, 0.3, 0)
        expected = segmentation_probabilities(vocabulary, "newest", 0.3)
        likely = max(expected, key=expected.get)
        counts, num_epochs = np.zeros(3), 500
        for epoch in range(num_epochs):
            inputs = sampler.sample(epoch, LONGEST).inputs
            for place, number in enumerate((0, 20, 99)):
                pieces = tuple(vocabulary.pieces(inputs[number][:-1]))
                counts[place] += pieces == likely
        share = expected[likely]
        deviation = (share * (1 - share) / num_epochs) ** 0.5
        assert np.abs(counts / num_epochs - share).max() < 4 * deviation

    def test_pair_that_becomes_too_long_keeps_its_segmentation(
        self, vocabulary, stored
    ):
        sampler = SubwordSampler(stored, vocabulary, 0.5, 0)
        free = np.stack([s.lengths for s in sampler.sample(0, LONGEST)])
        longest = int(np.median(free.max(axis=0)))
        sampled = sampler.sample(0, longest)
        lengths = np.stack([side.lengths for side in stored])
        is_long = np.maximum(free, lengths).max(axis=0) > longest
        assert 0 < is_long.sum() < len(is_long)
        expected = np.where(is_long, lengths, free)
        actual = np.stack([side.lengths for side in sampled])
        np.testing.assert_array_equal(actual, expected)
        for side, own in zip(sampled, stored):
            for number in np.flatnonzero(is_long):
                np.testing.assert_array_equal(side[number], own[number])

    def test_very_long_word_keeps_its_segmentation(self, vocabulary):
        length = subword_sampling.MAX_CHARACTERS
        side = TokenSequences.from_lists(
            vocabulary.encode(["low" * length, "low"])
        )
        sampler = SubwordSampler(TokenPairs(side, side), vocabulary, 0.9, 0)
        sampled = sampler.sample(0, 9 * length).inputs
        assert sampled[0].tolist() == side[0].tolist()
        assert len(sampled[1]) > len(side[1])

    def test_size_of_the_parts_changes_nothing(
        self, vocabulary, stored, monkeypatch
    ):
        expected = SubwordSampler(stored, vocabulary, 0.3, 1).sample(2, 40)
        monkeypatch.setattr(subword_sampling, "IDS_AT_ONCE", 50)
        actual = SubwordSampler(stored, vocabulary, 0.3, 1).sample(2, 40)
        assert ids_of(actual) == ids_of(expected)

    def test_both_directions_are_sampled(self, vocabulary, texts, stored):
        both = TokenPairs(
            join_sequences(list(stored)), join_sequences(list(stored)[::-1])
        )
        sampled = SubwordSampler(both, vocabulary, 0.2, 0).sample(0, LONGEST)
        lines = texts[0] + texts[1], texts[1] + texts[0]
        for sequences, side in zip(ids_of(sampled), lines):
            assert vocabulary.decode(sequences) == side
        # The same sentence differs between the directions.
        assert ids_of(sampled)[0][:300] != ids_of(sampled)[1][300:]

    def test_two_workers_have_the_parts_of_one(self, vocabulary, stored):
        def batches(layout):
            sampler = SubwordSampler(stored, vocabulary, 0.1, seed=0)
            pairs = sampler.sample(4, LONGEST)
            lengths = pairs.inputs.lengths, pairs.targets.lengths
            plan = plan_batches(*lengths, 1000, epoch=4)
            return list(UpdateBatches(pairs, plan, layout, 0, 4))

        whole = batches(Layout(1, 2, 0, 2))
        parts = [batches(Layout(1, 2, worker, 1)) for worker in (0, 1)]
        assert len(whole) > 3
        for alone, *both in zip(whole, *parts):
            for name in ("inputs", "targets", "seeds"):
                together = np.concatenate([part[name] for part in both], 1)
                np.testing.assert_array_equal(together, alone[name])
