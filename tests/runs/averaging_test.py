"""The directory of an average, and what remains if averaging fails."""

import os

import numpy as np
import pytest

from keras_transformer import hparam
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.errors import UserError
from keras_transformer.files.directories import replace_content
from keras_transformer.runs.averaging import average_run
from keras_transformer.runs.run_directory import RUN_FILE
from keras_transformer.runs.run_directory import RunDirectory

HPARAMS = hparam.HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16)


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("vocabulary") / "vocab.model")
    return train_subwords(["some words"], 270, path).model_bytes


@pytest.fixture
def run(tmp_path, model_bytes):
    run = RunDirectory.create(
        str(tmp_path / "run"), {"problem": "copy"}, HPARAMS, model_bytes
    )
    for step in (1, 2):
        run.checkpoints.save(step, {"model/a": np.full(2, step * 1.0)})
    return run


def test_a_full_disk_is_noticed_before_the_evaluation(run, limit_files):
    weights = {"model/a": np.zeros(100_000)}
    run.checkpoints.save(3, weights)
    limit_files(200_000)
    evaluations = []

    def evaluate(*arguments):
        evaluations.append(arguments)
        return {}

    path = run.file("averaged")
    with pytest.raises(OSError, match="Cannot write .*averaged: .* Make room"):
        average_run(run, 1, path, evaluate)
    assert not evaluations and not os.path.exists(path)


@pytest.fixture
def averaged(run):
    """An average with files of the user's own."""
    averaged = average_run(run, 1, run.file("averaged"))
    for name in ("README.md", "export/1/saved_model.pb"):
        os.makedirs(os.path.dirname(averaged.file(name)), exist_ok=True)
        with open(averaged.file(name), "w") as file:
            file.write("mine")
    return averaged


def fail(steps, arrays):
    raise OSError("full")


def names_in(folder):
    return [name for name in os.listdir(folder) if name.startswith("averaged")]


class PlaceTest:
    @pytest.mark.parametrize(
        "name", ["run", ".", "run/checkpoints", "run/checkpoints/new"]
    )
    def test_the_runs_own_files_are_out_of_reach(self, run, tmp_path, name):
        path = str(tmp_path / name)
        with pytest.raises(ValueError, match="neither around `output_dir`"):
            average_run(run, 1, path)
        assert run.checkpoints.steps == [1, 2]
        assert os.listdir(tmp_path) == ["run"]

    def test_a_link_to_the_run_is_the_run(self, run, tmp_path):
        (tmp_path / "link").symlink_to(run.path)
        with pytest.raises(ValueError, match="neither around `output_dir`"):
            average_run(run, 1, str(tmp_path / "link"))

    def test_an_average_is_out_of_reach_of_its_own_average(self, averaged):
        with pytest.raises(ValueError, match="neither around `output_dir`"):
            average_run(averaged, 1, averaged.path)
        assert averaged.checkpoints.steps == [2]

    def test_a_link_stays_a_link(self, run, tmp_path):
        place = tmp_path / "large_disk"
        place.mkdir()
        (tmp_path / "link").symlink_to(place)
        average_run(run, 2, str(tmp_path / "link"))
        assert (tmp_path / "link").is_symlink()
        assert RunDirectory(str(place)).averaged_steps == [1, 2]


class StartShareTest:
    @pytest.fixture
    def start(self, tmp_path, model_bytes):
        start = RunDirectory.create(
            str(tmp_path / "start"), {"problem": "copy"}, HPARAMS, model_bytes
        )
        start.checkpoints.save(9, {"model/a": np.full(2, 6.0)})
        return start

    @pytest.fixture
    def tuned(self, run, start):
        run.record.update(warm_start_from=start.path, warm_start_step=9)
        return run

    @pytest.mark.parametrize("share, weight", [(0, 1.5), (0.2, 2.4), (1, 6)])
    def test_the_average_has_a_share_of_the_start(self, tuned, share, weight):
        path = tuned.file("averaged")
        averaged = average_run(tuned, 2, path, start_share=share)
        arrays = averaged.checkpoints.load()
        np.testing.assert_allclose(arrays["model/a"], weight)
        assert averaged.record.get("start_share", 0) == share

    def test_the_share_is_of_the_weights_that_the_run_began_with(
        self, tuned, start
    ):
        start.checkpoints.save(10, {"model/a": np.full(2, 100.0)})
        averaged = average_run(tuned, 2, tuned.file("a"), start_share=0.2)
        arrays = averaged.checkpoints.load()
        np.testing.assert_allclose(arrays["model/a"], 2.4)

    def test_without_the_weights_of_the_start_there_is_no_average(
        self, run, start, tmp_path
    ):
        def fails(words):
            with pytest.raises(UserError, match=words):
                average_run(run, 1, run.file("averaged"), start_share=0.5)
            assert names_in(run.path) == []

        fails("did not start from another run. Leave --start_share out")
        run.record["warm_start_from"] = str(tmp_path / "gone")
        fails("gone, which is no run any more")
        run.record["warm_start_from"] = start.path
        start.checkpoints.save(10, {"model/a": np.ones(3)})
        fails("'model/a' is of shape .3,. but must be of shape .2,.")
        other = train_subwords(["other text"], 270, str(tmp_path / "other"))
        with open(start.file("vocab.model"), "wb") as file:
            file.write(other.model_bytes)
        fails("different vocabularies")
        run.record["warm_start_step"] = 8
        fails("no longer has its checkpoint of step 8")


class ReplacementTest:
    def test_after_an_error_the_earlier_average_is_there(self, run, averaged):
        with pytest.raises(OSError, match="full"):
            average_run(run, 2, averaged.path, fail)
        assert RunDirectory(averaged.path).averaged_steps == [2]
        assert averaged.checkpoints.load()["model/a"].tolist() == [2, 2]
        assert names_in(run.path) == ["averaged"]

    def test_after_an_error_there_is_no_new_average(self, run):
        with pytest.raises(OSError, match="full"):
            average_run(run, 2, run.file("averaged"), fail)
        assert names_in(run.path) == []

    def test_on_a_full_disk_the_earlier_average_is_there(
        self, run, averaged, limit_files
    ):
        run.checkpoints.save(3, {"model/a": np.ones(20_000)})
        limit_files(100_000)
        with pytest.raises(OSError, match="Cannot write "):
            average_run(run, 1, averaged.path)
        assert RunDirectory(averaged.path).checkpoints.steps == [2]
        assert names_in(run.path) == ["averaged"]

    def test_the_users_files_stay(self, run, averaged):
        average_run(run, 2, averaged.path)
        assert RunDirectory(averaged.path).averaged_steps == [1, 2]
        for name in ("README.md", "export/1/saved_model.pb"):
            with open(averaged.file(name)) as file:
                assert file.read() == "mine"
        assert names_in(run.path) == ["averaged"]

    @pytest.mark.parametrize(
        "name",
        ["checkpoints/notes.txt", "checkpoints/ckpt-2.npz.bak"]
        + ["decodes/mine.txt", "decodes/dev.html", "scores/mine.csv"],
    )
    def test_the_users_files_among_ours_are_not_deleted(
        self, run, averaged, name
    ):
        for each in ("decodes/dev.txt", "scores/dev.json", name):
            os.makedirs(os.path.dirname(averaged.file(each)), exist_ok=True)
            open(averaged.file(each), "w").close()
        with pytest.raises(ValueError, match=f"Received: .*{name}"):
            average_run(run, 2, averaged.path)
        assert os.path.exists(averaged.file(name))
        assert RunDirectory(averaged.path).averaged_steps == [2]

    def test_the_tagger_of_the_earlier_average_goes_with_it(
        self, run, averaged
    ):
        os.makedirs(averaged.file("taggers"))
        with open(averaged.file("taggers", "tagger-2.npz"), "w") as file:
            file.write("of other weights")
        average_run(run, 2, averaged.path)
        assert not os.path.exists(averaged.file("taggers"))

    def test_directories_with_names_like_ours_stay(self, run, averaged):
        for suffix in (".outdated", ".incomplete"):
            os.mkdir(averaged.path + suffix)
            with open(f"{averaged.path}{suffix}/thesis.txt", "w") as file:
                file.write("mine")
        average_run(run, 2, averaged.path)
        for suffix in (".outdated", ".incomplete"):
            assert os.listdir(averaged.path + suffix) == ["thesis.txt"]

    def test_a_second_process_is_refused(self, run, averaged):
        with replace_content(averaged.path, RUN_FILE):
            with pytest.raises(ValueError, match="Another process is writing"):
                average_run(run, 2, averaged.path)
            assert RunDirectory(averaged.path).averaged_steps == [2]

    def test_translations_of_the_earlier_average_go_with_it(
        self, run, averaged
    ):
        for name in ("decodes/test.txt", "scores/test.json"):
            os.makedirs(os.path.dirname(averaged.file(name)))
            open(averaged.file(name), "w").close()
        average_run(run, 2, averaged.path)
        assert not {"decodes", "scores"} & set(os.listdir(averaged.path))
