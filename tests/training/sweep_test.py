import json
import os

import numpy as np
import pytest

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.errors import parse_changes
from keras_transformer.hparam import HParams
from keras_transformer.problem import Problem
from keras_transformer.runs.data_record import describe_data
from keras_transformer.runs.metrics_table import MetricsTable
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.scores import record_scores
from keras_transformer.scoring.translations import bleu_report
from keras_transformer.search.options import DecodeOptions
from keras_transformer.training.sweep.rows import Row
from keras_transformer.training.sweep.rows import make_rows
from keras_transformer.training.sweep.sweep import Sweep
from keras_transformer.training.sweep.sweep import select_scores

COPY = registry.get_problem("copy", "data")
HPARAMS = HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16, alpha=1.4)
GOOD = bleu_report(["a b c d e"], ["a b c d e"])
POOR = bleu_report(["a b c d e"], ["a b c d f"])
LOWERCASE = bleu_report(["a b c d e"], ["a b c d f"], lowercase=True)
INTL = bleu_report(["a b c d e"], ["a b c d f"], tokenize="intl")
OWN = DecodeOptions.from_hparams(HPARAMS)


class Repeated(Problem):
    """Has the same text on both sides, which data of the name differ in."""

    name = "copy"
    vocab_size = 266
    text = ""

    def text_pairs(self, split, tmp_dir):
        yield self.text, self.text


class Commands:
    """Takes the place of the processes of kt-trainer and kt-evaluate."""

    def __init__(self):
        self.calls = []
        self.flags = {}  # the flags of the last call of each command
        self.failing = None  # name of a row
        self.record = {"problem": "copy"}
        self.missing = 0  # updates that the trainer leaves out
        self.scores = {"bleu": 40.0}

    def __call__(self, command, path, flags):
        name = os.path.basename(path)
        self.calls.append((command, name))
        self.flags[command] = flags
        if name == self.failing:
            return "kt-trainer ended with status 2. No memory."
        flags = dict(flag.removeprefix("--").split("=", 1) for flag in flags)
        getattr(self, command)(path, flags)
        return None

    def trainer(self, path, flags):
        hparams = registry.get_hparams(flags["hparams_set"])
        changes = parse_changes(hparam.HParams, flags["hparams"], "hparams")
        step = changes.get("train_steps", 5) - self.missing
        hparams = hparam.parse_overrides(hparams, flags["hparams"])
        run = RunDirectory.create(path, self.record, hparams, b"")
        run.checkpoints.save(step, {"model/bias": np.zeros(5)})
        figures = {"step": step, "epoch": 1, "seconds": 60.0}
        figures |= {"dev_loss": 2.0, "dev_perplexity": 10 * hparams.dropout}
        MetricsTable(run.file("metrics.csv"), 0).add(figures)

    def evaluate(self, path, flags):
        os.makedirs(os.path.join(path, "scores"))
        entry = {"step": 7, "num_pairs": 1, "decode": {}, "lines": []}
        name = os.path.join(path, "scores", f"{flags['split']}.json")
        with open(name, "w") as file:
            json.dump([entry | self.scores], file)


@pytest.fixture
def commands():
    return Commands()


@pytest.fixture
def sweep(tmp_path):
    return sweep_on(COPY, tmp_path)


@pytest.fixture
def make_sweep(tmp_path):
    """Function that makes a sweep on data of its own in one directory."""

    def make(name):
        problem = Repeated(str(tmp_path / name))
        if not os.path.exists(problem.directory):
            problem.text = name
            problem.generate(None)
        return sweep_on(problem, tmp_path / "sweep")

    (tmp_path / "sweep").mkdir()
    return make


def sweep_on(problem, path, overrides="", train_steps=7):
    models = [
        Row(f"dropout={value}", problem, "transformer_base", {"dropout": value})
        for value in (0.2, 0.3)
    ]
    rows = make_rows(
        models,
        "tiny",
        overrides,
        train_steps,
        [0],
    )
    return Sweep(str(path), "title", rows, ("dev",), "bleu")


class SweepTest:
    def test_every_row_is_trained_and_evaluated(self, sweep, commands):
        assert sweep.run(sweep.rows, commands) == {}
        assert commands.calls == [
            ("trainer", "dropout=0.2"),
            ("evaluate", "dropout=0.2"),
            ("trainer", "dropout=0.3"),
            ("evaluate", "dropout=0.3"),
        ]
        text = open(sweep.file("table.md")).read()
        assert "| 7 | 1.0 | 5e-06 | 2.00 | 40.0 |" in text
        assert "| 7 | 1.0 | 5e-06 | 3.00 | 40.0 |" in text

    def test_a_failed_row_does_not_stop_the_others(self, sweep, commands):
        commands.failing = "dropout=0.2"
        failures = sweep.run(sweep.rows, commands)
        assert list(failures) == ["dropout=0.2"]
        assert ("evaluate", "dropout=0.3") in commands.calls
        text = open(sweep.file("table.md")).read()
        assert "dropout=0.2 failed: kt-trainer ended with status 2" in text

    def test_the_next_call_does_what_is_left(self, sweep, commands):
        commands.failing = "dropout=0.3"
        sweep.run(sweep.rows, commands)
        commands.failing, commands.calls = None, []
        assert sweep.run(sweep.rows, commands) == {}
        assert {name for _, name in commands.calls} == {"dropout=0.3"}

    def test_a_row_with_updates_to_do_has_no_figures(self, sweep, commands):
        commands.missing = 2
        sweep.run(sweep.rows[:1], commands)
        assert sweep.list_commands(sweep.rows[0])
        assert open(sweep.file("table.md")).read() == "title\n"

    def test_a_measure_that_is_not_given_is_left_out(self, sweep, commands):
        commands.scores = {"exact_match": 1.0}
        sweep.run(sweep.rows[:1], commands)
        assert not sweep.list_commands(sweep.rows[0])
        text = open(sweep.file("table.md")).read()
        assert "dev perplexity" in text and "BLEU" not in text

    def test_data_dir_and_usr_dir_go_to_both_commands(self, sweep, commands):
        sweep.run(
            sweep.rows, commands, ["--usr_dir=mine"], ["--precision=float32"]
        )
        shared = ["--data_dir=data", "--usr_dir=mine"]
        assert commands.flags["evaluate"] == ["--split=dev", *shared]
        assert {*shared, "--precision=float32"} < set(commands.flags["trainer"])

    def test_rows_on_other_data_are_refused(self, make_sweep, commands):
        sweep, other = make_sweep("data"), make_sweep("other")
        problem = sweep.rows[0].problem
        commands.record = {
            "problem": "copy",
            "data_dir": problem.data_dir,
            "data": describe_data(problem),
            **problem.vocabularies.hashes,
        }
        sweep.run(sweep.rows, commands)
        table = open(sweep.file("table.md")).read()
        commands.calls = []
        words = "The splits of the data in .*other/copy are.*=0.2 "
        words += "records.*"
        with pytest.raises(ValueError, match=words + "--output_dir"):
            other.run(other.rows, commands)
        assert commands.calls == []
        assert open(sweep.file("table.md")).read() == table
        os.rename(problem.data_dir, problem.data_dir + "_moved")
        assert make_sweep("data_moved").run([], commands) == {}

    def test_rows_with_other_weights_are_refused(
        self, make_sweep, commands, monkeypatch
    ):
        sweep = make_sweep("data")
        problem = sweep.rows[0].problem
        commands.record = {
            "problem": "copy",
            "data": describe_data(problem),
            "corpus_weights": [],
        }
        sweep.run(sweep.rows, commands)
        monkeypatch.setattr(type(problem), "corpus_weights", ["news:2.0"])
        with pytest.raises(ValueError, match="The corpus_weights of the data"):
            sweep.run(sweep.rows, commands)

    @pytest.mark.parametrize("minutes, is_finished", [(1, True), (1.1, False)])
    def test_a_row_by_the_clock_is_finished_after_its_minutes(
        self, tmp_path, commands, minutes, is_finished
    ):
        sweep = sweep_on(COPY, tmp_path, f"train_minutes={minutes}", None)
        sweep.run(sweep.rows[:1], commands)  # of 60 seconds
        results, _ = sweep.read_results(sweep.rows[0])
        assert results.get("steps") == ("5" if is_finished else None)

    @pytest.mark.parametrize("train_steps,seed", [(8, 0), (7, 1)])
    def test_a_row_of_another_recipe_or_seed_is_trained_again(
        self, sweep, commands, train_steps, seed
    ):
        sweep.run(sweep.rows[:1], commands)
        others = make_rows(
            sweep.rows[:1],
            "tiny",
            "",
            train_steps,
            [seed],
        )
        assert not sweep.list_commands(sweep.rows[0])
        assert sweep.list_commands(others[0])


class SelectScoresTest:
    def test_other_options_checkpoints_and_texts_do_not_count(self, tmp_path):
        path = str(tmp_path / "vocab.model")
        model_bytes = train_subwords(["some words"], 270, path).model_bytes
        record = {"problem": "copy"}
        run = RunDirectory.create(
            str(tmp_path / "run"), record, HPARAMS, model_bytes
        )
        for split, step, options, report in (
            ("dev", 20, OWN, GOOD),
            ("dev", 20, OWN.replace(beam_size=1), POOR),
            ("dev", 20, OWN.replace(mbr_samples=2), POOR),
            ("dev", 20, OWN.replace(temperature=0.8, top_k=10), POOR),
            ("dev", 20, OWN, LOWERCASE),
            ("dev", 20, OWN, INTL),
            ("dev", 10, OWN, POOR),
            ("wmt14", 20, OWN, POOR),
            ("test", 20, OWN, INTL),
        ):
            record_scores(run, split, step, 1, options, report)
        scores = select_scores(run, 20, registry.get_problem("copy"))
        assert scores.keys() == {"dev"}
        assert scores["dev"]["bleu"] == GOOD.scores["bleu"]
