import io
import math
import os
import subprocess
import sys
import types

import keras
import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import (
    EventAccumulator,
)

from keras_transformer.data.batches.batch_plan import plan_batches
from keras_transformer.data.batches.update_batches import Layout
from keras_transformer.data.batches.update_batches import UpdateSize
from keras_transformer.hparam import HParams
from keras_transformer.runs.metrics_table import COSTS
from keras_transformer.runs.metrics_table import read_rows
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.backends.cost import count_training_flops
from keras_transformer.training.log import EventFile
from keras_transformer.training.log import TrainingCost
from keras_transformer.training.log import TrainingLog
from keras_transformer.training.log import get_known_costs

# Five rows, of which one is empty; 17 of 34 positions hold a token.
SIZE = UpdateSize(np.array([[2, 1], [2, 1], [3, 4], [2, 2]]), 5, 3, 4)
FIGURES = {"loss_sum": 20.0, "consistency_sum": 6.0, "gradient_norm": 1.0}
FIGURES["learning_rate"] = 1e-3
PROGRESS = {"step": 200, "epoch": 3, "batch": 17, "seconds": 12.3456}
SAMPLES = [("ja", "yes", "yeah")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def run(tmp_path):
    record = {"problem": "copy"}
    return RunDirectory.create(str(tmp_path), record, HParams(), b"")


def rows(run):
    return read_rows(run.file("metrics.csv"))


def fill(log):
    """Makes a log write everything that it can write."""
    for gradient_norm in (1.0, 4.0):
        log.count_update(SIZE, {**FIGURES, "gradient_norm": gradient_norm})
        log.count_time(1.0, waited=0.25)
    log.write_training(PROGRESS, 1000, 2**30)
    log.write_evaluation(PROGRESS, {"dev_loss": 2.0, "dev_bleu": 31.4})
    log.write_samples(200, SAMPLES)


class TrainingLogTest:
    def test_error_of_a_full_disk_names_the_table(self, run, limit_files):
        log = TrainingLog(run, 0)
        fill(log)
        before = rows(run)
        limit_files(os.path.getsize(run.file("metrics.csv")) + 20)
        expected = "Cannot write .*metrics.csv"
        with pytest.raises(OSError, match=expected):
            fill(log)
        assert rows(run) == before

    def test_samples_are_complete_or_the_earlier_ones(self, run, limit_files):
        log = TrainingLog(run, 0)
        log.write_samples(200, SAMPLES)
        limit_files(20)
        with pytest.raises(OSError, match="Cannot write "):
            log.write_samples(200, [("a", "b", "other")])
        with open(run.file("samples", "step-200.txt")) as file:
            assert "translation yeah" in file.read()
        assert os.listdir(run.file("samples")) == ["step-200.txt"]

    def test_row_covers_the_updates_since_the_last_row(self, run):
        log = TrainingLog(run, 0)
        for _ in range(2):
            fill(log)
        first, _, second, _ = rows(run)
        assert first == second
        figures = {name: float(first[name]) for name in first if first[name]}
        assert figures == {
            "step": 200,
            "epoch": 3,
            "seconds": 12.346,
            "learning_rate": 1e-3,
            "train_loss": 2.5,
            "gradient_norm": 2.5,
            "source_tokens": 9.0,
            "target_tokens": 8.0,
            "tokens_per_second": 8.0,
            "padding_share": 0.5143,
            "input_wait_share": 0.25,
            "memory_bytes": 2**30,
        }

    @pytest.mark.parametrize("norms", [[4.0], [4.0, 2.0], []])
    @pytest.mark.parametrize("overflow", [math.inf, math.nan])
    def test_the_norm_is_the_mean_of_updates_that_are_not_skipped(
        self, run, norms, overflow
    ):
        log = TrainingLog(run, 0)
        for norm in (*norms, overflow):
            log.count_update(SIZE, {**FIGURES, "gradient_norm": norm})
        log.count_time(1.0)
        assert all(map(math.isfinite, log.counts.values()))
        log.write_training(PROGRESS, 1000, 2**30)
        (row,) = rows(run)
        expected = str(np.mean(norms)) if norms else ""
        assert row["gradient_norm"] == expected
        assert float(row["train_loss"]) == 2.5

    @pytest.mark.parametrize("consistency", ["simcut", "r_drop"])
    def test_consistency_training_also_shows_the_divergence(
        self, run, consistency
    ):
        run.hparams = HParams(consistency=consistency)
        fill(TrainingLog(run, 0))
        assert float(rows(run)[0]["train_consistency"]) == 0.75
        assert float(rows(run)[0]["train_loss"]) == 2.5

    def test_counts_continue_and_those_of_an_earlier_version_are_left_out(
        self, run
    ):
        first = TrainingLog(run, 0)
        first.count_update(SIZE, FIGURES)
        first.count_time(1.0)
        second = TrainingLog(run, 0, counts=first.counts)
        assert second.counts == first.counts
        earlier = {n: first.counts[n] for n in ("updates", "loss", "tokens")}
        third = TrainingLog(run, 0, counts=earlier)
        assert not any(third.counts.values())

    def test_line_shows_the_progress(self, run, capsys):
        fill(TrainingLog(run, 0))
        first, second = capsys.readouterr().err.splitlines()
        assert first == (
            "step 200/1,000  loss 2.5000  lr 1.00e-03  8 tokens/s  0:00:49 left"
        )
        assert second == "step 200  dev_loss 2  dev_bleu 31.4"

    def test_terminal_shows_a_bar(self, run, monkeypatch):
        terminal = Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        log = TrainingLog(run, 0)
        fill(log)
        log.close()
        text = terminal.getvalue()
        assert "200/1000" in text
        assert "loss 2.5000  lr 1.00e-03  8 tokens/s" in text
        assert "step 200  dev_loss 2  dev_bleu 31.4\n" in text

    @pytest.mark.slow
    def test_terminal_shows_a_bar_again_when_training_goes_on(
        self, run, monkeypatch
    ):
        terminal = Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        log = TrainingLog(run, 0)
        fill(log)
        log.close()
        shown = len(terminal.getvalue())
        fill(log)
        log.close()
        assert "200/1000" in terminal.getvalue()[shown:]

    def test_description_names_model_data_devices_and_rate(self, run, capsys):
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5)])
        engine = types.SimpleNamespace(
            model=model, precision="bfloat16", compiles_each_shape=True
        )
        plan = plan_batches(np.array([3, 4]), np.array([5, 4]), 10)
        layout = Layout(3, 2, 0, 2)
        TrainingLog(run, 0).describe(plan, layout, engine, 7e-4)
        line = capsys.readouterr().err
        assert "20 parameters, bfloat16" in line
        assert "Tokens per update: 7 source, 9 target." in line
        assert "Devices: 2. Rounds per update: 3." in line
        assert "Peak learning rate: 7.00e-04" in line
        assert "in 1 shape, " in line
        assert "packed=true" not in line

    def test_it_says_how_to_compile_once(self, run, capsys):
        model = types.SimpleNamespace(count_params=lambda: 20)
        engine = types.SimpleNamespace(
            model=model, precision="float32", compiles_each_shape=True
        )
        lengths = np.repeat([2, 9], 50)
        plan = plan_batches(lengths, lengths, 10)
        for compiles in (True, False):
            engine.compiles_each_shape = compiles
            TrainingLog(run, 0).describe(plan, Layout(1, 1, 0, 1), engine, 1.0)
            says_so = "With --hparams=packed=true" in capsys.readouterr().err
            assert says_so == compiles

    def test_evaluations_include_those_before_a_resume(self, run):
        fill(TrainingLog(run, 0))
        (figures,) = TrainingLog(run, 200).evaluations
        assert figures["dev_bleu"] == "31.4"
        assert "train_loss" not in figures
        assert TrainingLog(run, 199).evaluations == []

    def test_later_rows_are_dropped_at_a_resume(self, run):
        fill(TrainingLog(run, 0))
        log = TrainingLog(run, 199)
        log.write_evaluation(PROGRESS, {"dev_loss": 3.0})
        assert [row["dev_loss"] for row in rows(run)] == ["3.0"]

    def test_curve_and_samples_are_written(self, run):
        fill(TrainingLog(run, 0))
        assert os.path.getsize(run.file("learning_curve.png")) > 0
        with open(run.file("samples", "step-200.txt")) as file:
            assert file.read() == (
                "source      ja\nreference   yes\ntranslation yeah\n\n"
            )

    def test_only_the_chief_writes(self, run, capsys):
        before = sorted(os.listdir(run.path))
        log = TrainingLog(run, 0, is_chief=False)
        fill(log)
        log.close()
        assert sorted(os.listdir(run.path)) == before
        assert capsys.readouterr() == ("", "")

    @pytest.mark.slow
    def test_log_imports_no_tensorflow(self, run):
        folder = os.path.dirname(__file__)
        script = (
            "import sys\n"
            f"sys.path.insert(0, {folder!r})\n"
            "from keras_transformer.runs.run_directory import RunDirectory\n"
            "from keras_transformer.training.log import TrainingLog\n"
            "from training_log_test import fill\n"
            f"log = TrainingLog(RunDirectory({run.path!r}), 0)\n"
            "fill(log)\n"
            "log.close()\n"
            "print('tensorflow' in sys.modules)\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "KERAS_BACKEND": "jax"},
        )
        assert result.stdout == "False\n"
        assert os.listdir(run.file("tensorboard"))
        assert len(rows(run)) == 2


COST_HPARAMS = HParams(num_layers=1, d_model=4, d_ff=8, num_heads=2)
COST_SIZE = UpdateSize(np.array([[6, 2], [3, 4]]), 6, 6, 4)


def make_cost(device="", name="", progress=None):
    engine = types.SimpleNamespace(
        hparams=COST_HPARAMS,
        num_replicas=8,
        device_name=lambda: name,
    )
    progress = progress or dict.fromkeys(COSTS, 0.0)
    return TrainingCost(progress, engine, 10, device)


class TrainingCostTest:
    def test_time_counts_for_all_devices(self):
        cost = make_cost("P100")
        for hours in (4, 8):
            cost.count_time(hours * 3600)
        assert f"{cost.progress['device_flops']:.1e}" == "3.3e+18"

    def test_a_gpu_is_known_by_its_name_unless_the_user_names_it(self):
        assert make_cost(name="Tesla K80").flops == 2.8e12
        assert make_cost("M40", name="Tesla K80").flops == 6e12

    def test_an_unknown_device_leaves_the_paper_formula_empty(self):
        cost = make_cost(name="cpu")
        cost.count_time(1.0)
        cost.count_update(COST_SIZE)
        assert get_known_costs(cost.progress).keys() == set(COSTS[1:])

    def test_tokens_and_positions_are_counted_apart(self):
        cost = make_cost()
        for _ in range(2):
            cost.count_update(COST_SIZE)
        tokens = count_training_flops(COST_HPARAMS.model, 10, COST_SIZE.lengths)
        assert cost.progress["token_flops"] == 2 * tokens
        row = count_training_flops(COST_HPARAMS.model, 10, [(6, 4)])
        assert cost.progress["position_flops"] == 2 * 6 * row

    def test_a_cost_that_nobody_counted_stays_unknown(self):
        cost = make_cost(progress=dict.fromkeys(COSTS, math.nan))
        cost.count_update(COST_SIZE)
        assert get_known_costs(cost.progress) == {}

    def test_figures_of_a_table_have_six_digits(self):
        assert get_known_costs({"token_flops": 1234567890.0}) == {
            "token_flops": pytest.approx(1234570000.0)
        }


def write_events(directory, last_step, scalars):
    """Writes the scalars of each step as a single process."""
    file = EventFile(str(directory), last_step)
    for step, value in scalars.items():
        file.write(step, {"loss": value, "lr": 2 * value})


def read_events(directory, name):
    events = EventAccumulator(str(directory)).Reload().Scalars(name)
    return {event.step: event.value for event in events}


class EventFileTest:
    def test_error_of_a_full_disk_names_the_file(self, tmp_path, limit_files):
        file = EventFile(str(tmp_path), 0)
        limit_files(1000)
        with pytest.raises(OSError, match="Cannot write .*events.out"):
            for step in range(100):
                file.write(step, {"loss": 1.0})

    def test_tensorboard_reads_the_scalars_back(self, tmp_path):
        write_events(tmp_path, 0, {1: 0.5, 2: 0.25})
        assert read_events(tmp_path, "loss") == {1: 0.5, 2: 0.25}
        assert read_events(tmp_path, "lr") == {1: 1.0, 2: 0.5}

    def test_repeated_steps_replace_the_earlier_ones(self, tmp_path):
        write_events(tmp_path, 0, {1: 0.5, 2: 0.25, 3: 0.125})
        write_events(tmp_path, 1, {2: 8.0})
        assert read_events(tmp_path, "loss") == {1: 0.5, 2: 8.0}

    def test_each_write_reaches_the_file_at_once(self, tmp_path):
        file = EventFile(str(tmp_path), 0)
        written = {}
        for step, value in ((1, 0.5), (2, 0.25)):
            file.write(step, {"loss": value})
            written[step] = value
            assert read_events(tmp_path, "loss") == written

    def test_every_process_writes_its_own_file(self, tmp_path):
        for last_step in (0, 1):
            write_events(tmp_path, last_step, {})
        assert len(os.listdir(tmp_path)) == 2
