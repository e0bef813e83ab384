"""What kt-trainer refuses at its start, and what a failed start leaves."""

import dataclasses
import json
import os
import shutil
import signal

import numpy as np
import pytest
from commands import assert_fails
from commands import call
from runs import evaluations
from runs import metrics

from keras_transformer import registry
from keras_transformer.bin import trainer
from keras_transformer.hparam import parse_overrides
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training import start
from keras_transformer.training.backends import largest_batch
from keras_transformer.training.epochs import Epochs
from keras_transformer.training.options import StartOptions
from keras_transformer.training.start import count_minimum_bytes
from keras_transformer.training.train import MAX_TOKENS
from keras_transformer.training.train import _make_hparams

TINY = "num_layers=1,d_model=16,d_ff=32,num_heads=2,batch_tokens=512"
TINY += ",extra_length=4"  # an untrained model writes up to the limit


def flags_of(path, data_dir, *flags):
    return (
        "--problem=copy",
        f"--data_dir={data_dir}",
        f"--output_dir={path}",
        "--hparams_set=transformer_tiny",
        *flags,
    )


class RefusalTest:
    @pytest.mark.parametrize(
        "flag, expected",
        [
            ("--hparams=batch_tokens=5", "batch_tokens=5, longest"),
            (
                "--hparams=d_model=60000",
                "needs 2,077 GB of memory with its optimizer",
            ),
            ("--data_dir=nowhere", "kt-datagen --problem=copy"),
            ("--batch_tokens=128,dropout=0.5", "auto, or an integer from 1"),
            ("--profile_steps=9,8", "--profile_steps=10,20"),
            ("--warm_start_from=nowhere", "warm_start_from='nowhere'"),
            ("--warm_start_from=\udcff", "be UTF-8, because run.json records"),
            ("--data_dir=\udcff", "Received: data_dir='\\udcff' in"),
            ("--early_stopping_metric=f1", "bleu, chrf. Use one of these or"),
            ("--measure=f1", "`measure` must be a metric of the problem."),
        ],
    )
    def test_wrong_flag_is_one_line_and_writes_nothing(
        self, copy_data, tmp_path, capsys, flag, expected
    ):
        flags = flags_of(tmp_path / "run", copy_data, flag)
        assert_fails(capsys, [expected], trainer, *flags)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("folder", ["", "copy"])
    def test_data_are_not_generated_in_the_directory_of_the_run(
        self, tmp_path, capsys, folder
    ):
        """The lock of the run would keep the generation waiting for ever."""
        flags = flags_of(tmp_path / folder, tmp_path, "--generate_data")
        words = ["must not be a directory that data are generated in"]
        assert_fails(capsys, words, trainer, *flags)
        assert os.listdir(tmp_path) == []

    def test_a_manifest_with_another_size_of_the_vocabulary_is_refused(
        self, copy_data, tmp_path, capsys
    ):
        data = shutil.copytree(copy_data, tmp_path / "data")
        path = data / "copy" / "manifest.json"
        manifest = json.loads(path.read_text())
        right = manifest["vocab_size"]
        path.write_text(json.dumps({**manifest, "vocab_size": right + 1}))
        words = [f"where vocab_size must be {right} but is {right + 1}"]
        flags = flags_of(tmp_path / "run", data)
        assert_fails(capsys, words, trainer, *flags)
        assert os.listdir(tmp_path) == ["data"]

    @pytest.mark.parametrize("name", ["metrics.csv", "learning_curve.png"])
    def test_a_file_without_a_run_stays(
        self, copy_data, tmp_path, capsys, name
    ):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / name).write_text("mine")
        flags = flags_of(tmp_path / "run", copy_data)
        assert_fails(capsys, [f"holds other '{name}'"], trainer, *flags)
        assert os.listdir(tmp_path / "run") == [name]

    @pytest.mark.parametrize("name", ["dev.source.txt", "dev.target.txt"])
    def test_missing_dev_text_is_refused(
        self, copy_data, tmp_path, capsys, name
    ):
        data = shutil.copytree(copy_data, tmp_path / "data")
        os.remove(data / "copy" / name)
        flags = flags_of(tmp_path / "run", data)
        assert_fails(capsys, [name], trainer, *flags)
        assert os.listdir(tmp_path) == ["data"]

    def test_warm_start_with_other_ties_is_refused_by_name(
        self, copy_data, tmp_path, capsys
    ):
        other = RunDirectory.create(
            str(tmp_path / "other"),
            {"problem": "copy"},
            registry.get_hparams("transformer_tiny"),
            registry.get_problem("copy", copy_data).vocabulary.model_bytes,
        )
        flag = f"--warm_start_from={other.path}"
        hparams = "--hparams=tied_embeddings=target"
        flags = flags_of(tmp_path / "run", copy_data, flag, hparams)
        words = ["tied_embeddings='all'", "this run has 'target'"]
        assert_fails(capsys, words, trainer, *flags)
        assert not os.path.exists(tmp_path / "run")

    def test_warm_start_from_a_run_without_checkpoints_is_refused(
        self, make_run, copy_data, tmp_path, capsys
    ):
        flag = f"--warm_start_from={make_run().path}"
        flags = flags_of(tmp_path / "run", copy_data, flag)
        flags += ("--hparams=num_layers=1,d_model=64,d_ff=128",)
        assert_fails(capsys, ["holds no checkpoint"], trainer, *flags)

    def test_contradiction_is_one_line_with_both_values(
        self, trained_run, copy_data, capsys
    ):
        flags = (f"--output_dir={trained_run}", f"--data_dir={copy_data}")
        words = ["'copy_rev'", "started with 'copy'"]
        assert_fails(capsys, words, trainer, *flags, "--problem=copy_rev")

    def test_a_long_sentence_of_dev_gives_advice_that_helps(self, copy_data):
        problem = registry.get_problem("copy", copy_data)
        longest = max(side.lengths.max() for side in problem.token_pairs("dev"))
        with pytest.raises(ValueError, match="Raise batch_.* out of dev"):
            problem.evaluation_batches(longest - 1)
        assert len(problem.evaluation_batches(longest))

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_directory_that_may_only_be_read_is_refused(
        self, copy_data, tmp_path, capsys
    ):
        tmp_path.chmod(0o500)
        flags = flags_of(tmp_path, copy_data)
        assert_fails(capsys, ["may not be written to"], trainer, *flags)


class AutoTest:
    def test_auto_leaves_room_for_the_longest_sentence_of_dev(
        self, tmp_path, copy_data, capsys, monkeypatch
    ):
        """Neither the number of the set nor the memory makes dev too long."""
        monkeypatch.setattr(
            largest_batch, "largest_batch_tokens", lambda *arguments: 1
        )
        flags = (f"--hparams={TINY}".replace("=512", "=5"),)
        flags += ("--batch_tokens=auto", "--train_steps=1")
        path = str(tmp_path / "run")
        assert call(trainer, *flags_of(path, copy_data, *flags)) == 0
        problem = registry.get_problem("copy", copy_data)
        longest = max(side.lengths.max() for side in problem.token_pairs("dev"))
        assert RunDirectory(path).hparams.batch_tokens == longest


class BothDirectionsFirstTest:
    @pytest.mark.slow
    def test_one_direction_starts_anew_from_the_weights_of_both(
        self, copy_data, tmp_path, capsys
    ):
        """The commands of docs/training.md, which need no Python."""
        hparams = f"--hparams={TINY},warmup_steps=10"
        both, one = (str(tmp_path / name) for name in ("both", "one"))
        flags = (hparams, "--problem=copy_both", "--train_steps=3")
        assert call(trainer, *flags_of(both, copy_data, *flags)) == 0
        flags = (hparams, "--train_steps=1", f"--warm_start_from={both}")
        assert call(trainer, *flags_of(one, copy_data, *flags)) == 0
        assert "Warning" not in capsys.readouterr().err
        high = (f"{hparams},peak_learning_rate=0.5", *flags[1:])
        path = str(tmp_path / "high")
        assert call(trainer, *flags_of(path, copy_data, *high)) == 0
        warning = f"peaks at 5.00e-01, and that of {both} at 7.91e-02."
        assert warning in capsys.readouterr().err
        first, last = RunDirectory(one), RunDirectory(both)
        assert last.problem_name == "copy_both"
        assert first.record["warm_start_from"] == both
        assert first.record["warm_start_step"] == 3
        # The optimizer and the schedule begin again with the first update.
        (step,) = first.checkpoints.steps
        arrays = first.checkpoints.load(step)
        assert step == arrays["optimizer/iteration"] == 1
        assert (arrays["progress/epoch"], arrays["progress/batch"]) == (0, 1)
        rates = [
            float(metrics(run)[0]["learning_rate"]) for run in (first, last)
        ]
        assert rates[1] == pytest.approx(3 * rates[0], rel=1e-5)
        # One update away from the weights of both directions.
        before = last.checkpoints.load(3)
        for name, weight in arrays.items():
            if name.startswith("model/"):
                np.testing.assert_allclose(
                    weight, before[name], rtol=0, atol=1.01 * rates[0]
                )


class MemoryTest:
    @pytest.mark.parametrize(
        "changes",
        [
            "d_k=5,d_v=7",
            "optimizer=adafactor",
            "num_layers=2",
            "num_decoder_layers=1",
            "tied_embeddings=none",
        ],
    )
    def test_estimate_is_the_size_of_the_weights_and_moments(self, changes):
        hparams = registry.get_hparams("transformer_tiny")
        hparams = parse_overrides(hparams, changes)
        copies = 1 if hparams.optimizer == "adafactor" else 3
        model = build_transformer(hparams.model, 300)
        assert (
            count_minimum_bytes(hparams, 300)
            == 4 * copies * model.count_params()
        )


class LockTest:
    def test_a_second_trainer_is_one_line_and_changes_nothing(
        self, trained_run, capsys
    ):
        before = sorted(os.listdir(trained_run))
        with start.lock_run(trained_run):
            words = ["Another process is writing", trained_run]
            assert_fails(capsys, words, trainer, f"--output_dir={trained_run}")
        assert sorted(os.listdir(trained_run)) == before

    def test_other_machines_of_the_training_share_the_directory(self, tmp_path):
        with start.lock_run(str(tmp_path)):
            with start.lock_run(str(tmp_path), is_chief=False):
                pass


class FailedStartTest:
    def test_a_run_without_a_checkpoint_begins_anew(
        self, make_run, copy_data, capsys
    ):
        """Other hparams and another problem than at the failed start."""
        run = make_run(d_model=32)
        with open(run.file("metrics.csv"), "w") as file:
            file.write("step,train_loss\n100,9.0\n")
        flags = flags_of(run.path, copy_data, f"--hparams={TINY}")
        flags += ("--problem=copy_rev", "--train_steps=2")
        assert call(trainer, *flags) == 0, capsys.readouterr().err
        corrected = RunDirectory(run.path)
        assert corrected.hparams.d_model == 16
        assert corrected.problem_name == "copy_rev"
        assert {row["step"] for row in metrics(corrected)} == {"2"}
        # Now it has a checkpoint.
        capsys.readouterr()
        words = ["'copy'", "started with 'copy_rev'"]
        flags += ("--problem=copy",)
        assert_fails(capsys, words, trainer, *flags)

    def test_a_resumed_run_keeps_its_measure(self, tmp_path, copy_data, capsys):
        path = str(tmp_path / "run")
        flags = flags_of(path, copy_data, f"--hparams={TINY}")
        assert call(trainer, *flags, "--train_steps=1", "--measure=chrf") == 0
        assert call(trainer, *flags, "--train_steps=2") == 0
        run = RunDirectory(path)
        assert run.record["measure"] == "chrf"
        recorded = {e.step: e.score for e in run.checkpoints.evaluations}
        logged = {
            int(row["step"]): float(row["dev_chrf"]) for row in evaluations(run)
        }
        assert recorded == logged
        capsys.readouterr()
        words = ["measure=bleu", "started with chrf"]
        assert_fails(capsys, words, trainer, *flags, "--measure=bleu")

    def test_a_run_is_not_resumed_with_other_data(
        self, tmp_path, copy_data, capsys
    ):
        path = str(tmp_path / "run")
        flags = flags_of(path, copy_data, f"--hparams={TINY}")
        assert call(trainer, *flags, "--train_steps=1") == 0
        moved = shutil.copytree(copy_data, tmp_path / "moved")
        flags = (f"--output_dir={path}", f"--data_dir={moved}")
        assert call(trainer, *flags, "--train_steps=1") == 0
        capsys.readouterr()
        text = (moved / "copy" / "manifest.json").read_text()
        manifest = json.loads(text)
        manifest["made_from"]["files"] = [{"name": "a.en", "sha256": "0"}]
        (moved / "copy" / "manifest.json").write_text(json.dumps(manifest))
        words = ["their files differ", path, "Restore the data"]
        assert_fails(capsys, words, trainer, *flags, "--train_steps=1")
        manifest = json.loads(text)
        manifest["splits"]["train"]["source_tokens"] -= 1
        (moved / "copy" / "manifest.json").write_text(json.dumps(manifest))
        words = ["their splits differ"]
        assert_fails(capsys, words, trainer, *flags, "--train_steps=1")
        manifest = json.loads(text)
        manifest["made_from"]["settings"] = {"train_alignments": "sha256 0"}
        (moved / "copy" / "manifest.json").write_text(json.dumps(manifest))
        words = ["their settings differ"]
        assert_fails(capsys, words, trainer, *flags, "--train_steps=1")
        # Runs of earlier versions record no settings.
        record = tmp_path / "run" / "run.json"
        earlier = json.loads(record.read_text())
        del earlier["data"]["settings"]
        record.write_text(json.dumps(earlier))
        assert call(trainer, *flags, "--train_steps=1") == 0

    def test_batch_of_the_failed_start_does_not_replace_auto(self, make_run):
        run = make_run(batch_tokens=20_000)
        sizes = [
            _make_hparams(
                None,
                {"hparams_set": "transformer_tiny"},
                StartOptions(overrides="d_ff=8", batch_tokens="auto"),
                run,
                is_new,
            ).batch_tokens
            for is_new in (True, False)
        ]
        assert sizes == [MAX_TOKENS, 20_000]

    @pytest.mark.parametrize("is_new", [True, False])
    def test_changes_without_a_set_are_of_the_hparams_of_the_run(
        self, make_run, is_new
    ):
        run = make_run(d_ff=48)
        hparams = _make_hparams(
            None,
            {"hparams_set": "transformer_tiny"},
            StartOptions(overrides="train_steps=7"),
            run,
            is_new,
        )
        assert hparams == dataclasses.replace(run.hparams, train_steps=7)

    def test_a_signal_before_the_first_update_promises_no_checkpoint(
        self, copy_data, tmp_path, capsys, monkeypatch
    ):
        plan = Epochs.plan

        def stop_and_plan(epochs, number):
            signal.raise_signal(signal.SIGTERM)
            return plan(epochs, number)

        monkeypatch.setattr(Epochs, "plan", stop_and_plan)
        flags = flags_of(tmp_path / "run", copy_data, f"--hparams={TINY}")
        assert call(trainer, *flags) == 128 + signal.SIGTERM
        message = "No update was done. The same command begins the run."
        assert message in capsys.readouterr().err
        assert not RunDirectory(tmp_path / "run").checkpoints.steps

    def test_a_resumed_run_needs_its_warm_start_no_more(
        self, trained_run, capsys
    ):
        flags = (f"--output_dir={trained_run}", "--train_steps=1000")
        assert call(trainer, *flags, "--warm_start_from=removed") == 0
        assert '{"step": 1000' in capsys.readouterr().out

    def test_a_failed_start_keeps_its_warm_start(
        self, make_run, copy_data, capsys
    ):
        run = make_run()
        record = {**run.record, "warm_start_from": "/gone"}
        model_bytes = run.vocabulary.model_bytes
        run = RunDirectory.create(run.path, record, run.hparams, model_bytes)
        flags = (f"--output_dir={run.path}", "--hparams_set=transformer_tiny")
        assert_fails(capsys, ["warm_start_from='/gone'"], trainer, *flags)

    def test_a_worker_waits_until_the_chief_has_begun_anew(
        self, make_run, copy_data, monkeypatch
    ):
        """The stale `run.json` of a failed start is not an error at once."""
        run = make_run()
        problem = registry.get_problem("copy", copy_data)
        record = {**run.record, "random_seed": 7}
        settings = (run.path, problem, record, run.hparams, "bleu")
        monkeypatch.setattr(start, "SECONDS_TO_WAIT", 0.2)
        with pytest.raises(ValueError, match="random_seed=7"):
            start.resume_run(*settings)
        start.create_run(*settings)
        resumed = start.resume_run(*settings)
        assert resumed.record["random_seed"] == 7
