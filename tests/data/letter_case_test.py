import random

import pytest

from keras_transformer.data.text import disturbances
from keras_transformer.data.text.letter_case import restore_case
from keras_transformer.data.vocabulary import subwords

TEXTS = [
    "The dog sees Tom.",
    "Tom sees the dog of the NATO.",
    "Madrid is far. The dog sees Madrid.",
    "<2fr> Tom sees %s of the <num> dog.",
]


def train(texts, tmp_path_factory):
    path = tmp_path_factory.mktemp("case") / "vocab.model"
    return subwords.train_subwords(texts * 9, 320, str(path))


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return train(TEXTS, tmp_path_factory)


class RestoreCaseTest:
    @pytest.mark.parametrize(
        "change", [disturbances.capitals, disturbances.title_case]
    )
    def test_the_usual_case_returns(self, change, vocabulary):
        disturbed = [change(text, None) for text in TEXTS]
        assert all(a != b for a, b in zip(disturbed, TEXTS))
        assert restore_case(disturbed, vocabulary) == TEXTS

    def test_sentences_in_small_letters_get_their_capitals(self, vocabulary):
        disturbed = [text.lower() for text in TEXTS]
        # No acronym can be told from a name.
        expected = [text.replace("NATO", "Nato") for text in TEXTS]
        assert restore_case(disturbed, vocabulary) == expected

    @pytest.mark.parametrize(
        "text",
        ["", " ", "?!", "OK", "NATO!", "Tom Madrid", "%s --help", "漢字。"]
        + [*TEXTS, "the DOG SEES TOM", "Choose Tools - Open Files"]
        + ["the dog sees tom", "tom sees.", "sees the dog of tom."],
    )
    def test_other_texts_stay(self, text, vocabulary):
        assert restore_case([text], vocabulary) == [text]

    def test_a_letter_whose_small_form_is_longer_stays(self, vocabulary):
        assert len("İ".lower()) == 2
        (restored,) = restore_case(["The Dog Sees İda."], vocabulary)
        assert restored == "The dog sees İda."

    def test_a_vocabulary_of_capitals_keeps_them(self, tmp_path_factory):
        texts = [text.upper() for text in TEXTS]
        vocabulary = train(texts, tmp_path_factory)
        assert restore_case(texts, vocabulary) == texts

    def test_a_vocabulary_without_capitals_takes_none(self, tmp_path_factory):
        texts = [text.lower() for text in TEXTS]
        vocabulary = train(texts, tmp_path_factory)
        capitals = [disturbances.capitals(text, None) for text in texts]
        assert restore_case(capitals, vocabulary) == texts
        assert restore_case(texts, vocabulary) == texts

    def test_places_in_the_text_stay(self, vocabulary):
        letters = "aZıİßẞΣςŉǆ ⓐ ΐ.'"
        generator = random.Random(0)
        for _ in range(300):
            text = "".join(generator.choices(letters, k=20)).upper()
            (restored,) = restore_case([text], vocabulary)
            assert len(restored) == len(text)
            assert restored.casefold() == text.casefold()
