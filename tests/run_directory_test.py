import dataclasses
import json
import os

import numpy as np
import pytest

from keras_transformer import hparam
from keras_transformer.data.subwords import train_subwords
from keras_transformer.run_directory import RunDirectory
from keras_transformer.run_directory import average_run

HPARAMS = hparam.HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16)
RECORD = {"problem": "copy", "hparams_set": "mine", "random_seed": 0}


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("vocabulary") / "vocab.model")
    return train_subwords(["some words"], 270, path).model_bytes


@pytest.fixture
def run(tmp_path, model_bytes):
    path = str(tmp_path / "run")
    return RunDirectory.create(path, RECORD, HPARAMS, model_bytes)


class RunDirectoryTest:
    def test_holds_hparams_and_problem(self, run):
        opened = RunDirectory(run.path)
        assert opened.hparams == HPARAMS
        assert opened.problem_name == "copy"

    def test_holds_the_vocabulary(self, run, model_bytes):
        assert run.vocabulary.model_bytes == model_bytes

    def test_other_directory_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="holds no run.json"):
            RunDirectory(str(tmp_path))

    def test_same_run_may_go_on_for_longer(self, run):
        run.check_same(RECORD, dataclasses.replace(HPARAMS, train_steps=9))

    def test_other_problem_is_refused_with_both_names(self, run):
        with pytest.raises(ValueError, match="'reverse'.*begun with 'copy'"):
            run.check_same({**RECORD, "problem": "reverse"}, HPARAMS)

    def test_other_hparam_is_refused_with_both_values(self, run):
        other = dataclasses.replace(HPARAMS, dropout=0.5)
        with pytest.raises(ValueError, match="dropout=0.5.*with 0.1"):
            run.check_same(RECORD, other)


class AverageRunTest:
    def test_average_is_a_run_that_cannot_be_resumed(self, run, tmp_path):
        for step in (1, 2):
            run.checkpoints.save(step, {"model/a": np.full(2, step * 1.0)})
        averaged = average_run(run, 2, str(tmp_path / "averaged"))
        arrays = RunDirectory(averaged.path).checkpoints.load()
        np.testing.assert_array_equal(arrays["model/a"], [1.5, 1.5])
        assert averaged.averaged_steps == [1, 2]
        with pytest.raises(ValueError, match="no optimizer state"):
            averaged.check_same(RECORD, HPARAMS)

    def test_other_things_are_never_replaced(self, run, tmp_path):
        run.checkpoints.save(1, {"model/a": np.ones(2)})
        (tmp_path / "mine" / "checkpoints").mkdir(parents=True)
        for path in (str(tmp_path / "mine"), run.path):
            with pytest.raises(ValueError, match="an earlier average"):
                average_run(run, 1, path)
        assert (tmp_path / "mine" / "checkpoints").is_dir()
        assert run.checkpoints.steps == [1]

    def test_second_average_replaces_the_first(self, run, tmp_path):
        path = str(tmp_path / "averaged")
        for step in (1, 2):
            run.checkpoints.save(step, {"model/a": np.full(2, step * 1.0)})
            average_run(run, 1, path)
        assert RunDirectory(path).checkpoints.steps == [2]
        with open(os.path.join(path, "run.json"), encoding="utf-8") as file:
            assert json.load(file)["averaged_steps"] == [2]
