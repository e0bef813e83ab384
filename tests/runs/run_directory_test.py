import dataclasses
import json
import os

import numpy as np
import pytest

from keras_transformer import hparam
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.runs.averaging import average_run
from keras_transformer.runs.checkpoints import Evaluation
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.model import load_model
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.model import warm_start
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import check_same_architecture

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
    def test_opened_run_has_hparams_and_problem(self, run):
        opened = RunDirectory(run.path)
        assert opened.hparams == HPARAMS
        assert opened.problem_name == "copy"

    def test_opened_run_has_the_vocabulary(self, run, model_bytes):
        assert run.vocabulary.model_bytes == model_bytes

    def test_another_directory_is_an_error(self, tmp_path):
        with pytest.raises(ValueError, match="holds no run.json"):
            RunDirectory(str(tmp_path))
        with pytest.raises(ValueError, match="gone', which does not exist"):
            RunDirectory(str(tmp_path / "gone"))

    @pytest.mark.parametrize("name", ["checkpoints/ckpt-9.npz", "vocab.model"])
    def test_files_of_a_run_without_its_record_stay(
        self, tmp_path, model_bytes, name
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        with pytest.raises(ValueError, match="holds other.*Move it elsewhere"):
            RunDirectory.create(str(tmp_path), RECORD, HPARAMS, model_bytes)
        assert path.read_text() == "mine"
        assert not RunDirectory.exists(tmp_path)

    def test_what_a_killed_process_left_is_completed(self, run, model_bytes):
        os.remove(run.file("run.json"))
        RunDirectory.create(run.path, RECORD, HPARAMS, model_bytes)
        assert RunDirectory(run.path).problem_name == "copy"

    def test_a_new_start_keeps_no_vocabulary_of_an_earlier_one(
        self, run, model_bytes
    ):
        arguments = run.path, RECORD, HPARAMS, model_bytes
        RunDirectory.create(*arguments, model_bytes)
        assert "vocab.source.model" in os.listdir(run.path)
        RunDirectory.create(*arguments)
        assert "vocab.source.model" not in os.listdir(run.path)

    def test_another_run_in_its_place_is_noticed(self, run, model_bytes):
        """Two runs would otherwise write their checkpoints side by side."""
        run.check_in_place()
        os.rename(run.path, f"{run.path}_moved")
        RunDirectory.create(run.path, RECORD, HPARAMS, model_bytes)
        with pytest.raises(ValueError, match="was moved or removed"):
            run.check_in_place()

    def test_resumed_run_may_have_more_updates(self, run):
        run.check_same(RECORD, dataclasses.replace(HPARAMS, train_steps=9))

    def test_error_of_another_problem_names_both(self, run):
        with pytest.raises(ValueError, match="'reverse'.*started with 'copy'"):
            run.check_same({**RECORD, "problem": "reverse"}, HPARAMS)

    def test_error_of_another_hparam_names_both_values(self, run):
        other = dataclasses.replace(HPARAMS, dropout=0.5)
        with pytest.raises(ValueError, match="dropout=0.5.*with 0.1"):
            run.check_same(RECORD, other)

    def test_batch_of_a_device_may_differ_if_the_update_is_fixed(
        self, tmp_path, model_bytes
    ):
        sizes = {"batch_tokens": 1000, "effective_batch_tokens": 4000}
        hparams = dataclasses.replace(HPARAMS, **sizes)
        run = RunDirectory.create(
            str(tmp_path / "run"), RECORD, hparams, model_bytes
        )
        run.check_same(RECORD, dataclasses.replace(hparams, batch_tokens=500))
        other = dataclasses.replace(hparams, effective_batch_tokens=5000)
        with pytest.raises(ValueError, match="effective_batch_tokens=5000"):
            run.check_same(RECORD, other)

    def test_batch_of_a_device_must_be_the_same_if_it_is_the_update(self, run):
        other = dataclasses.replace(HPARAMS, batch_tokens=500)
        with pytest.raises(ValueError, match="batch_tokens=500.*with 4096"):
            run.check_same(RECORD, other)

    def test_another_precision_is_an_error(self, run):
        run.check_same({**RECORD, "precision": "float32"}, HPARAMS)
        with pytest.raises(ValueError, match="'bfloat16'.*with 'float32'"):
            run.check_same({**RECORD, "precision": "bfloat16"}, HPARAMS)


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

    def test_other_files_are_never_replaced(self, run, tmp_path):
        run.checkpoints.save(1, {"model/a": np.ones(2)})
        (tmp_path / "mine" / "checkpoints").mkdir(parents=True)
        with pytest.raises(ValueError, match="an earlier average"):
            average_run(run, 1, str(tmp_path / "mine"))
        assert (tmp_path / "mine" / "checkpoints").is_dir()

    def test_second_average_replaces_the_first(self, run, tmp_path):
        path = str(tmp_path / "averaged")
        for step in (1, 2):
            run.checkpoints.save(step, {"model/a": np.full(2, step * 1.0)})
            average_run(run, 1, path)
        assert RunDirectory(path).checkpoints.steps == [2]
        with open(os.path.join(path, "run.json"), encoding="utf-8") as file:
            assert json.load(file)["averaged_steps"] == [2]


def save(run, step, value, **more):
    """Saves a checkpoint in which all weights have the same value."""
    model = build_transformer(run.hparams.model, run.vocabulary.vocab_size)
    named = model_variables(model)
    arrays = {name: np.full(v.shape, value, "f4") for name, v in named.items()}
    for kind, other in more.items():
        for name, v in named.items():
            place = name.replace("model/", f"{kind}/")
            arrays[place] = np.full(v.shape, other, "f4")
    run.checkpoints.save(step, arrays)
    return model


def values(model):
    arrays = read_variables(model_variables(model)).values()
    return {value for array in arrays for value in np.unique(array)}


class LoadModelTest:
    def test_loads_the_newest_the_best_or_a_given_step(self, run):
        for step in (1, 2, 3):
            save(run, step, step)
            evaluation = Evaluation(step, score=-abs(step - 2.0))
            run.checkpoints.add_evaluations(evaluation)
        assert values(load_model(run)) == {3}
        assert values(load_model(run, "best")) == {2}
        assert values(load_model(run, 1)) == {1}

    def test_loads_moving_averages_if_there_are_any(self, run):
        save(run, 1, 5, average=7)
        assert values(load_model(run)) == {7}

    def test_an_unknown_precision_is_explained(self, run):
        message = "`precision` must be one of float32, bf.*precision='fp16'"
        with pytest.raises(ValueError, match=message):
            load_model(run, precision="fp16")


class WarmStartTest:
    @pytest.fixture
    def new_run(self, tmp_path, model_bytes):
        path = str(tmp_path / "new")
        return RunDirectory.create(path, RECORD, HPARAMS, model_bytes)

    def test_model_gets_the_weights_of_the_other_run(self, run, new_run):
        model = save(run, 1, 5)
        warm_start(model, run, new_run)
        assert values(model) == {5}
        save(run, 2, 6)
        warm_start(model, run, new_run, step=1)
        assert values(model) == {5}

    def test_depth_of_the_decoder_may_be_given_in_two_ways(
        self, run, tmp_path, model_bytes
    ):
        same = dataclasses.replace(HPARAMS, num_decoder_layers=1)
        path = str(tmp_path / "same")
        other = RunDirectory.create(path, RECORD, same, model_bytes)
        model = save(other, 1, 5)
        warm_start(model, other, run)
        deeper = dataclasses.replace(HPARAMS, num_decoder_layers=2)
        other = RunDirectory.create(
            str(tmp_path / "deeper"), RECORD, deeper, model_bytes
        )
        with pytest.raises(ValueError, match="with num_decoder_layers=2"):
            warm_start(model, other, run)

    def test_another_vocabulary_gets_the_embeddings_of_its_pieces(
        self, run, tmp_path, model_bytes
    ):
        path = str(tmp_path / "vocab.model")
        theirs = train_subwords(["other words"], 272, path)
        other = RunDirectory.create(
            str(tmp_path / "other"), RECORD, HPARAMS, theirs.model_bytes
        )
        model = save(other, 1, 5)
        arrays = other.checkpoints.load(1)
        embeddings = np.arange(272 * 8, dtype="f4").reshape(272, 8)
        arrays["model/embedding/embeddings"] = embeddings
        other.checkpoints.save(2, arrays)
        model = build_transformer(HPARAMS.model, run.vocabulary.vocab_size)
        warm_start(model, other, run)
        ours = model.embedding.embeddings.numpy()
        pieces = theirs.pieces(range(272))
        for piece, row in zip(run.vocabulary.pieces(range(270)), ours):
            if piece in pieces:
                assert (row == embeddings[pieces.index(piece)]).all()
        named = read_variables(model_variables(model))
        del named["model/embedding/embeddings"]
        assert {value for array in named.values() for value in array.flat} == {
            5
        }

    def test_another_number_of_learned_positions_is_named(
        self, run, tmp_path, model_bytes
    ):
        longer = dataclasses.replace(HPARAMS, max_length=300)
        path = str(tmp_path / "longer")
        other = RunDirectory.create(path, RECORD, longer, model_bytes)
        check_same_architecture(
            HPARAMS.model, other
        )  # sinusoids have no weights
        learned, other.hparams = (
            dataclasses.replace(hparams, positional_encoding="learned")
            for hparams in (HPARAMS, longer)
        )
        with pytest.raises(ValueError, match="with max_length=300, while"):
            check_same_architecture(learned.model, other)

    def test_other_shapes_are_an_error_and_change_nothing(
        self, run, tmp_path, model_bytes
    ):
        wider = dataclasses.replace(HPARAMS, d_ff=32)
        other = RunDirectory.create(
            str(tmp_path / "other"), RECORD, wider, model_bytes
        )
        save(other, 1, 5)
        model = save(run, 1, 3)
        before = values(model)
        with pytest.raises(ValueError, match="architecture.*d_ff=32"):
            warm_start(model, other, run)
        assert values(model) == before
