"""kt-evaluate on a run that has learned to copy, and on files."""

import contextlib
import functools
import io
import json
import os
import pathlib
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from commands import assert_fails
from commands import call
from sacrebleu_cache import SOURCES
from sacrebleu_cache import TEST_SET
from sacrebleu_cache import make_cache

from keras_transformer import registry
from keras_transformer.bin import evaluate
from keras_transformer.decoding import outputs
from keras_transformer.runs.run_directory import RunDirectory


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.txt"
    path.write_text("a b c d\n\nq w e\n   \nh u k\nm n o\n", encoding="utf-8")
    return path


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run"
    fixtures = pathlib.Path(__file__).parents[1] / "fixtures"
    shutil.copytree(fixtures / "v0.1" / "run", path)
    return path


@pytest.fixture(scope="module")
def score_split(trained_run):
    """A function that scores a split once and returns what was printed."""

    @functools.cache
    def score(split):
        flags = (f"--output_dir={trained_run}", f"--split={split}")
        with contextlib.redirect_stdout(io.StringIO()) as output:
            assert call(evaluate, *flags) == 0
        return output.getvalue()

    return score


class EvaluateTest:
    @pytest.mark.parametrize("split, num_pairs", [("test", 200), ("dev", 60)])
    def test_a_split_is_decoded_and_scored(
        self, trained_run, score_split, split, num_pairs
    ):
        output = score_split(split)
        _, bleu, intl, *_ = output.splitlines()
        assert bleu.startswith("BLEU 13a ")
        assert intl.startswith("BLEU intl ")
        assert float(bleu.split()[2]) > 95
        assert "\nBLEU 13a  " in output and "|tok:13a|" in output
        path = os.path.join(trained_run, "decodes", f"{split}.txt")
        with open(path, encoding="utf-8") as file:
            assert len(file.read().split("\n")) == num_pairs + 1

    def test_scores_belong_to_the_checkpoint_that_was_decoded(
        self, run, copy_data, monkeypatch
    ):
        write = outputs.write

        def write_beside_a_training(*arguments):
            checkpoints = run / "checkpoints"
            names = ("ckpt-3000.npz", "ckpt-4500.npz")
            shutil.copy(*(checkpoints / name for name in names))
            write(*arguments)

        monkeypatch.setattr(outputs, "write", write_beside_a_training)
        flags = [f"--data_dir={copy_data}", "--split=dev"]
        assert call(evaluate, f"--output_dir={run}", *flags) == 0
        (entry,) = json.loads((run / "scores" / "dev.json").read_text())
        assert entry["step"] == 3000

    def test_an_ensemble_is_scored_and_leaves_no_files(
        self, run, copy_data, capsys
    ):
        before = sorted(run.rglob("*"))
        status = call(
            evaluate,
            f"--output_dir={run},{run}",
            f"--data_dir={copy_data}",
            "--split=dev",
        )
        assert status == 0
        assert capsys.readouterr().out.splitlines()[1].startswith("BLEU 13a ")
        assert sorted(run.rglob("*")) == before

    def test_the_files_it_writes_score_the_same(
        self, trained_run, score_split, copy_data, tmp_path, capsys
    ):
        expected = score_split("test")
        problem = registry.get_problem("copy", copy_data)
        references = tmp_path / "references.txt"
        text = "".join(f"{line}\n" for line in problem.text_split("test")[1])
        references.write_text(text, encoding="utf-8")
        hypotheses = os.path.join(trained_run, "decodes", "test.txt")
        status = call(
            evaluate,
            f"--hypotheses={hypotheses}",
            f"--references={references}",
        )
        assert status == 0
        # A run's cost follows its scores.
        assert expected.startswith(capsys.readouterr().out)

    def test_a_test_set_of_sacrebleu_is_decoded_and_recorded(
        self, run, tmp_path, monkeypatch, capsys
    ):
        make_cache(tmp_path / "sacrebleu", monkeypatch)
        # The run copies letters, and its problem becomes one in two languages.
        record = json.loads((run / "run.json").read_text())
        record["problem"] = "translate_ende_toy"
        (run / "run.json").write_text(json.dumps(record))
        flags = [f"--output_dir={run}", f"--test_set={TEST_SET}"]
        assert call(evaluate, *flags) == 0
        assert "|test:wmt14/full|lang:en-de|" in capsys.readouterr().out
        outputs = (run / "decodes" / "wmt14_full.txt").read_text()
        assert outputs.splitlines() == SOURCES
        (entry,) = json.loads((run / "scores" / "wmt14_full.json").read_text())
        assert entry["num_pairs"] == len(SOURCES)
        assert "| wmt14_full | 2 |" in (run / "README.md").read_text()

    def test_stress_and_quality_are_reported_and_kept(
        self, trained_run, tmp_path, capsys
    ):
        run = tmp_path / "run"
        shutil.copytree(trained_run, run)
        flags = [f"--output_dir={run}", "--calibrate"]
        # The dev of these tests is too small.
        assert call(evaluate, *flags) == 2
        error = capsys.readouterr().err
        assert "decodes/dev.txt" not in error
        assert "Received: 60 instead of 100" in error
        # A damaged file is replaced.
        (run / "quality.json").write_text("{}")
        first, *_ = RunDirectory(run).checkpoints.steps
        flags += ["--split=test", f"--checkpoint_step={first}"]
        assert call(evaluate, *flags) == 0
        assert "Quality, fitted on " in capsys.readouterr().out
        quality = json.loads((run / "quality.json").read_text())
        assert 100 <= quality["num_pairs"] <= 200
        flags = [f"--output_dir={run}", "--split=dev"]
        assert call(evaluate, *flags, f"--checkpoint_step={first}") == 0
        assert "Quality, fitted on " in capsys.readouterr().out
        assert call(evaluate, *flags, "--stress") == 0
        output = capsys.readouterr().out
        assert "Quality" not in output and "\ncapitals " in output
        stress = json.loads((run / "stress" / "dev.json").read_text())
        clean = stress["scores"]["clean"]
        assert stress["scores"]["doubled_spaces"]["bleu"] == clean["bleu"]

    def test_tokenizer_and_case_are_in_the_signature(self, source, capsys):
        status = call(
            evaluate,
            f"--hypotheses={source}",
            f"--references={source}",
            "--tokenize=none",
            "--lowercase",
        )
        assert status == 0
        output = capsys.readouterr().out
        assert "case:lc|eff:no|tok:none" in output
        assert "tok:13a" not in output

    def test_outputs_are_compared_with_those_of_another_run(
        self, trained_run, score_split, run, capsys
    ):
        score_split("test")
        decodes = pathlib.Path(trained_run) / "decodes"
        shutil.copytree(decodes, run / "decodes")
        status = call(
            evaluate, f"--output_dir={trained_run}", f"--compare={run}"
        )
        assert status == 0
        output = capsys.readouterr().out
        assert re.search(rf"trained +95% interval .*{run.name}", output)
        assert "BLEU 13a: both are equal." in output

    def test_a_report_is_written_for_two_runs_and_for_files(
        self, trained_run, score_split, tmp_path, source
    ):
        score_split("test")
        other = pathlib.Path(trained_run) / "decodes" / "test.txt"
        page = tmp_path / "page.html"
        flags = (f"--compare={other}", f"--html={page}")
        assert call(evaluate, f"--output_dir={trained_run}", *flags) == 0
        assert "frequency in the training text" in page.read_text()
        flags = [f"--{n}={source}" for n in ("hypotheses", "compare")]
        flags += [f"--references={source}", f"--html={page}"]
        assert call(evaluate, *flags) == 0
        assert "frequency in the references" in page.read_text()

    def test_a_report_survives_a_reader_that_closes_the_pipe(
        self, source, tmp_path, monkeypatch
    ):
        reader, writer = os.pipe()
        os.close(reader)
        monkeypatch.setattr(sys, "stdout", open(writer, "w", buffering=1))
        page = tmp_path / "page.html"
        flags = [f"--{n}={source}" for n in ("hypotheses", "references")]
        flags += [f"--compare={source}", f"--html={page}"]
        assert call(evaluate, *flags) == 1
        assert page.exists()

    def test_a_report_needs_another_system(self, source, tmp_path, capsys):
        flags = [f"--{n}={source}" for n in ("hypotheses", "references")]
        flags.append(f"--html={tmp_path / 'page.html'}")
        assert_fails(capsys, ["--compare"], evaluate, *flags)

    def test_a_run_without_outputs_is_refused_at_once(
        self, trained_run, run, capsys
    ):
        assert_fails(
            capsys,
            [
                "has not decoded the same text",
                f"kt-evaluate --output_dir={run}",
            ],
            evaluate,
            f"--output_dir={trained_run}",
            f"--compare={run}",
        )

    def test_unequal_counts_are_one_line_with_both(
        self, source, tmp_path, capsys
    ):
        short = tmp_path / "short.txt"
        short.write_text("a\n")
        assert_fails(
            capsys,
            [f"{source} with 6 lines", f"{short} with 1 lines"],
            evaluate,
            f"--hypotheses={source}",
            f"--references={short}",
        )

    def test_empty_files_are_one_line(self, tmp_path, capsys):
        empty = tmp_path / "empty.txt"
        empty.write_text("")
        assert_fails(
            capsys,
            ["no lines to score", str(empty)],
            evaluate,
            f"--hypotheses={empty}",
            f"--references={empty}",
        )

    def test_parses_of_other_words_are_reported(self, tmp_path, capsys):
        gold, test = tmp_path / "gold", tmp_path / "test"
        gold.write_text("(S (NN a))\n")
        test.write_text("(S (NN b))\n")
        flags = (f"--hypotheses={test}", f"--references={gold}")
        assert call(evaluate, *flags, "--measure=f1") == 0
        assert "the gold trees: 1. The first is" in capsys.readouterr().err

    def test_hypotheses_need_references(self, source, capsys):
        assert_fails(
            capsys, ["--references"], evaluate, f"--hypotheses={source}"
        )

    def test_the_training_split_is_refused(self, trained_run, capsys):
        assert_fails(
            capsys,
            ["--split=train", "dev or test"],
            evaluate,
            f"--output_dir={trained_run}",
            "--split=train",
        )

    def test_missing_data_names_the_command_to_run(
        self, trained_run, tmp_path, capsys
    ):
        assert_fails(
            capsys,
            ["kt-datagen --problem=copy"],
            evaluate,
            f"--output_dir={trained_run}",
            f"--data_dir={tmp_path}",
        )

    def test_outputs_that_cannot_be_written_are_refused_at_once(
        self, run, copy_data, capsys
    ):
        os.makedirs(run / "decodes" / "test.txt")
        assert_fails(
            capsys,
            ["decodes/test.txt, which is a directory"],
            evaluate,
            f"--output_dir={run}",
            f"--data_dir={copy_data}",
        )

    def test_an_overlong_sentence_is_refused_at_once(
        self, run, copy_data, tmp_path, capsys
    ):
        data_dir = tmp_path / "data"
        shutil.copytree(copy_data, data_dir)
        path = data_dir / "copy" / "test.source.txt"
        lines = path.read_text().splitlines(True)
        path.write_text("".join(["a " * 5000 + "\n", *lines[1:]]))
        assert_fails(
            capsys,
            ["at most 4,096 tokens", "copy, split test, line 1 with 5,001"],
            evaluate,
            f"--output_dir={run}",
            f"--data_dir={data_dir}",
        )

    def test_files_to_score_may_be_pipes(self, source, tmp_path, capsys):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(pipe.write_bytes, source.read_bytes())
            flags = [f"--hypotheses={pipe}", f"--references={source}"]
            assert call(evaluate, *flags) == 0
        assert "BLEU" in capsys.readouterr().out
