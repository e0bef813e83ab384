"""A run, its exports and their servers read special characters alike."""

import numpy as np
import pytest
from exported_translators import make_translator

from keras_transformer.decoding.loading import load
from keras_transformer.decoding.served_model import CTranslate2Model
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.formats.saved_model.writer import export_saved_model
from keras_transformer.runs.run_directory import RunDirectory

ORDINARY = "two women read about dogs"
TEXTS = [
    "two\u00a0women read about dogs",
    "two women\tread\u202fabout\u3000dogs",
    "two wo\u00admen read about dogs",
    "\u200e\ufefftwo women read about dogs\u2060",
    "two\u0085women\u2028read about dogs\u2029",
    "ｔｗｏ　ｗｏｍｅｎ read about dogs",
    "two wom\u200den read about dogs",
]
BLANK = ["\u00ad\u200e", "\u2028", "\ufeff"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_translator(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def saved_model(run, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("saved_model"))
    directory = run.exported.rsplit("/export", 1)[0]
    export_saved_model(RunDirectory(directory), path)
    return load(path)


@pytest.fixture(scope="module", params=["run", "ctranslate2", "saved_model"])
def translator(request, run, saved_model):
    if request.param == "ctranslate2":
        pytest.importorskip("ctranslate2")
        return load(run.exported)
    return {"run": run, "saved_model": saved_model}[request.param]


class NormalizationTest:
    def test_special_characters_change_no_translation(self, translator):
        texts, scores = translator([ORDINARY, *TEXTS], return_scores=True)
        assert set(texts) == {texts[0]}
        np.testing.assert_allclose(scores, scores[0], atol=1e-5)

    def test_all_paths_agree(self, run, translator):
        assert translator(TEXTS) == run(TEXTS)
        assert translator.count_tokens(TEXTS) == run.count_tokens(TEXTS)

    def test_invisible_text_is_blank(self, translator):
        assert translator(BLANK) == [""] * len(BLANK)

    def test_terms_are_found(self, translator):
        glossary = Glossary({"two women": "a street"})
        for text in (ORDINARY, *TEXTS[:3]):
            (translation,) = translator([text], glossary=glossary)
            assert "a street" in translation

    def test_a_served_model_agrees(self, run):
        pytest.importorskip("ctranslate2")
        served = CTranslate2Model(run.exported)
        texts = np.array([t.encode() for t in [*TEXTS, *BLANK]], object)
        outputs = served.call("serving_default", {"text": texts})
        found = [row[0].decode() for row in outputs["translations"]]
        assert found == run([*TEXTS, *BLANK])

    def test_what_is_protected_stays_as_it_is(self, translator):
        if "placeholders" not in translator.engine.capabilities.supports:
            pytest.skip("A SavedModel links no words")
        protect = Placeholders(["<<[^>]*>>"])
        text = "two\u00a0women <<a\u00a0\u00adb>>"
        (text,) = translator([text], protect=protect)
        assert "<<a\u00a0\u00adb>>" in text
        (expected,) = translator(["two women <<ab>>"], protect=protect)
        assert text.replace("a\u00a0\u00adb", "ab") == expected

    def test_words_are_linked(self, run):
        links = [
            run.word_links([text], list(run.hypotheses([text])))[0]
            for text in (ORDINARY, TEXTS[2])
        ]
        assert links[0].source_words == links[1].source_words
