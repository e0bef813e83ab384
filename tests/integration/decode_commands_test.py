"""kt-decoder, kt-evaluate and kt-avg-checkpoints on a run that can copy."""

import os
import subprocess
import sys

import numpy as np
import pytest
from commands import assert_fails
from commands import call
from commands import call_apart

from keras_transformer import registry
from keras_transformer.bin import avg_checkpoints
from keras_transformer.bin import decoder
from keras_transformer.bin import evaluate
from keras_transformer.decoding.translator import Translator
from keras_transformer.runs.run_directory import RunDirectory

LINES = ["a b c d", "", "q w e r t y", "   ", "h u k", "m n o p q"]
COPIED = [line.strip() for line in LINES]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


class DecoderTest:
    def test_a_file_becomes_a_file_of_as_many_lines(
        self, trained_run, source, tmp_path
    ):
        target = tmp_path / "target.txt"
        status = call(
            decoder,
            f"--output_dir={trained_run}",
            f"--decode_from_file={source}",
            f"--decode_to_file={target}",
        )
        assert status == 0
        assert target.read_text(encoding="utf-8") == "\n".join(COPIED) + "\n"
        assert sorted(os.listdir(tmp_path)) == ["source.txt", "target.txt"]

    def test_it_works_in_a_pipe(self, trained_run):
        done = call_apart(
            "decoder",
            f"--output_dir={trained_run}",
            input="\n".join(LINES).encode(),  # no end of line at the end
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode().split("\n") == [*COPIED, ""]
        assert b"6 sentences in" in done.stderr
        assert b"Traceback" not in done.stderr

    @pytest.mark.parametrize("flag", [[], ["--decode_from_file=-"]])
    def test_standard_input_is_the_default(
        self, trained_run, type_in, capsys, flag
    ):
        type_in(b"a b c\r\n\r\nx y z\n")
        assert call(decoder, f"--output_dir={trained_run}", *flag) == 0
        assert capsys.readouterr().out == "a b c\n\nx y z\n"

    def test_only_line_feeds_end_a_line(self, trained_run, type_in, capsys):
        type_in("a b\u2028c\x0bd\x85e\x0cf\n".encode())
        assert call(decoder, f"--output_dir={trained_run}") == 0
        assert capsys.readouterr().out.count("\n") == 1

    def test_no_input_gives_no_output(self, trained_run, type_in, capsys):
        type_in(b"")
        assert call(decoder, f"--output_dir={trained_run}") == 0
        assert capsys.readouterr().out == ""

    def test_interactive_answers_each_line(self, trained_run, type_in, capsys):
        type_in(b"a b c\n\nx y z\n")
        status = call(
            decoder, f"--output_dir={trained_run}", "--decode_interactive"
        )
        assert status == 0
        assert capsys.readouterr().out == "a b c\n\nx y z\n"

    def test_interactive_answers_before_the_input_ends(self, trained_run):
        command = [sys.executable, "-m", "keras_transformer.bin.decoder"]
        flags = [f"--output_dir={trained_run}", "--decode_interactive"]
        process = subprocess.Popen(
            command + flags,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for line in ("a b c", "x y z"):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == line + "\n"
        process.communicate(timeout=300)
        assert process.returncode == 0

    def test_beam_and_alpha_can_be_given(self, trained_run, type_in, capsys):
        type_in(b"a b c\n")
        status = call(
            decoder, f"--output_dir={trained_run}", "--beam_size=3", "--alpha=0"
        )
        assert status == 0
        assert capsys.readouterr().out == "a b c\n"

    def test_invalid_utf8_in_a_file_names_file_and_line(
        self, trained_run, tmp_path, capsys
    ):
        path = tmp_path / "bad.txt"
        path.write_bytes(b"good\nb\xffd\n")
        target = tmp_path / "target.txt"
        assert_fails(
            capsys,
            ["decoder: error", "UTF-8", f"{path}, line 2"],
            decoder,
            f"--output_dir={trained_run}",
            f"--decode_from_file={path}",
            f"--decode_to_file={target}",
        )
        assert os.listdir(tmp_path) == ["bad.txt"]

    def test_invalid_utf8_in_a_pipe_leaves_no_half_file(
        self, trained_run, type_in, tmp_path, capsys
    ):
        type_in(b"a b c\nb\xffd\n")
        assert_fails(
            capsys,
            ["UTF-8", "standard input, line 2"],
            decoder,
            f"--output_dir={trained_run}",
            f"--decode_to_file={tmp_path / 'target.txt'}",
        )
        assert os.listdir(tmp_path) == []

    def test_a_missing_file_is_one_line(self, trained_run, tmp_path, capsys):
        path = tmp_path / "none.txt"
        assert_fails(
            capsys,
            [str(path), "not there"],
            decoder,
            f"--output_dir={trained_run}",
            f"--decode_from_file={path}",
        )

    def test_a_directory_is_no_run(self, tmp_path, source, capsys):
        assert_fails(
            capsys,
            ["run.json", str(tmp_path)],
            decoder,
            f"--output_dir={tmp_path}",
            f"--decode_from_file={source}",
        )

    def test_an_untrained_run_is_one_line(self, make_run, source, capsys):
        run = make_run()
        assert_fails(
            capsys,
            ["checkpoint", "kt-trainer"],
            decoder,
            f"--output_dir={run.path}",
            f"--decode_from_file={source}",
        )

    @pytest.mark.parametrize("target", ["", "missing/target.txt"])
    def test_an_output_that_cannot_be_written_is_one_line(
        self, trained_run, source, tmp_path, capsys, target
    ):
        assert_fails(
            capsys,
            [str(tmp_path)],
            decoder,
            f"--output_dir={trained_run}",
            f"--decode_from_file={source}",
            f"--decode_to_file={tmp_path / target}",
        )

    def test_interactive_with_a_file_is_an_error(self, source, capsys):
        assert_fails(
            capsys,
            ["--decode_interactive", "--decode_from_file", "Remove"],
            decoder,
            "--output_dir=run",
            "--decode_interactive",
            f"--decode_from_file={source}",
        )

    def test_output_dir_is_a_must(self, capsys):
        assert_fails(capsys, ["--output_dir"], decoder)


class EvaluateTest:
    @pytest.mark.parametrize("split", ["test", "dev"])
    def test_a_split_is_decoded_and_scored(self, trained_run, capsys, split):
        status = call(
            evaluate, f"--output_dir={trained_run}", f"--split={split}"
        )
        assert status == 0
        bleu, chrf = capsys.readouterr().out.splitlines()
        assert bleu.startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|")
        assert chrf.startswith("chrF2|nrefs:1|case:mixed|")
        assert float(bleu.split(" = ")[1].split()[0]) > 95
        path = os.path.join(trained_run, "decodes", f"{split}.txt")
        with open(path, encoding="utf-8") as file:
            assert len(file.read().split("\n")) == 201

    def test_the_files_it_writes_score_the_same(
        self, trained_run, copy_data, tmp_path, capsys
    ):
        call(evaluate, f"--output_dir={trained_run}")
        expected = capsys.readouterr().out
        problem = registry.get_problem("copy", copy_data)
        references = tmp_path / "references.txt"
        text = "".join(f"{line}\n" for line in problem.text_split("test")[1])
        references.write_text(text, encoding="utf-8")
        hypotheses = os.path.join(trained_run, "decodes", "test.txt")
        status = call(
            evaluate, f"--hypotheses={hypotheses}", f"--references={references}"
        )
        assert status == 0
        assert capsys.readouterr().out == expected

    def test_tokenizer_and_case_are_in_the_signature(self, source, capsys):
        status = call(
            evaluate,
            f"--hypotheses={source}",
            f"--references={source}",
            "--tokenize=none",
            "--lowercase",
        )
        assert status == 0
        assert "case:lc|eff:no|tok:none" in capsys.readouterr().out

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
            ["at least one line", str(empty)],
            evaluate,
            f"--hypotheses={empty}",
            f"--references={empty}",
        )

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


class AverageCheckpointsTest:
    def test_the_average_is_a_run_that_translates(
        self, trained_run, tmp_path, capsys
    ):
        path = tmp_path / "averaged"
        status = call(
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=2",
            f"--averaged_dir={path}",
        )
        assert status == 0
        assert capsys.readouterr().out == f"{path}\n"
        assert Translator.load(path)(LINES) == COPIED

    def test_the_weights_are_the_mean_of_the_last(
        self, trained_run, tmp_path, capsys
    ):
        path = tmp_path / "averaged"
        call(
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=2",
            f"--averaged_dir={path}",
        )
        checkpoints = RunDirectory(trained_run).checkpoints
        parts = [checkpoints.load(step) for step in checkpoints.steps[-2:]]
        for name, mean in RunDirectory(path).checkpoints.load().items():
            expected = sum(part[name].astype("float64") for part in parts) / 2
            np.testing.assert_allclose(mean, expected, rtol=1e-6)

    def test_by_default_it_lies_in_the_run(self, trained_run, capsys):
        status = call(
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=1",
        )
        assert status == 0
        path = os.path.join(trained_run, "averaged")
        assert capsys.readouterr().out == path + "\n"
        assert RunDirectory.exists(path)

    def test_too_few_checkpoints_are_one_line(
        self, trained_run, tmp_path, capsys
    ):
        assert_fails(
            capsys,
            ["num_last_checkpoints=50", "3 checkpoints"],
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=50",
            f"--averaged_dir={tmp_path / 'averaged'}",
        )
        assert os.listdir(tmp_path) == []

    def test_a_training_run_is_never_replaced(self, trained_run, capsys):
        before = RunDirectory(trained_run).checkpoints.steps
        assert_fails(
            capsys,
            ["averaged_dir", trained_run],
            avg_checkpoints,
            f"--output_dir={trained_run}",
            "--num_last_checkpoints=1",
            f"--averaged_dir={trained_run}",
        )
        assert RunDirectory(trained_run).checkpoints.steps == before


class HelpTest:
    @pytest.mark.parametrize("name", ["decoder", "evaluate", "avg_checkpoints"])
    def test_help_is_the_manual_and_loads_no_tensorflow(self, name):
        done = call_apart(name, "--help", text=True)
        assert done.returncode == 0
        assert "--output_dir=run" in done.stdout
        assert done.stderr == ""
        source = (
            f"import sys; import keras_transformer.bin.{name}; "
            "sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", source])
        assert done.returncode == 0
