"""kt-decoder: stops that keep what is done, --resume, pipes and exported."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from commands import assert_fails
from commands import call
from processes import environment

from keras_transformer.bin import decoder
from keras_transformer.bin.kt_decoder.decoder_model import NEW_SETTINGS
from keras_transformer.decoding import preparation
from keras_transformer.files.partial import PartialFile
from keras_transformer.files.partial import open_resumable
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.scoring.quality import QualityEstimate

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1"
RUN = f"--output_dir={FIXTURES / 'run'}"
LINES = [
    f"{letter} {other}" for letter in "abcde" for other in "fghij"
]  # An export whose translations take no time.
EXPORT = f"--output_dir={FIXTURES / 'ctranslate2'}"
# The samples show that each sentence keeps its own seed.
SAMPLE = "--decode_hparams=temperature=2,extra_length=1"

needs_ctranslate2 = pytest.mark.skipif(
    importlib.util.find_spec("ctranslate2") is None, reason="not installed"
)


@pytest.fixture
def small_windows(monkeypatch):
    """Lets the decoder read and write eight sentences at a time."""
    monkeypatch.setattr(preparation, "WINDOW", 8)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


class SignallingInput(io.BytesIO):
    """Sends a signal to its own process instead of reading a line."""

    def __init__(self, content, line, number):
        super().__init__(content)
        self._lines_left = line
        self._number = number

    def readline(self, size=-1):
        self._lines_left -= 1
        if not self._lines_left:
            signal.raise_signal(self._number)
        return super().readline(size)


def write_two_windows(output, lines, write=PartialFile.writelines, **inputs):
    """Writes lines as `PartialFile` does, but is interrupted at the third."""
    if output.num_lines == 16:
        raise KeyboardInterrupt
    write(output, lines, **inputs)


def start(*flags):
    """Starts kt-decoder in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "keras_transformer.bin.decoder", *flags],
        env=environment(__file__),
    )


class ResumeTest:
    @needs_ctranslate2
    def test_a_signal_keeps_lines_and_the_resumed_output_is_the_same(
        self, small_windows, source, tmp_path, monkeypatch, capsys
    ):
        whole, target = tmp_path / "whole.txt", tmp_path / "out.txt"
        text = f"--decode_from_file={source}"
        assert (
            call(decoder, EXPORT, SAMPLE, text, f"--decode_to_file={whole}")
            == 0
        )
        capsys.readouterr()
        flags = [EXPORT, SAMPLE, f"--decode_to_file={target}"]
        content = SignallingInput(source.read_bytes(), 10, signal.SIGTERM)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
        assert call(decoder, *flags) == 143
        assert capsys.readouterr().err.endswith(
            "kt-decoder: stopped. The first 8 lines are kept in "
            f"{target}.partial; the same command with --resume continues from "
            "there.\n"
        )
        assert call(decoder, *flags, text, "--resume") == 0
        assert target.read_bytes() == whole.read_bytes()
        assert sorted(os.listdir(tmp_path)) == [
            "in.txt",
            "out.txt",
            "whole.txt",
        ]

    @needs_ctranslate2
    def test_a_faulty_line_of_a_pipe_keeps_the_lines_before(
        self, small_windows, tmp_path, type_in, capsys
    ):
        target = tmp_path / "out.txt"
        flags = [EXPORT, f"--decode_to_file={target}"]
        text = "".join(f"{line}\n" for line in LINES).encode()
        type_in(text[:50] + b"\xff" + text[50:])
        words = [
            "standard input, line 13",
            "first 8 lines are kept",
            "--resume",
        ]
        assert_fails(capsys, words, decoder, *flags)
        type_in(text)
        assert call(decoder, *flags, "--resume") == 0
        assert target.read_text().splitlines() == LINES

    @needs_ctranslate2
    def test_scores_prefixes_and_samples_are_resumed_as_well(
        self, small_windows, tmp_path, source, monkeypatch
    ):
        pairs = tmp_path / "pairs.tsv"
        pairs.write_text("".join(f"{line}\tf {line}\n" for line in LINES))
        inputs = (
            [f"--score_file={pairs}"],
            [f"--decode_from_file={source}", f"--prefix_file={source}"],
            [f"--decode_from_file={source}", SAMPLE],
        )
        for number, flags in enumerate(inputs):
            target = tmp_path / f"out{number}.txt"
            flags = [EXPORT, *flags, f"--decode_to_file={target}"]
            assert call(decoder, *flags) == 0
            whole = target.read_bytes()
            target.unlink()
            with monkeypatch.context() as patch:
                patch.setattr(PartialFile, "writelines", write_two_windows)
                assert call(decoder, *flags) == 130
            assert (
                b"".join(whole.splitlines(True)[:16])
                == (tmp_path / f"out{number}.txt.partial").read_bytes()
            )
            assert call(decoder, *flags, "--resume") == 0
            assert target.read_bytes() == whole

    def test_protected_lines_are_resumed_with_the_same_patterns(
        self, small_windows, tmp_path, source, monkeypatch, capsys
    ):
        source.write_text("".join(f"{line} {{x}}\n" for line in LINES))
        patterns = tmp_path / "patterns.txt"
        patterns.write_text("z+\n")
        target, whole = tmp_path / "out.txt", tmp_path / "whole.txt"
        flags = [RUN, f"--decode_from_file={source}"]
        status = call(decoder, *flags, f"--decode_to_file={whole}", "--protect")
        flags.append(f"--decode_to_file={target}")
        with monkeypatch.context() as patch:
            patch.setattr(PartialFile, "writelines", write_two_windows)
            assert call(decoder, *flags, "--protect") == 130
        assert "The first 16 lines are kept" in capsys.readouterr().err
        flags.append("--resume")
        others = f"--protected_patterns={patterns}"
        assert_fails(capsys, ["protect=z+"], decoder, *flags, others)
        # The model of these tests repeats letters, which raises alarms.
        assert call(decoder, *flags, "--protect") == status
        assert target.read_bytes() == whole.read_bytes()
        lines = target.read_text().splitlines()
        assert [line.count("{x}") for line in lines] == [1] * len(LINES)

    def test_a_reverse_run_that_trained_on_is_noticed(
        self, small_windows, tmp_path, source, monkeypatch, capsys
    ):
        # The name is not UTF-8, so a record cannot hold it as it is.
        reverse = tmp_path / "reverse\udcff"
        shutil.copytree(FIXTURES / "run", reverse)
        checkpoints = reverse / "checkpoints"
        target = tmp_path / "out.txt"
        flags = [RUN, f"--rerank_by={reverse}", "--beam_size=2"]
        flags += [f"--decode_from_file={source}", f"--decode_to_file={target}"]
        with monkeypatch.context() as patch:
            patch.setattr(PartialFile, "writelines", write_two_windows)
            assert call(decoder, *flags) == 130
        assert "The first 16 lines are kept" in capsys.readouterr().err
        flags.append("--resume")
        newest = checkpoints / "ckpt-4500.npz"
        shutil.copy(checkpoints / "ckpt-3000.npz", newest)
        words = ["rerank_step=4500 instead of rerank_step=3000"]
        assert_fails(capsys, words, decoder, *flags)
        newest.unlink()
        assert call(decoder, *flags) == 0
        assert target.read_text().splitlines() == LINES

    @needs_ctranslate2
    def test_another_content_of_the_model_is_noticed(
        self, small_windows, tmp_path, source, monkeypatch, capsys
    ):
        run = tmp_path / "run"
        shutil.copytree(FIXTURES / "run", run)
        source.write_text("".join(f'"{line}"\n' for line in LINES))
        target, whole = tmp_path / "out.txt", tmp_path / "whole.txt"
        flags = [f"--output_dir={run}", f"--decode_from_file={source}"]
        flags.append("--format=jsonl")
        status = call(decoder, *flags, f"--decode_to_file={whole}")
        flags.append(f"--decode_to_file={target}")
        with monkeypatch.context() as patch:
            patch.setattr(PartialFile, "writelines", write_two_windows)
            assert call(decoder, *flags) == 130
        assert "The first 16 lines are kept" in capsys.readouterr().err
        flags.append("--resume")
        QualityEstimate(3000, 100, 50.0, [0.0] * 3, [0.0] * 2, 1.0).write(run)
        assert_fails(capsys, ["quality.json=", "=None"], decoder, *flags)
        (run / "quality.json").unlink()
        checkpoint = run / "checkpoints" / "ckpt-3000.npz"
        before = checkpoint.read_bytes()
        checkpoints = RunDirectory(run).checkpoints
        arrays = checkpoints.load()
        arrays["model/embedding/embeddings"] *= 1.5
        checkpoints.save(3000, arrays)
        assert_fails(capsys, ["output_dir's content="], decoder, *flags)
        checkpoint.write_bytes(before)
        # Earlier versions recorded no content.
        record = tmp_path / "out.txt.partial.json"
        content = json.loads(record.read_text())
        for name in NEW_SETTINGS:
            content["settings"].pop(name, None)
        record.write_text(json.dumps(content))
        assert call(decoder, *flags) == status
        assert target.read_bytes() == whole.read_bytes()

    @pytest.mark.slow
    def test_killed_decoders_leave_what_can_be_resumed(self, tmp_path):
        """Kills a process at several moments, the last after its end."""
        source, target = tmp_path / "in.txt", tmp_path / "out.txt"
        text = "".join(f"{line}\n" for line in LINES) * 140
        source.write_text(text)
        flags = [RUN, SAMPLE, f"--decode_from_file={source}"]
        whole = tmp_path / "whole.txt"
        # Samples raise alarms.
        assert start(*flags, f"--decode_to_file={whole}").wait() == 3
        kept = 0
        partial = tmp_path / "out.txt.partial"
        while not target.exists():
            process = start(*flags, f"--decode_to_file={target}", "--resume")
            # Each process gets to write at least one window.
            while process.poll() is None:
                size = partial.stat().st_size if partial.exists() else 0
                if size > kept:
                    process.kill()
                time.sleep(0.01)
            process.wait()
            if partial.exists():
                assert whole.read_bytes().startswith(partial.read_bytes())
                kept = partial.stat().st_size
        assert target.read_bytes() == whole.read_bytes()


class PipeTest:
    @needs_ctranslate2
    def test_pipes_are_read_as_files(self, source, tmp_path, capsys):
        text = source.read_bytes()
        pairs = b"a b\ta b\nc\td\n"
        for flags in (
            [("decode_from_file", text)],
            [("decode_from_file", text), ("prefix_file", text)],
            [("score_file", pairs)],
        ):
            with piped(tmp_path, flags) as arguments:
                assert call(decoder, EXPORT, *arguments) == 0
            num_lines = capsys.readouterr().out.count("\n")
            assert num_lines == flags[0][1].count(b"\n")

    def test_a_missing_file_is_no_pipe(self, source, capsys):
        assert_fails(
            capsys,
            ["no.txt, which does not exist"],
            decoder,
            RUN,
            f"--decode_from_file={source}",
            "--prefix_file=no.txt",
        )


@contextlib.contextmanager
def piped(tmp_path, contents):
    """Yields flags whose files are named pipes with these contents."""
    with ThreadPoolExecutor() as pool:
        arguments = []
        for name, content in contents:
            path = tmp_path / name
            os.mkfifo(path)
            pool.submit(path.write_bytes, content)
            arguments.append(f"--{name}={path}")
        yield arguments
    for name, _ in contents:
        (tmp_path / name).unlink()


# Command lines, and the words of their messages.
REFUSALS = [
    ("--decode_from_file=in.txt --prefix_file=long.txt", "long.txt, line 2"),
    ("--score_file=long.tsv", "long.tsv, line 1 with 6,001"),
    ("--decode_from_file=in.txt --decode_to_file=in.txt", "must differ"),
    ("--decode_from_file=in.txt --decode_to_file=no/out", "does not exist"),
    ("--decode_from_file=in.txt --decode_to_file=busy", "Another process"),
    (
        "--decode_from_file=in.txt --decode_to_file=kept",
        "8 lines of an unfinished output. Add --res",
    ),
    ("--decode_from_file=in.txt --resume", "needs `--decode_to_file`"),
    ("--decode_from_file=in.txt --decode_hparams=beam_size=0", "`beam_size`"),
    ("--decode_from_file=in.txt --checkpoint_step=7", "step 7"),
    ("--decode_from_file=in.txt --tokenized", "a model that parses"),
]


class RefusalTest:
    def test_bad_input_is_refused_before_the_backend_loads(
        self, source, tmp_path
    ):
        (tmp_path / "long.txt").write_text("a\n" + "a b " * 3000 + "\n")
        (tmp_path / "long.tsv").write_text("a\t" + "a b " * 3000 + "\n")
        with contextlib.suppress(KeyboardInterrupt):
            with open_resumable(str(tmp_path / "kept"), {}) as output:
                output.writelines(["a\n"] * 8)
                raise KeyboardInterrupt
        script = (
            "import sys\n"
            "from keras_transformer.bin import decoder\n"
            f"for flags in {[flags.split() for flags, _ in REFUSALS]}:\n"
            "    try:\n"
            f"        decoder.run(['kt-decoder', {RUN!r}, *flags])\n"
            "    except SystemExit as exit:\n"
            "        print(exit.code)\n"
            "print('keras' in sys.modules)\n"
        )
        with open_resumable(str(tmp_path / "busy"), {}):
            before = sorted(os.listdir(tmp_path))
            result = subprocess.run(
                [sys.executable, "-c", script],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env=environment(__file__),
            )
            assert sorted(os.listdir(tmp_path)) == before
        assert result.stdout == "2\n" * len(REFUSALS) + "False\n"
        lines = result.stderr.splitlines()
        for line, (_, words) in zip(lines, REFUSALS, strict=True):
            assert line.startswith("kt-decoder: error: ")
            assert words in line
