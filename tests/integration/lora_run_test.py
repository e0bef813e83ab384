"""Runs that are trained by low-rank adaptation of another run."""

import dataclasses
import os
import shutil

import numpy as np
import pytest
from commands import assert_fails
from commands import call
from runs import differences
from runs import evaluations
from runs import train

from keras_transformer.bin import avg_checkpoints
from keras_transformer.bin import evaluate
from keras_transformer.bin import import_
from keras_transformer.bin import trainer
from keras_transformer.decoding import load
from keras_transformer.errors import UserError
from keras_transformer.files import array_files
from keras_transformer.formats.adapter import import_adapter
from keras_transformer.runs.checkpoints import BASE_FILE
from keras_transformer.runs.model import load_model
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import ADAPTER_FILE
from keras_transformer.runs.weights import read_weights

LORA = {"lora_rank": 2, "lora_alpha": 4.0, "peak_learning_rate": 0.01}
LORA |= {"warmup_steps": 5}


@pytest.fixture(scope="module")
def parent(trained_run, tmp_path_factory):
    """A run on `copy` that has only half learned it."""
    path = tmp_path_factory.mktemp("parent") / "run"
    run = RunDirectory(str(shutil.copytree(trained_run, path)))
    for step in run.checkpoints.steps[1:]:
        os.remove(run.checkpoints.path(step))
    return run


@pytest.fixture(scope="module")
def run(make_run, parent):
    """A run that adapts the parent in 60 updates."""
    run = make_run(**LORA)
    train(run, 60, warm_start_from=parent.path, eval_frequency=30)
    return run


class LoraRunTest:
    def test_it_learns(self, run, parent):
        loss = float(evaluations(parent)[0]["dev_loss"])
        assert float(evaluations(run)[-1]["dev_loss"]) < 0.8 * loss

    def test_weights_differ_from_those_of_the_parent_by_a_low_rank(
        self, run, parent
    ):
        before = read_weights(parent.checkpoints)
        after = read_weights(run.checkpoints)
        assert after.keys() == before.keys()
        for name in before:
            change = after[name] - before[name]
            if name.rpartition("/")[2] in (
                *("query", "key", "value"),
                *("output", "inner", "outer"),
            ):
                assert np.linalg.matrix_rank(change, tol=1e-4) == 2, name
            else:
                assert not change.any(), name

    def test_a_checkpoint_holds_only_adapters_and_their_optimizer(
        self, run, parent
    ):
        own = os.path.getsize(run.checkpoints.path(60))
        base = os.path.join(run.checkpoints.directory, BASE_FILE)
        assert own < 0.25 * os.path.getsize(base)
        assert 9 * own < os.path.getsize(parent.checkpoints.path(250))

    def test_resumed_run_equals_an_uninterrupted_one(
        self, run, make_run, parent
    ):
        resumed = make_run(**LORA)
        options = {"warm_start_from": parent.path, "eval_frequency": 30}
        train(resumed, 30, **options)
        train(resumed, 60, **options)
        # The table has a further row where the first training ended.
        assert set(differences(resumed, run)) <= {"metrics.csv"}

    def test_loaded_model_computes_what_the_trained_one_does(self, run):
        trained, _ = train(run, 60)
        ids = np.array([[5, 7, 9, 1]], "int32")
        features = {"inputs": ids, "targets": ids}
        expected = trained.backend.model(features)
        model = load_model(run)
        assert model.lora_rank is None
        np.testing.assert_allclose(model(features), expected, atol=1e-5)

    def test_every_command_sees_merged_weights(self, run, tmp_path, capsys):
        assert call(evaluate, f"--output_dir={run.path}") == 0
        averaged = str(tmp_path / "averaged")
        flags = f"--output_dir={run.path}", f"--averaged_dir={averaged}"
        assert call(avg_checkpoints, *flags, "--num_last_checkpoints=2") == 0
        average = RunDirectory(averaged)
        # An average is an ordinary run, and the whole model.
        assert average.hparams.lora_rank == 0
        mean = read_weights(average.checkpoints)
        of_each = [read_weights(run.checkpoints, step) for step in (30, 60)]
        for name, array in mean.items():
            expected = (of_each[0][name] + of_each[1][name]) / 2
            np.testing.assert_allclose(array, expected, atol=1e-6)
        sources = ["c a d b e", "i g f"]
        expected = load(run.path, engine="keras")(sources)
        pytest.importorskip("ctranslate2")
        assert load(run.path, engine="ctranslate2")(sources) == expected

    @pytest.mark.slow
    def test_moving_averages_of_adapters_are_merged(self, make_run, parent):
        run = make_run(**LORA, ema_decay=0.9)
        train(run, 10, warm_start_from=parent.path)
        merged = read_weights(run.checkpoints)
        arrays = run.checkpoints.load()
        name = "encoder/layer_0/feed_forward/inner"
        a, b = (arrays[f"average/{name}_lora_{letter}"] for letter in "ab")
        np.testing.assert_allclose(
            merged[f"model/{name}"],
            arrays[f"model/{name}"] + 4 / 2 * a @ b,
            atol=1e-6,
        )
        assert float(evaluations(run)[0]["dev_loss"]) > 0

    def test_a_run_that_starts_from_it_trains_all_weights(
        self, run, copy_data, tmp_path
    ):
        flags = f"--output_dir={tmp_path / 'run'}", f"--data_dir={copy_data}"
        flags += ("--problem=copy", f"--warm_start_from={run.path}")
        assert call(trainer, *flags, "--train_steps=1") == 0
        assert RunDirectory(str(tmp_path / "run")).hparams.lora_rank == 0


class AdapterFileTest:
    def test_it_makes_the_run_anew_of_its_base(self, run, parent, tmp_path):
        file = run.file(ADAPTER_FILE)
        assert os.path.getsize(file) < os.path.getsize(run.checkpoints.path(60))
        path = tmp_path / "again"
        flags = f"--source={file}", f"--output_dir={path}"
        assert call(import_, *flags, f"--base={parent.path}") == 0
        again = RunDirectory(str(path))
        assert again.hparams.lora_rank == 0
        found = read_weights(again.checkpoints)
        for name, array in read_weights(run.checkpoints).items():
            np.testing.assert_array_equal(found[name], array)

    def test_another_base_is_refused(self, run, tmp_path, capsys):
        flags = (
            f"--source={run.file(ADAPTER_FILE)}",
            f"--output_dir={tmp_path / 'new'}",
        )
        words = ["whose newest weights differ"]
        assert_fails(capsys, words, import_, *flags, f"--base={run.path}")
        words = ["Add --base=RUN", "Marian's own model.npz"]
        assert_fails(capsys, words, import_, *flags)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda array: array[:, :0], r"is of shape \(\d+, 0\) but must be"),
            (lambda array: array[::2], "or name the run that it belongs to"),
            (lambda array: array * np.nan, "holds infinity or NaN"),
        ],
        ids=["no_rank", "other_width", "nan"],
    )
    def test_faulty_adapters_are_refused(
        self, run, parent, tmp_path, change, words
    ):
        arrays = array_files.read_arrays(run.file(ADAPTER_FILE))
        for name in arrays:
            if name.endswith("_lora_a"):
                arrays[name] = change(arrays[name])
        path, new = str(tmp_path / "faulty.npz"), str(tmp_path / "new")
        np.savez(path, **arrays)
        with pytest.raises(UserError, match=words):
            import_adapter(path, parent.path, new, "copy")
        assert os.listdir(tmp_path) == ["faulty.npz"]

    def test_an_absent_or_damaged_file_is_not_taken_for_a_checkpoint(
        self, parent, tmp_path, capsys
    ):
        path = tmp_path / "adapter.npz"
        flags = f"--source={path}", f"--base={parent.path}"
        flags += (f"--output_dir={tmp_path / 'new'}",)
        words = [str(path), "does not exist. Restore the file"]
        assert_fails(capsys, words, import_, *flags)
        path.write_bytes(b"PK")
        words = ["not a complete .npz file", "Restore the file"]
        assert_fails(capsys, words, import_, *flags)


class LoraErrorTest:
    def test_another_rank_in_a_resumed_run_is_refused(self, run):
        hparams = dataclasses.replace(run.hparams, lora_rank=3)
        words = "`lora_rank` must not change.*was started with 2"
        with pytest.raises(UserError, match=words):
            run.check_same(run.record, hparams)

    def test_a_start_without_trained_weights_is_refused(
        self, copy_data, tmp_path, capsys
    ):
        flags = f"--output_dir={tmp_path / 'run'}", f"--data_dir={copy_data}"
        flags += ("--problem=copy", "--hparams_set=transformer_tiny")
        words = ["without a warm start", "--warm_start_from=RUN"]
        hparams = "--hparams=lora_rank=4"
        assert_fails(capsys, words, trainer, *flags, hparams)
        assert os.listdir(tmp_path) == []

    def test_a_missing_base_is_named(self, run, tmp_path, capsys):
        run = RunDirectory(str(shutil.copytree(run.path, tmp_path / "run")))
        base = os.path.join(run.checkpoints.directory, BASE_FILE)
        os.remove(base)
        flag = f"--output_dir={run.path}"
        words = [base, "does not exist. Restore the file"]
        assert_fails(capsys, words, evaluate, flag)
