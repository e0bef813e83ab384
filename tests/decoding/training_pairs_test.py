"""The training pairs behind a translation are found."""

import random
import types

import pytest

from keras_transformer.data.generation.token_arrays import TokenPairs
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.decoding.training_pairs import TrainingPairs
from keras_transformer.token_ids import END_ID

NUM_WORDS = 500


class Words:
    """A vocabulary with an id for each of the words w2, w3, and so on."""

    vocab_size = NUM_WORDS

    def encode(self, texts):
        return [
            [*(int(word[1:]) for word in text.split()), END_ID]
            for text in texts
        ]

    def decode(self, sequences):
        return [" ".join(f"w{id_}" for id_ in ids[:-1]) for ids in sequences]


def open_pairs(pairs):
    sides = (TokenSequences.from_lists(Words().encode(x)) for x in zip(*pairs))
    problem = types.SimpleNamespace(
        token_pairs=lambda split: TokenPairs(*sides),
        vocabularies=Vocabularies(Words(), Words()),
    )
    return TrainingPairs(problem)


class TrainingPairsTest:
    def test_a_planted_pair_is_among_the_first_five_in_38_of_40(self):
        draw = random.Random(0)
        frequent = range(2, 300)

        def make_sentence(word):
            # As in Zipf's law, a word is the rarer, the later it is.
            chances = [1 / number for number in frequent]
            words = draw.choices(frequent, chances, k=draw.randrange(4, 15))
            words[draw.randrange(len(words))] = word
            return " ".join(f"w{each}" for each in words)

        # A word of the planted pairs is translated by another in each.
        planted = [
            (make_sentence(300 + number), make_sentence(400 + number))
            for number in range(40)
        ]
        others = [(make_sentence(2), make_sentence(2)) for _ in range(5000)]
        pairs = open_pairs(draw.sample(planted + others, 5040))
        num_found = 0
        for number, pair in enumerate(planted):
            source, translation = (
                make_sentence(x + number) for x in (300, 400)
            )
            found = [
                match.pair[:2] for match in pairs.find(source, translation)
            ]
            assert len(set(found)) == 5
            num_found += pair in found
        assert num_found >= 38

    def test_each_pair_explains_other_words(self):
        pairs = open_pairs(
            [("w2 w3 w4", "w2 w3 w4"), ("w2 w3", "w2 w3"), ("w5 w6", "w5")]
        )
        found = pairs.find("w2 w3 w5", "w2 w3 w5", number=2)
        assert [match.pair.source for match in found] == ["w2 w3", "w5 w6"]
        assert sum(match.similarity for match in found) == pytest.approx(1)
        (only,) = pairs.find("w6", "")
        assert (only.pair[:2], only.similarity) == (("w5 w6", "w5"), 1.0)

    def test_a_pair_of_invisible_marks_is_never_found(self):
        pairs = open_pairs([("", ""), ("w2", "w3"), ("w4", "w5")])
        (only,) = pairs.find("w2", "w3")
        assert only.pair[:2] == ("w2", "w3")

    @pytest.mark.parametrize("text", ["", "w7"])
    def test_words_that_no_pair_has_come_from_none(self, text):
        assert open_pairs([("w2", "w3"), ("w4", "w5")]).find(text, text) == []
