"""Tests of translators that put a tag before each text."""

import importlib

import pytest
from small_translators import TEXTS
from small_translators import make_run
from small_translators import make_translator
from small_translators import make_vocabulary
from small_translators import rerank_translator
from small_translators import tag_translator

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.served_model import open_model
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.search.options import DecodeOptions


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.model"
    return train_subwords(TEXTS * 20, 312, str(path), ["<fr>", "<es>"])


@pytest.fixture(scope="module")
def translator(vocabulary):
    return make_translator(vocabulary)


def by_hand(texts):
    return [f"<fr> {text}" if text.strip() else text for text in texts]


class TargetTagTest:
    def test_it_translates_texts_that_begin_with_the_tag(self, translator):
        french = tag_translator(translator, "fr")
        expected = translator(by_hand(TEXTS), return_scores=True)
        assert french(TEXTS, return_scores=True) == expected
        spanish = tag_translator(translator, "es")
        assert spanish(TEXTS, return_scores=True)[1] != expected[1]

    def test_blank_texts_stay_blank(self, translator):
        french = tag_translator(translator, "fr")
        assert french(["", "  "]) == ["", ""]

    def test_scores_and_lengths_are_those_with_the_tag(self, translator):
        french = tag_translator(translator, "fr")
        expected = translator.score(by_hand(TEXTS), TEXTS)
        assert french.score(TEXTS, TEXTS) == expected
        lengths = translator.count_tokens(TEXTS[:2])
        assert french.count_tokens(TEXTS[:2]) == [n + 1 for n in lengths]

    def test_targets_are_encoded_without_the_tag(self, translator):
        french = tag_translator(translator, "fr")
        for each in french, rerank_translator(french, translator):
            assert each.encode(TEXTS, of_targets=True) == translator.encode(
                TEXTS
            )

    def test_a_reranker_scores_texts_without_the_tag(self, translator):
        french = tag_translator(translator, "fr")
        reranker = rerank_translator(french, translator)
        texts, translations = TEXTS[:2], ["a book", "dogs"]
        forth = translator.score(by_hand(texts), translations)
        back = translator.score(translations, texts)
        assert reranker.score(texts, translations) == pytest.approx(
            [a + b for a, b in zip(forth, back)], rel=1e-5
        )

    def test_a_reverse_model_may_need_a_tag(self, translator):
        """Then it reads the translations with the tag."""
        reranker = rerank_translator(
            translator, tag_translator(translator, "fr")
        )
        texts, translations = TEXTS[:2], ["a book", "dogs"]
        forth = translator.score(texts, translations)
        back = translator.score(by_hand(translations), texts)
        assert reranker.score(texts, translations) == pytest.approx(
            [a + b for a, b in zip(forth, back)], rel=1e-5
        )

    def test_a_tag_that_the_model_lacks_is_an_error(self, translator, tmp_path):
        with pytest.raises(ValueError, match="Received: it, but <it> has no"):
            tag_translator(translator, "it")
        run = make_run(tmp_path / "run", make_vocabulary(tmp_path / "v"))
        with pytest.raises(ValueError, match="<fr> has no id"):
            plan_model(run.path, target_language="fr").checker

    @pytest.mark.parametrize(
        "format",
        ["ctranslate2", pytest.param("saved_model", marks=pytest.mark.slow)],
    )
    def test_a_server_finds_the_word_of_a_language(
        self, vocabulary, tmp_path, format
    ):
        run = make_run(tmp_path / "run", vocabulary)
        name = f"keras_transformer.formats.{format}.writer"
        export = getattr(importlib.import_module(name), f"export_{format}")
        export(run, str(tmp_path / "export"), DecodeOptions())
        model = open_model(str(tmp_path / "export" / "1"))
        assert model.find_tag("fr") == "<fr> "
        assert model.find_tag("it") == ""

    @pytest.mark.parametrize("tag", ["", "f r", "<fr>", "f" * 33, "à"])
    def test_what_is_no_tag_is_an_error(self, translator, tag):
        with pytest.raises(ValueError, match="must be at most 32 letters"):
            tag_translator(translator, tag)

    def test_placeholders_are_refused_because_the_tag_looks_like_one(
        self, translator
    ):
        french = tag_translator(translator, "fr")
        for scored in (False, True):
            with pytest.raises(
                ValueError, match="cannot be combined with `tag`.*tag='fr'"
            ):
                french(["a"], return_scores=scored, protect=Placeholders())
