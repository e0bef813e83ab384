"""Runs with the vocabularies of a Marian model, in all formats."""

import os

import keras
import pytest
from marian_examples import ENGLISH
from marian_examples import GERMAN
from marian_examples import HOSTILE_TEXTS
from marian_examples import train_sentencepiece
from marian_examples import write_marian_example
from small_translators import HPARAMS
from small_translators import make_run

from keras_transformer.decoding.loading import load
from keras_transformer.errors import UserError
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.formats.marian.vocabulary_files import (
    read_marian_vocabularies,
)
from keras_transformer.token_ids import END_ID

if keras.backend.backend() != "tensorflow":
    pytest.skip("SavedModels are TensorFlow's", allow_module_level=True)

from keras_transformer.formats.saved_model.writer import export_saved_model
from keras_transformer.search.options import DecodeOptions

TEXTS = [*ENGLISH, *(text.replace("\n", " ") for text in HOSTILE_TEXTS)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("marian")
    models = (
        train_sentencepiece(ENGLISH, 40),
        train_sentencepiece(GERMAN, 50),
    )
    write_marian_example(directory, models, clean_up_tokenization_spaces=True)
    sources, targets = read_marian_vocabularies(str(directory))
    run = make_run(directory / "run", targets, HPARAMS, sources)
    arrays = run.checkpoints.load(7)
    # Otherwise most translations would be empty.
    arrays["model/embedding/embeddings"][END_ID] /= 8
    run.checkpoints.save(8, arrays)
    return run


# `tests/formats/tokenization_test.py` has the subwords of a SavedModel.
@pytest.fixture(
    scope="module",
    params=[
        "run",
        pytest.param("saved_model", marks=pytest.mark.slow),
        "ctranslate2",
    ],
)
def path(request, run, tmp_path_factory):
    export_dir = str(tmp_path_factory.mktemp("export") / request.param)
    options = DecodeOptions.from_hparams(run.hparams)
    if request.param == "saved_model":
        return export_saved_model(run, export_dir, options)
    if request.param == "ctranslate2":
        return export_ctranslate2(run, export_dir, options)
    return run.path


class MarianDecodingTest:
    def test_all_formats_translate_alike(self, run, path):
        texts, scores = load(path)(TEXTS, return_scores=True)
        expected, their_scores = load(run.path, engine="keras")(
            TEXTS, return_scores=True
        )
        assert texts == expected
        assert scores == pytest.approx(their_scores, abs=1e-4)
        assert len(set(texts)) > 5

    def test_the_code_of_a_language_is_put_before_a_text(self, path):
        translator, french = load(path), load(path, target_language="fra")
        lengths = translator.count_tokens(ENGLISH)
        assert french.count_tokens(ENGLISH) == [n + 1 for n in lengths]
        by_hand = [f">>fra<< {text}" for text in ENGLISH]
        assert french(ENGLISH) == translator(by_hand)
        assert french(["", " "]) == ["", ""]

    def test_cards_of_exports_say_how_to_encode(self, run, path):
        if os.path.basename(os.path.dirname(path)) != "ctranslate2":
            pytest.skip("the text is inside the model")
        with open(os.path.join(path, "README.md"), encoding="utf-8") as file:
            card = file.read()
        assert 'Subwords("path/to/model/vocab.source.model").encode' in card

    def test_other_languages_are_refused(self, path):
        message = "Received: ita, but <ita> has no .*Name a language .*fra, deu"
        with pytest.raises(UserError, match=message):
            load(path, target_language="ita")
