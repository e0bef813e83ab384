import collections
import io
import string

import numpy as np
import pytest
import sentencepiece
from segmentation import WORDS
from segmentation import segmentation_probabilities

from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.data.vocabulary import subwords
from keras_transformer.data.vocabulary.bpe_dropout import BpeDropout
from keras_transformer.data.vocabulary.bpe_symbols import write_symbols
from keras_transformer.data.vocabulary.subwords import Subwords

NUM_SAMPLES = 10_000


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("bpe") / "vocab.model"
    return subwords.train_subwords(WORDS * 9, 300, str(path), ["(S"])


def segment(vocabulary, words, dropout, seed=0):
    """Returns a segmentation of each word, tuples of pieces.

    The words have the same number of characters.
    """
    bpe = BpeDropout(vocabulary, dropout)
    stored = TokenSequences.from_lists(
        [ids[:-1] for ids in vocabulary.encode(words)]
    )
    characters = bpe.spell(stored)
    matrices = [
        each.ids.reshape(len(words), -1).T
        for each in (characters, bpe.first_ranks(characters))
    ]
    segmentations = [None] * len(words)
    parts = bpe.segment(*matrices, np.random.default_rng(seed))
    for columns, pieces in parts:
        for column, ids in zip(columns, pieces.T):
            assert segmentations[column] is None
            segmentations[column] = tuple(vocabulary.pieces(ids))
    return segmentations


class BpeDropoutTest:
    @pytest.mark.parametrize("dropout", [0.1, 0.5, 0.9])
    @pytest.mark.parametrize("word", ["newest", "lowlow"])
    def test_distribution_is_that_of_the_paper(self, vocabulary, word, dropout):
        expected = segmentation_probabilities(vocabulary, word, dropout)
        assert sum(expected.values()) == pytest.approx(1)
        assert len(expected) > 10
        drawn = segment(vocabulary, [word] * NUM_SAMPLES, dropout)
        counts = collections.Counter(drawn)
        assert counts.keys() <= expected.keys()
        # Pearson's test, with rare segmentations taken together.
        rows, rest = [], np.zeros(2)
        for pieces, probability in expected.items():
            row = counts[pieces], NUM_SAMPLES * probability
            if row[1] < 10:
                rest += row
            else:
                rows.append(row)
        counted, means = np.array([*rows, rest + 1e-9]).T
        statistic = ((counted - means) ** 2 / means).sum()
        degrees = len(rows)
        # Five standard deviations of the chi-square distribution.
        assert statistic < degrees + 5 * (2 * degrees) ** 0.5 + 5

    @pytest.mark.parametrize("length", range(1, 12))
    def test_without_dropout_it_is_sentencepieces_own(self, vocabulary, length):
        generator = np.random.default_rng(length)
        letters = list("".join(WORDS))
        words = ["".join(generator.choice(letters, length)) for _ in range(200)]
        expected = [
            tuple(vocabulary.pieces(ids[:-1]))
            for ids in vocabulary.encode(words)
        ]
        assert segment(vocabulary, words, dropout=0.0) == expected

    def test_much_dropout_leaves_characters(self, vocabulary):
        (pieces,) = segment(vocabulary, ["lowest"], dropout=0.999999)
        assert pieces == tuple("▁lowest")

    def test_symbols_and_bytes_stay_whole(self, vocabulary):
        words = ["(S", "(Slow", "é", "lé"]
        for word in words:
            (pieces,) = segment(vocabulary, [word], dropout=0.999999)
            (ids,) = vocabulary.encode([word])
            assert vocabulary.decode([ids]) == [word]
            symbols = {p for p in vocabulary.pieces(ids) if p[-1] in ">S"}
            assert symbols - {"</s>"} <= set(pieces)

    def test_other_kinds_of_vocabulary_are_refused(self, tmp_path):
        path = str(tmp_path / "vocab.model")
        symbols = write_symbols(list(string.ascii_lowercase), path)
        with pytest.raises(ValueError, match="byte-pair.*type word. Leave"):
            BpeDropout(symbols, 0.1)

    def test_pieces_of_several_words_are_refused(self):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["of the low"] * 20),
            model_writer=model,
            model_type="bpe",
            vocab_size=20,
            pad_id=0,
            eos_id=1,
            unk_id=2,
            bos_id=-1,
            split_by_whitespace=False,
            minloglevel=2,
        )
        with pytest.raises(ValueError, match="within words.*with '.*▁"):
            BpeDropout(Subwords.from_bytes(model.getvalue()), 0.1)
