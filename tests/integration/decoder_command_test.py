"""kt-decoder on a run that has learned to copy."""

import os
import pathlib
import subprocess
import sys

import pytest
from commands import assert_fails
from commands import call
from commands import call_apart
from processes import environment

from keras_transformer.bin import decoder

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1"
LINES = ["a b c d", "", "q w e r t y", "   ", "h u k", "m n o p q"]
COPIED = [line.strip() for line in LINES]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


class DecoderCommandTest:
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

    def test_it_works_in_a_pipe(self, quick_model):
        result = call_apart(
            "decoder",
            f"--output_dir={quick_model}",
            input="\n".join(LINES).encode(),  # no end of line at the end
        )
        assert result.returncode == 0, result.stderr
        assert result.stdout.decode().split("\n") == [*COPIED, ""]
        assert b"6 sentences in" in result.stderr
        assert b"Traceback" not in result.stderr

    @pytest.mark.parametrize("flag", [[], ["--decode_from_file=-"]])
    def test_standard_input_is_the_default(
        self, quick_model, type_in, capsys, flag
    ):
        type_in(b"a b c\r\n\r\nx y z\n")
        assert call(decoder, f"--output_dir={quick_model}", *flag) == 0
        assert capsys.readouterr().out == "a b c\n\nx y z\n"

    def test_only_line_feeds_end_a_line(self, quick_model, type_in, capsys):
        type_in("a b\u2028c\x0bd\x85e\x0cf\n".encode())
        assert call(decoder, f"--output_dir={quick_model}") == 0
        assert capsys.readouterr().out.count("\n") == 1

    def test_no_input_gives_no_output(self, quick_model, type_in, capsys):
        type_in(b"")
        assert call(decoder, f"--output_dir={quick_model}") == 0
        assert capsys.readouterr().out == ""

    def test_interactive_answers_each_line(self, quick_model, type_in, capsys):
        type_in(b"a b c\n\nx y z\n")
        status = call(
            decoder, f"--output_dir={quick_model}", "--decode_interactive"
        )
        assert status == 0
        assert capsys.readouterr().out == "a b c\n\nx y z\n"

    def test_interactive_takes_several_lines_for_an_export(
        self, type_in, capsys
    ):
        type_in(b"a b c\nx y z\n")
        path = FIXTURES / "saved_model"
        assert (
            call(decoder, f"--output_dir={path}", "--decode_interactive") == 0
        )
        assert capsys.readouterr().out.count("\n") == 2

    def test_interactive_answers_before_the_input_ends(self, quick_model):
        command = [sys.executable, "-m", "keras_transformer.bin.decoder"]
        flags = [f"--output_dir={quick_model}", "--decode_interactive"]
        process = subprocess.Popen(
            command + flags,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(__file__),
        )
        for line in ("a b c", "x y z"):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == line + "\n"
        process.communicate(timeout=300)
        assert process.returncode == 0

    def test_beam_and_alpha_can_be_given(self, quick_model, type_in, capsys):
        type_in(b"a b c\n")
        status = call(
            decoder, f"--output_dir={quick_model}", "--beam_size=3", "--alpha=0"
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
            [str(path), "does not exist"],
            decoder,
            f"--output_dir={trained_run}",
            f"--decode_from_file={path}",
        )

    def test_a_directory_that_is_not_a_run_is_one_line(
        self, tmp_path, source, capsys
    ):
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

    def test_output_dir_is_required(self, capsys):
        assert_fails(capsys, ["--output_dir"], decoder)
