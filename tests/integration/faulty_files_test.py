"""Commands that read files of ours which are not as they were written.

Every command refuses such a file in one line before it loads the backend.
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import assert_fails
from commands import call

from keras_transformer.bin import attention
from keras_transformer.bin import avg_checkpoints
from keras_transformer.bin import decoder
from keras_transformer.bin import evaluate
from keras_transformer.bin import exporter
from keras_transformer.bin import plot
from keras_transformer.bin import trainer
from keras_transformer.bin.kt_decoder import decoder_model
from keras_transformer.runs.checkpoints import Checkpoints

FROZEN = Path(__file__).parents[1] / "fixtures" / "v0.1"
DEEP = b"[" * 100_000
COMMANDS = {
    "decoder": (decoder, "--decode_from_file={text}"),
    "evaluate": (evaluate, "--data_dir={data}"),
    "avg_checkpoints": (avg_checkpoints, "--noevaluate"),
    "exporter": (exporter, "--export_dir={out}"),
    "trainer": (trainer, "--data_dir={data}"),
    "attention": (attention, "--text=a", "--picture={out}.png"),
}
# Commands that describe the run on a card or resume it.
RECORDERS = ("evaluate", "avg_checkpoints", "exporter", "trainer")
CHECKPOINT = "checkpoints/ckpt-3000.npz"


def no_backend(*_):
    raise AssertionError("The file must be refused before this.")


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """Paths for the flags: a run, its data, a text and an output."""
    modules = [module for module, *_ in COMMANDS.values()] + [decoder_model]
    for module in modules:
        if hasattr(module, "load_backend"):
            monkeypatch.setattr(module, "load_backend", no_backend)
    shutil.copytree(FROZEN / "run", tmp_path / "run")
    (tmp_path / "data").mkdir()
    (tmp_path / "text").write_text("a b c\n")
    return {name: tmp_path / name for name in ("run", "data", "text", "out")}


def refused(capsys, paths, name, *words):
    command_, *options = COMMANDS[name]
    flags = [option.format(**paths) for option in options]
    before = contents(paths["run"].parent)
    assert_fails(
        capsys,
        words,
        command_,
        f"--output_dir={paths['run']}",
        *flags,
    )
    assert contents(paths["run"].parent) == before


def contents(directory):
    return sorted(map(str, directory.rglob("*")))


def replace(path, content):
    """Puts something else in the place of a file."""
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        path.unlink()
    if content == "directory":
        path.mkdir()
    elif content == "pipe":
        os.mkfifo(path)
    elif content == "loop":
        path.symlink_to(path.name)
    elif content != "missing":
        path.write_bytes(content)


class FaultyRunTest:
    @pytest.mark.parametrize("name", COMMANDS)
    @pytest.mark.parametrize(
        "file, content, words",
        [
            ("run.json", b"", "which is empty"),
            ("run.json", b'{"problem": 3}', "`problem` must be text"),
            ("run.json", DEEP, "nested too deeply"),
            ("hparams.json", b"\xff\x00", "not UTF-8"),
            ("hparams.json", b'{"d_model": "x"}', "d_model='x'"),
            ("hparams.json", b'{"d_modell": 3}', "d_modell"),
            ("hparams.json", "missing", "does not exist"),
            ("vocab.model", b"text", "vocab.model is not the vocabulary of"),
            ("vocab.model", "pipe", "which is not a file"),
            (CHECKPOINT, b"PK\x03\x04", "complete .npz file"),
            (CHECKPOINT, "directory", "a directory, not a file"),
            (CHECKPOINT, "pipe", "which is not a file"),
        ],
    )
    def test_every_command_refuses_it(
        self, paths, capsys, name, file, content, words
    ):
        replace(paths["run"] / file, content)
        refused(capsys, paths, name, words, f"{paths['run']}/{file}")

    @pytest.mark.parametrize("name", RECORDERS)
    @pytest.mark.parametrize(
        "file, content, words",
        [
            ("checkpoints/evaluations.json", b'[{"step": "x"}]', "`[0].step`"),
            ("checkpoints/evaluations.json", "loop", "which is not a file"),
            ("metrics.csv", b"step\nx\n", "`row 1.step` must be an integer"),
            ("metrics.csv", "directory", "a directory, not a file"),
            ("scores/test.json", b"{}", "must be a list but is an object"),
            ("scores/test.json", b'[{"step": 1}]', "lacks `[0].num_pairs`"),
        ],
    )
    def test_commands_that_keep_records_refuse_it(
        self, paths, capsys, name, file, content, words
    ):
        replace(paths["run"] / file, content)
        refused(capsys, paths, name, words, f"{paths['run']}/{file}")

    @pytest.mark.parametrize("name", COMMANDS)
    @pytest.mark.parametrize(
        "weight, array, words",
        [
            (
                "model/more",
                np.zeros(3),
                "'model/more' is of shape (3,) but must be absent",
            ),
            (
                "model/embedding/embeddings",
                np.zeros(3),
                "must be of shape (312, 16)",
            ),
        ],
    )
    def test_weights_of_another_model_are_refused(
        self, paths, capsys, name, weight, array, words
    ):
        checkpoints = Checkpoints(str(paths["run"] / "checkpoints"))
        checkpoints.save(3000, {**checkpoints.load(), weight: array})
        refused(capsys, paths, name, words, CHECKPOINT)

    @pytest.mark.parametrize(
        "number, value, words",
        [
            ("progress/step", 5, "where the step is 5"),
            ("progress/epoch", -1, "`progress.epoch` must be an integer of"),
            ("progress/batch", 0.5, "at least 0 but is 0.5"),
            ("progress/seconds", np.nan, "`progress.seconds` must be a finite"),
            ("progress/seconds", -1.0, "where the seconds are -1.0"),
            ("progress/seconds", np.zeros(2), "must be a number but is (2,)"),
            ("log/loss", np.zeros(2), "must be a number but is (2,)"),
            ("optimizer/m", np.zeros(10**6), "bytes for a model of"),
        ],
    )
    def test_resuming_refuses_another_position(
        self, paths, capsys, number, value, words
    ):
        checkpoints = Checkpoints(str(paths["run"] / "checkpoints"))
        checkpoints.save(3000, {**checkpoints.load(), number: value})
        refused(capsys, paths, "trainer", words, CHECKPOINT)

    def test_run_of_an_unknown_problem_still_decodes_but_has_no_data(
        self, paths, capsys
    ):
        record = paths["run"] / "run.json"
        record.write_text(record.read_text().replace('"copy"', '"copyy"'))
        for name in ("evaluate", "trainer"):
            refused(capsys, paths, name, "copyy", "copy?")
        decoder_, *options = COMMANDS["decoder"]
        flags = [option.format(**paths) for option in options]
        assert call(decoder_, f"--output_dir={paths['run']}", *flags) == 0

    @pytest.mark.parametrize(
        "name", ["ckpt-99999999999999999999.npz", "ckpt-٣.npz", "ckpt-07.npz"]
    )
    def test_file_of_another_name_is_no_checkpoint(self, paths, name):
        (paths["run"] / "checkpoints" / name).write_bytes(b"text")
        checkpoints = Checkpoints(str(paths["run"] / "checkpoints"))
        assert checkpoints.steps == [1500, 3000]

    def test_plot_refuses_figures_that_are_no_numbers(self, paths, capsys):
        replace(paths["run"] / "metrics.csv", b"step,dev_bleu\n1,x\n")
        flags = [
            f"--output_dir={paths['run']}",
            f"--picture={paths['out']}.png",
        ]
        assert_fails(
            capsys, ["`row 1.dev_bleu` must be a finite number"], plot, *flags
        )


class FaultyExportTest:
    @pytest.mark.parametrize(
        "content, words",
        [
            (b"", "which is empty"),
            (DEEP, "nested too deeply"),
            (b"{}", "which lacks `vocabulary_sha256`"),
            ((b'"max_tokens": ', b'"max_tokens": -'), "at least 1"),
            ((b'"alpha": 0.6', b'"alpha": "a"'), "`decode.alpha` must be"),
            ((b'"beam_size": 2', b'"beam_size": 0'), "beam_size=0"),
            ((b'"beam_size"', b'"bean_size"'), "bean_size"),
        ],
    )
    @pytest.mark.parametrize(
        "format, file",
        [
            ("ctranslate2", "export.json"),
            ("saved_model", "1/assets.extra/export.json"),
        ],
    )
    def test_decoder_refuses_the_record(
        self, paths, capsys, format, file, content, words
    ):
        shutil.copytree(FROZEN / format, paths["out"])
        path = paths["out"] / file
        if isinstance(content, tuple):
            content = path.read_bytes().replace(*content)
        replace(path, content)
        refused(capsys, {**paths, "run": paths["out"]}, "decoder", words, file)

    @pytest.mark.parametrize(
        "file, content, words",
        [
            ("vocab.model", b"text", "vocab.model is not the vocabulary of"),
            ("model.bin", b"", "CTranslate2 cannot load"),
            ("model.bin", b"\xff" * 1000, "CTranslate2 cannot load"),
            ("config.json", b"{", "config.json"),
            ("shared_vocabulary.json", b"[]", "differs from vocab.model"),
        ],
    )
    def test_decoder_refuses_files_of_ctranslate2(
        self, paths, capsys, file, content, words
    ):
        pytest.importorskip("ctranslate2")
        shutil.copytree(FROZEN / "ctranslate2", paths["out"])
        replace(paths["out"] / file, content)
        refused(capsys, {**paths, "run": paths["out"]}, "decoder", words)


class FaultyDataTest:
    @pytest.mark.parametrize(
        "file, content, words",
        [
            ("manifest.json", b"{", "not JSON from line 1"),
            ("manifest.json", b"{}", "which lacks `made_from`"),
            ("manifest.json", "loop", "which is not a file"),
            ("vocab.model", b"text", "vocab.model is not the vocabulary of"),
            ("train.source.ids", b"\xff" * 6, "with 6 bytes for"),
            ("train.target.offsets.npy", b"text", "not an array of numbers"),
            ("dev.source.ids", "missing", "does not exist"),
        ],
    )
    def test_training_refuses_it(
        self, paths, capsys, copy_data, file, content, words
    ):
        shutil.rmtree(paths["data"])
        shutil.copytree(copy_data, paths["data"])
        replace(paths["data"] / "copy" / file, content)
        shutil.rmtree(paths["run"])
        options = ("--problem=copy", "--hparams_set=transformer_tiny")
        flags = [f"--output_dir={paths['run']}", f"--data_dir={paths['data']}"]
        words = [words, f"copy/{file}", "kt-datagen again"]
        if file == "vocab.model":
            words.remove("kt-datagen again")
        assert_fails(capsys, words, trainer, *flags, *options)
        assert not paths["run"].exists()

    @pytest.mark.parametrize(
        "content, words",
        [
            (b"a b\n", "with 1 lines instead of 200"),
            (b"\xff\n", "not UTF-8 text at byte 0"),
            ("pipe", "which is not a file"),
        ],
    )
    def test_evaluation_refuses_the_text(
        self, paths, capsys, copy_data, content, words
    ):
        shutil.rmtree(paths["data"])
        shutil.copytree(copy_data, paths["data"])
        replace(paths["data"] / "copy" / "test.target.txt", content)
        refused(capsys, paths, "evaluate", words, "test.target.txt")
