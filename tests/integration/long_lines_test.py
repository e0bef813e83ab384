"""kt-decoder: lines that are too long, and JSON lines."""

import contextlib
import importlib.util
import json
import pathlib

import pytest
from commands import assert_fails
from commands import call

from keras_transformer.bin import decoder
from keras_transformer.bin.kt_decoder import decoder_model
from keras_transformer.decoding import preparation
from keras_transformer.files.partial import PartialFile

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1"
RUN, EXPORT = FIXTURES / "run", FIXTURES / "ctranslate2"
LONG = "a b c d e " * 1000
SHORT = "a b c d e f g h i j k l"

needs_ctranslate2 = pytest.mark.skipif(
    importlib.util.find_spec("ctranslate2") is None, reason="not installed"
)


@pytest.fixture
def run_decoder(quick_model, type_in, capsys):
    """Function that returns the status, the lines and the messages."""

    def decode(text, *flags, model=quick_model):
        type_in(text.encode())
        status = call(decoder, f"--output_dir={model}", *flags)
        captured = capsys.readouterr()
        return status, captured.out.split("\n")[:-1], captured.err

    return decode


class LongLinesTest:
    def test_a_line_too_long_is_reported_and_the_others_come_out(
        self, run_decoder
    ):
        status, lines, errors = run_decoder(f"a b\n{LONG}\nc d\n")
        assert (status, lines) == (3, ["a b", "", "c d"])
        assert "warning: line 2 has 5,001 tokens, more than " in errors

    def test_a_file_is_treated_as_a_pipe_is(
        self, quick_model, tmp_path, capsys
    ):
        source, target = tmp_path / "in.txt", tmp_path / "out.txt"
        source.write_text(f"a b\n{LONG}\nc d\n")
        flags = [f"--decode_from_file={source}", f"--decode_to_file={target}"]
        assert call(decoder, f"--output_dir={quick_model}", *flags) == 3
        assert target.read_text() == "a b\n\nc d\n"
        assert "line 2" in capsys.readouterr().err

    def test_split_long_translates_it_in_parts(self, run_decoder):
        flags = ["--split_long", "--max_sentence_tokens=8", "--write_scores"]
        status, lines, errors = run_decoder(f"a b\n{SHORT}\nc d\n", *flags)
        texts = [line.split("\t")[0] for line in lines]
        assert (status, texts) == (3, ["a b", SHORT, "c d"])
        assert "line 2 has 13 tokens, more than 8" in errors

    def test_split_long_changes_no_line_that_fits(self, run_decoder):
        text = f"a b\n\n{SHORT}\n"
        assert run_decoder(text, "--split_long")[:2] == run_decoder(text)[:2]

    def test_interactive_goes_on_after_a_line_too_long(self, run_decoder):
        flags = ["--decode_interactive"]
        _, lines, errors = run_decoder(f"a b\n{LONG}\nc d\n", *flags)
        assert lines == ["a b", "", "c d"]
        assert "line 2" in errors

    @needs_ctranslate2
    @pytest.mark.parametrize("place", [2, 12])
    def test_a_resumed_output_and_status_are_those_without_a_stop(
        self, place, tmp_path, type_in, monkeypatch, capsys
    ):
        monkeypatch.setattr(preparation, "WINDOW", 8)
        lines = ["a b"] * 20
        lines[place] = LONG
        text = "".join(f"{line}\n" for line in lines).encode()
        target = tmp_path / "out.txt"
        flags = [f"--output_dir={EXPORT}", f"--decode_to_file={target}"]
        type_in(text)
        assert call(decoder, *flags) == 3
        whole = target.read_text()
        target.unlink()

        write = PartialFile.writelines

        def write_one_window(output, lines, **inputs):
            if output.num_lines:
                raise KeyboardInterrupt
            write(output, lines, **inputs)

        with monkeypatch.context() as patch:
            patch.setattr(PartialFile, "writelines", write_one_window)
            type_in(text)
            with contextlib.suppress(KeyboardInterrupt):
                assert call(decoder, *flags) == 130
        type_in(text)
        assert call(decoder, *flags, "--resume") == 3
        assert target.read_text() == whole
        assert whole.split("\n")[place] == ""


class JsonLinesTest:
    def test_objects_and_strings_become_objects(self, run_decoder):
        lines = ['{"id": [7], "text": "a b c"}', '"q w"', '{"text": ""}']
        status, rows, _ = run_decoder("\n".join(lines), "--format=jsonl")
        rows = list(map(json.loads, rows))
        assert status == 0
        assert [row["translation"] for row in rows] == ["a b c", "q w", ""]
        assert rows[0]["id"] == [7] and "text" not in rows[0]
        assert rows[0]["score"] < 0 and rows[2]["score"] == 0
        assert [row["warnings"] for row in rows] == [[], [], []]

    def test_each_line_and_sentence_of_a_text_is_translated(
        self, run_decoder, type_in
    ):
        pytest.importorskip("sentencex")
        texts = ["a b c\nq w\n", "a b", "a b? Q w.", "a b\n7\nq w"]
        lines = "".join(json.dumps(text) + "\n" for text in texts)
        flags = ["--format=jsonl"]
        rows = run_decoder(lines, *flags)[1]
        found = [json.loads(row)["translation"] for row in rows]
        assert found[0] == "a b c\nq w\n" and found[1] == "a b"
        assert found[3] == "a b\n7\nq w"
        apart = run_decoder('"a b?"\n"Q w."\n', *flags)[1]
        apart = [json.loads(row)["translation"] for row in apart]
        assert found[2] == " ".join(apart)

    def test_hypotheses_have_their_scores(self, run_decoder):
        flags = ["--format=jsonl", "--decode_hparams=num_hypotheses=2"]
        _, (row,), _ = run_decoder('"a b c"\n', *flags)
        first, second = json.loads(row)["hypotheses"]
        assert first["translation"] == json.loads(row)["translation"]
        assert first["score"] > second["score"]

    def test_warnings_say_what_became_of_a_line(self, run_decoder, trained_run):
        text = f'"{LONG}"\n"a b"\n'
        status, rows, _ = run_decoder(text, "--format=jsonl")
        assert status == 3
        assert [json.loads(row)["warnings"] for row in rows] == [
            ["too_long"],
            [],
        ]
        flags = ["--split_long", "--max_sentence_tokens=8", "--format=jsonl"]
        status, (row,), _ = run_decoder(f'"{SHORT}"\n', *flags)
        assert status == 3
        assert json.loads(row)["translation"] == SHORT
        assert json.loads(row)["warnings"] == ["split"]
        flags = ["--decode_hparams=extra_length=0", "--format=jsonl"]
        _, (row,), _ = run_decoder('"a b c"\n', *flags)
        assert json.loads(row)["warnings"] == ["reached_limit"]
        # The model does not read the address.
        line = '"a b https://example.org/a/b/c/d/e/f/g/h"\n'
        flags.append("--protect")
        _, (row,), _ = run_decoder(line, *flags, model=trained_run)
        assert json.loads(row)["warnings"] == ["reached_limit"]

    def test_a_translation_longer_than_its_line_may_have_a_longer_prefix(
        self, tmp_path, type_in, capsys
    ):
        prefix = tmp_path / "prefix.txt"
        prefix.write_text("q w e r\n")
        flags = [f"--prefix_file={prefix}", "--format=jsonl"]
        type_in(b'"q w"\n')
        flags.append("--decode_hparams=extra_length=2")
        assert call(decoder, f"--output_dir={RUN}", *flags) == 0
        row = json.loads(capsys.readouterr().out)
        assert (row["translation"], row["warnings"]) == ("q w e r", [])

    @pytest.mark.parametrize("format", ["text", "jsonl"])
    def test_a_loop_is_an_alarm(self, tmp_path, type_in, capsys, format):
        prefix = tmp_path / "prefix.txt"
        prefix.write_text("q w e r\n" + "q " * 12 + "\n")
        type_in(b'"q w e r"\n"q w"\n')
        flags = [f"--prefix_file={prefix}", f"--format={format}"]
        assert call(decoder, f"--output_dir={RUN}", *flags) == 3
        captured = capsys.readouterr()
        assert "line 2 has a translation that repeats itself" in captured.err
        assert captured.err.count("warning") == 1
        lines = captured.out.splitlines()
        assert len(lines) == 2
        if format == "jsonl":
            warnings = [json.loads(line)["warnings"] for line in lines]
            assert warnings[0] == [] and "loop" in warnings[1]

    @pytest.mark.parametrize(
        "line",
        [
            "",
            "a b",
            "[1]",
            "{}",
            '{"text": 3}',
            '{"text": "a"',
            "NaN",
            '{"text": "a", "id": 1e999}',
            '"\\ud800"',
            "[" * 100_000,
            '{"text": "a", "id": ' + "9" * 5000 + "}",
        ],
    )
    def test_a_faulty_line_is_named_before_the_model_loads(
        self, trained_run, tmp_path, capsys, line, monkeypatch
    ):
        path = tmp_path / "in.jsonl"
        path.write_text(f'"a b"\n{line}\n')
        monkeypatch.setattr(decoder_model, "load_model", None)
        assert_fails(
            capsys,
            [f"{path}, line 2", "--format=jsonl", "Correct the line"],
            decoder,
            f"--output_dir={trained_run}",
            "--format=jsonl",
            f"--decode_from_file={path}",
        )
