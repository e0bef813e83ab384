"""Comparisons of checkpoints, and the models that a studio has opened."""

import os
import shutil

import pytest

from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.studio import comparison_view
from keras_transformer.studio import training_view
from keras_transformer.studio import translation_view
from keras_transformer.studio.models import MAX_MODELS
from keras_transformer.studio.models import Studio

TEXT = "a b c d e"


class ComparisonTest:
    def test_sentences_have_the_scores_of_both_runs(self, studio):
        test, dev = comparison_view.list_texts(studio, 0, 7, 1, 7)["texts"]
        assert (test["decoded"], test["evaluated"]) == ([200, 200], [7, 7])
        assert (dev["decoded"], dev["evaluated"]) == ([0, 0], [None, None])
        results = comparison_view.compare_texts(studio, "test", 0, 7, 1, 7)
        assert len(results["sentences"]) == 200
        for one in results["sentences"]:
            assert one["texts"] == [one["reference"], one["source"][:4]]
            assert one["scores"][0] == pytest.approx(100)
            assert one["scores"][1] < 90
        page = studio.get_frame(results["frame"]).html
        assert "Two systems on test" in page and "p estimates" in page

    def test_a_pipe_is_not_waited_for(self, translation_runs, tmp_path):
        paths = [
            str(shutil.copytree(path, tmp_path / str(number)))
            for number, path in enumerate(translation_runs)
        ]
        pipe = os.path.join(paths[1], "decodes", "test.txt")
        os.remove(pipe)
        os.mkfifo(pipe)
        studio = Studio(paths)
        test, _ = comparison_view.list_texts(studio, 0, 0, 1)["texts"]
        assert test["decoded"] == [200, 0]
        with pytest.raises(UserError, match="200 and 0 of 200 sentences"):
            comparison_view.compare_texts(studio, "test", 0, 0, 1)

    def test_a_checkpoint_has_its_outputs_alone(
        self, translation_runs, tmp_path
    ):
        path = shutil.copytree(translation_runs[0], tmp_path / "run")
        shutil.copyfile(
            path / "checkpoints/ckpt-7.npz", path / "checkpoints/ckpt-8.npz"
        )
        studio = Studio([str(path)])

        def count():
            texts = comparison_view.list_texts(studio, 0, 7, 0, 8)["texts"]
            return texts[0]["decoded"], texts[0]["evaluated"]

        assert count() == ([200, 0], [7, 7])
        decoded = comparison_view.decode(studio, "test", 0, 0, 8)["decoded"]
        assert decoded == comparison_view.AT_ONCE
        assert count() == ([200, decoded], [7, 7])
        key = 0, 8, "reverse, split test"
        model = studio.get_model(0, 8).fast
        sources = registry.get_problem(
            "reverse", studio.runs[0].record["data_dir"]
        ).text_split("test")[0]
        assert studio.decoded[key] == list(model(sources[:decoded]))

    def test_other_names_are_refused(self, studio):
        with pytest.raises(UserError, match="`name` must be"):
            comparison_view.compare_texts(studio, "../test")


class StudioTest:
    def test_a_run_without_checkpoints_has_curves(
        self, translation_runs, tmp_path
    ):
        path = shutil.copytree(translation_runs[0], tmp_path / "run")
        shutil.move(path / "checkpoints", tmp_path / "later")
        studio = Studio([str(path)])
        (run,) = training_view.describe_runs(studio)["runs"]
        assert (run["step"], run["steps"]) == (None, [])
        assert training_view.show_training(studio)["runs"][0]["curves"]
        with pytest.raises(UserError, match="has no checkpoint yet"):
            studio.get_model()
        shutil.move(tmp_path / "later", path / "checkpoints")
        assert training_view.describe_runs(studio)["runs"][0]["steps"] == [7]
        assert translation_view.translate(studio, TEXT)["hypotheses"]

    def test_the_checkpoint_of_an_imported_run_has_the_step_0(
        self, translation_runs, tmp_path
    ):
        path = shutil.copytree(translation_runs[0], tmp_path / "run")
        folder = path / "checkpoints"
        os.rename(folder / "ckpt-7.npz", folder / "ckpt-0.npz")
        studio = Studio([str(path)])
        assert studio.get_step(0) == 0
        assert translation_view.translate(studio, TEXT)["hypotheses"]

    def test_it_keeps_few_models(self, translation_runs):
        studio = Studio(translation_runs * MAX_MODELS)
        for run in range(MAX_MODELS + 1):
            studio.get_model(run)
        assert not studio.is_open(0) and studio.is_open(1)

    @pytest.mark.parametrize("run", [-1, 2])
    def test_a_run_that_does_not_exist_is_refused(self, studio, run):
        with pytest.raises(UserError, match="`run` must be"):
            studio.get_model(run)

    def test_a_checkpoint_that_does_not_exist_is_refused(self, studio):
        with pytest.raises(UserError, match="no checkpoint of step 8"):
            studio.get_model(0, 8)

    def test_an_open_model_outlives_its_checkpoint(
        self, translation_runs, tmp_path
    ):
        path = shutil.copytree(translation_runs[0], tmp_path / "run")
        studio = Studio([str(path)])
        model = studio.get_model(0)
        for step in studio.runs[0].checkpoints.steps:
            os.remove(studio.runs[0].checkpoints.path(step))
        assert studio.get_model(0) is model
        (run,) = training_view.describe_runs(studio)["runs"]
        assert run["step"] in run["steps"]
        assert translation_view.translate(studio, TEXT)["hypotheses"]

    def test_the_files_of_the_page_are_packaged(self):
        folder = os.path.join(os.path.dirname(training_view.__file__), "page")
        endings = {os.path.splitext(name)[1] for name in os.listdir(folder)}
        assert endings == {".css", ".html", ".js"}
