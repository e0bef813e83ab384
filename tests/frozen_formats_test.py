"""Tests that files of version 0.1 load and give the outputs of that version.

`fixtures/v0.1` was written by version 0.1 before its modules moved: a run on
the problem `copy` with two checkpoints, its average, its SavedModel, its
CTranslate2 export and a `.keras` file of the layers. `recorded.json` holds the
outputs of that version.
"""

import json
import pathlib
import shutil

import numpy as np
import pytest

FROZEN = pathlib.Path(__file__).parent / "fixtures" / "v0.1"
RECORDED = json.loads((FROZEN / "recorded.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    """Returns the path of a copy, so that no test can change the fixture."""
    path = tmp_path_factory.mktemp("frozen") / "v0.1"
    shutil.copytree(FROZEN, path)
    return path


class FrozenFormatsTest:
    @pytest.mark.parametrize("name", RECORDED["translators"])
    def test_translations_and_scores_are_the_recorded_ones(self, frozen, name):
        from keras_transformer.decoding.translator import Translator

        expected = RECORDED["translators"][name]
        if expected["path"] == "ctranslate2":
            pytest.importorskip("ctranslate2")
        translator = Translator.load(
            str(frozen / expected["path"]),
            expected["step"],
            engine="keras",
        )
        translations, scores = translator(
            RECORDED["texts"],
            num_hypotheses=expected["num_hypotheses"],
            return_scores=True,
        )
        assert translations == expected["translations"]
        for computed, recorded in zip(scores, expected["scores"], strict=True):
            np.testing.assert_allclose(computed, recorded, atol=1e-4)

    def test_keras_file_of_the_layers_gives_the_recorded_outputs(self, frozen):
        import keras

        from keras_transformer import layers  # noqa: F401 (registers them)

        model = keras.saving.load_model(frozen / "layers.keras")
        expected = RECORDED["layers"]
        outputs = model.predict(
            [np.array(expected["ids"]), np.array(expected["targets"])],
            verbose=0,
        )
        np.testing.assert_allclose(outputs, expected["outputs"], atol=1e-5)

    def test_checkpoints_are_those_of_both_evaluations(self, frozen):
        from keras_transformer.runs.run_directory import RunDirectory

        run = RunDirectory(str(frozen / "run"))
        assert run.checkpoints.steps == [1500, 3000]
        assert run.checkpoints.best_step in (1500, 3000)
        averaged = RunDirectory(str(frozen / "averaged"))
        assert averaged.averaged_steps == [1500, 3000]
