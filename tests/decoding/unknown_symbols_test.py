"""Symbols that a vocabulary lacks, copied to translations or left out."""

import re

import numpy as np
import pytest
from small_translators import TEXTS
from small_translators import make_translator

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.decoding.engines.attention import find_words
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.decoding.steps.placeholders import restore


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    """A translator whose vocabulary has small letters and the space."""
    path = str(tmp_path_factory.mktemp("letters") / "vocab.model")
    return make_translator(
        train_subwords(TEXTS, 100, path, vocabulary_type="characters")
    )


class UnknownSymbolsTest:
    @pytest.mark.parametrize(
        "text", ["a 漢字 dog", "dogs: 1, 漢字", "漢字", "a"]
    )
    def test_they_are_copied_or_left_out(self, translator, text):
        known = translator([re.sub("[漢字:1,]", "", text)])
        protect = Placeholders(None, unknown="omit")
        assert translator([text], protect=protect) == known
        protect = Placeholders(None, unknown="copy")
        (copied,) = translator([text], protect=protect)
        assert re.findall("[漢字:1,]", copied) == re.findall("[漢字:1,]", text)
        assert [re.sub("[漢字:1, ]", "", copied)] == [known[0].replace(" ", "")]

    # The vocabulary lacks the signs of tags as well.
    @pytest.mark.parametrize("text", ["A <b>DOG</b> 漢 runs", "a <b>漢</b>"])
    def test_tags_can_be_kept_with_them(self, translator, text):
        protect = Placeholders(unknown="copy")
        (copied,) = translator([text], protect=protect)
        pattern = "<b>|</b>|漢"
        assert re.findall(pattern, copied) == re.findall(pattern, text)

    def test_they_raise_an_alarm_unless_they_are_copied(self, translator):
        # Capitals and white space have ways of their own.
        texts = ["a dog", "a d\u0336og", "a 漢字 dog", "A DOG", "a\tdog", ""]
        hypotheses = list(translator.hypotheses(texts))
        alarms = translator.find_alarms(texts, hypotheses)
        raised = ["unknown" in each for each in alarms]
        assert raised == [False, True, True, False, False, False]
        protect = Placeholders(None, unknown="copy")
        hypotheses = list(translator.hypotheses(texts, protect=protect))
        alarms = translator.find_alarms(texts, hypotheses, protect)
        assert not any("unknown" in each for each in alarms)

    def test_a_copied_symbol_is_a_word_among_words(self):
        masked = Placeholders(None, unknown="copy").mask(
            "a-b", find_unknown=lambda text: [(1, 2)], separate=True
        )
        assert masked.text == "ab"
        sides = [find_words(text, re.compile(r"\S")) for text in ("ab", "x y")]
        links = WordLinks(*sides, np.eye(2))
        assert restore(masked, "x y", links) == "x - y"

    def test_another_choice_is_refused(self):
        with pytest.raises(ValueError, match="unknown='keep'. Correct it"):
            Placeholders(unknown="keep")
