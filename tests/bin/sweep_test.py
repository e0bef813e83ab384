import json
import os

import numpy as np
import pytest

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.bin import sweep
from keras_transformer.bin.kt_sweep import results as sweep_results
from keras_transformer.bin.kt_sweep.results import read_results
from keras_transformer.bin.kt_sweep.results import select_scores
from keras_transformer.bin.kt_sweep.rows import Row
from keras_transformer.bin.kt_sweep.rows import make_rows
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
def commands(monkeypatch):
    commands = Commands()
    monkeypatch.setattr(sweep, "run_command", commands)
    return commands


def make(path, problem=COPY, overrides="", train_steps=7):
    models = [
        Row(f"dropout={value}", problem, "transformer_base", {"dropout": value})
        for value in (0.2, 0.3)
    ]
    return make_rows(models, str(path), "tiny", overrides, train_steps, [0])


def run(rows, *flags, number=2):
    """Runs the first rows of a sweep; returns why some failed, and the table.

    `number` is that of the rows to run.
    """
    output_dir = os.path.dirname(rows[0].path)
    for name in sweep.FLAGS:
        sweep.FLAGS[name].unparse()
    sweep.FLAGS(["kt-sweep", f"--output_dir={output_dir}", *flags])
    names = [row.name for row in rows[:number]]
    failures, table = sweep.run_rows(rows, names, ["dev"])
    assert table == read_table(rows)
    return failures, table


def read_table(rows):
    path = os.path.join(os.path.dirname(rows[0].path), "table.md")
    with open(path, encoding="utf-8") as file:
        return file.read()


@pytest.fixture
def rows(tmp_path):
    return make(tmp_path)


@pytest.fixture
def make_on(tmp_path):
    """Function that makes the rows of a sweep on data of its own."""

    def make_on(name):
        problem = Repeated(str(tmp_path / name))
        if not os.path.exists(problem.directory):
            problem.text = name
            problem.generate(None)
        return make(tmp_path / "sweep", problem)

    (tmp_path / "sweep").mkdir()
    return make_on


class SweepTest:
    def test_every_row_is_trained_and_evaluated(self, rows, commands):
        failures, table = run(rows)
        assert failures == {}
        assert commands.calls == [
            ("trainer", "dropout=0.2"),
            ("evaluate", "dropout=0.2"),
            ("trainer", "dropout=0.3"),
            ("evaluate", "dropout=0.3"),
        ]
        assert "| 7 | 1.0 | 5e-06 | 2.00 | 40.0 |" in table
        assert "| 7 | 1.0 | 5e-06 | 3.00 | 40.0 |" in table

    def test_a_failed_row_does_not_stop_the_others(self, rows, commands):
        commands.failing = "dropout=0.2"
        failures, table = run(rows)
        assert list(failures) == ["dropout=0.2"]
        assert ("evaluate", "dropout=0.3") in commands.calls
        assert "dropout=0.2 failed: kt-trainer ended with status 2" in table

    def test_the_next_call_does_what_is_left(self, rows, commands):
        commands.failing = "dropout=0.3"
        run(rows)
        commands.failing, commands.calls = None, []
        failures, _ = run(rows)
        assert failures == {}
        assert {name for _, name in commands.calls} == {"dropout=0.3"}

    def test_results_are_read_again_only_of_the_row_that_ran(
        self, rows, commands, monkeypatch
    ):
        names = []

        def read(row):
            names.append(row.name)
            return read_results(row)

        monkeypatch.setattr(sweep_results, "read_results", read)
        run(rows, number=1)
        assert names.count("dropout=0.2") > 1
        assert names.count("dropout=0.3") == 1

    def test_a_row_with_updates_to_do_has_no_figures(self, rows, commands):
        commands.missing = 2
        _, table = run(rows, number=1)
        assert sweep.list_commands(rows[0], ["dev"])
        assert "|" not in table

    def test_a_measure_that_is_not_given_is_left_out(self, rows, commands):
        commands.scores = {"exact_match": 1.0}
        _, table = run(rows, number=1)
        assert not sweep.list_commands(rows[0], ["dev"])
        assert "dev perplexity" in table and "BLEU" not in table

    def test_flags_go_to_the_commands_that_need_them(self, rows, commands):
        run(rows, "--usr_dir=mine", "--precision=float32")
        shared = ["--data_dir=data", "--usr_dir=mine"]
        assert commands.flags["evaluate"] == ["--split=dev", *shared]
        assert {*shared, "--precision=float32"} < set(commands.flags["trainer"])

    def test_the_changes_of_a_row_go_to_the_trainer(self, tmp_path, commands):
        changes = {"packed": True, "norm": "pre", "learning_rate": 1e-5}
        rows = make_rows(
            [Row("some", COPY, "transformer_tiny", changes)],
            *(str(tmp_path), "tiny", "d_k=7", 9, [0]),
        )
        run(rows)
        of_set = registry.get_hparams("transformer_tiny")
        (text,) = [
            flag.removeprefix("--hparams=")
            for flag in commands.flags["trainer"]
            if flag.startswith("--hparams=")
        ]
        assert hparam.parse_overrides(of_set, text) == rows[0].hparams

    def test_rows_on_other_data_are_refused(self, make_on, commands):
        rows, others = make_on("data"), make_on("other")
        problem = rows[0].problem
        commands.record = {
            "problem": "copy",
            "data_dir": problem.data_dir,
            "data": describe_data(problem),
            **problem.vocabularies.hashes,
        }
        _, table = run(rows)
        commands.calls = []
        words = "The data in .*other/copy have changed since .*=0.2 was "
        words += "started: their splits differ.*--output_dir"
        with pytest.raises(ValueError, match=words):
            run(others)
        assert commands.calls == []
        assert read_table(others) == table
        os.rename(problem.data_dir, problem.data_dir + "_moved")
        assert run(make_on("data_moved"), number=0) == ({}, table)

    def test_rows_with_other_weights_are_refused(
        self, make_on, commands, monkeypatch
    ):
        rows = make_on("data")
        problem = rows[0].problem
        commands.record = {
            "problem": "copy",
            "data": describe_data(problem),
            "corpus_weights": [],
        }
        run(rows)
        monkeypatch.setattr(type(problem), "corpus_weights", ["news:2.0"])
        with pytest.raises(ValueError, match="their corpus_weights differ"):
            run(rows)

    @pytest.mark.parametrize("minutes, is_finished", [(1, True), (1.1, False)])
    def test_a_row_by_the_clock_is_finished_after_its_minutes(
        self, tmp_path, commands, minutes, is_finished
    ):
        rows = make(tmp_path, COPY, f"train_minutes={minutes}", None)
        run(rows, number=1)  # of 60 seconds
        results, _ = read_results(rows[0])
        assert results.get("steps") == ("5" if is_finished else None)

    @pytest.mark.parametrize("train_steps,seed", [(8, 0), (7, 1)])
    def test_a_row_of_another_recipe_or_seed_is_trained_again(
        self, tmp_path, rows, commands, train_steps, seed
    ):
        run(rows, number=1)
        (other,) = make_rows(
            rows[:1], str(tmp_path), "tiny", "", train_steps, [seed]
        )
        assert not sweep.list_commands(rows[0], ["dev"])
        assert sweep.list_commands(other, ["dev"])


class Compared(str):
    """A name that counts how often names of its class are compared."""

    number = 0

    def __eq__(self, other):
        Compared.number += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


class SelectTest:
    def test_thousands_of_rows_are_not_compared_with_each_other(self):
        for name in sweep.FLAGS:
            sweep.FLAGS[name].unparse()
        names = [Compared(number) for number in range(1000)]
        Compared.number = 0
        assert list(sweep._select("rows", "rows", names)) == names
        assert Compared.number <= 2 * len(names)


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
