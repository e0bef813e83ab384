"""kt-exporter on a run that copies, and programs that use its output."""

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from keras_transformer.bin import exporter
from keras_transformer.decoding.translator import Translator
from keras_transformer.formats import versions
from keras_transformer.runs.run_directory import RunDirectory

# A process without this package. TensorFlow itself may import Keras.
STRANGER = """
import json, sys
sys.modules["keras_transformer"] = None
import tensorflow as tf
import tensorflow_text
translate = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
translations = translate(text=tf.constant(json.load(sys.stdin)))["translations"]
print(json.dumps([text.decode() for text in translations.numpy()[:, 0]]))
"""


def call(*flags):
    """Runs the command in this process and returns its exit status."""
    with pytest.raises(SystemExit) as exit:
        exporter.run(["exporter", *flags])
    return exit.value.code or 0


def assert_fails(capsys, words, *flags):
    """Asserts that the command fails with one line that holds the words."""
    assert call(*flags) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    for word in words:
        assert word in output.err


class ExporterTest:
    def test_the_next_version_is_written_with_its_settings_and_a_card(
        self, trained_run, tmp_path, capfd
    ):
        (tmp_path / "1").mkdir()
        flags = [f"--output_dir={trained_run}", f"--export_dir={tmp_path}"]
        assert call(*flags, "--beam_size=3", "--alpha=0.5") == 0
        # Its path is all that is printed.
        path = tmp_path / "2"
        assert capfd.readouterr() == (f"{path}\n", "")
        assert (path / "saved_model.pb").is_file()
        text = (path / "assets.extra/export.json").read_text("utf-8")
        record, run = json.loads(text), RunDirectory(trained_run)
        assert record["problem"] == "copy"
        assert record["step"] == run.checkpoints.steps[-1]
        assert record["vocabulary_sha256"] == run.vocabulary.sha256
        assert record["decode"]["beam_size"] == 3
        assert record["decode"]["alpha"] == 0.5
        assert record["precision"] == "float32"
        for card in (tmp_path, path / "assets.extra"):
            assert (
                "20 of 20 translations are equal"
                in (card / "README.md").read_text()
            )

    @pytest.mark.slow
    def test_a_program_without_this_package_gets_the_same_text(
        self, trained_run, tmp_path
    ):
        flags = [f"--output_dir={trained_run}", f"--export_dir={tmp_path}"]
        assert call(*flags, "--beam_size=3", "--alpha=0.5") == 0
        draw = random.Random(0)
        texts = [
            " ".join(draw.choices("abcdefghijklmnop", k=draw.randint(0, 12)))
            for _ in range(200)
        ]
        done = subprocess.run(
            [sys.executable, "-c", STRANGER, str(tmp_path / "1")],
            input=json.dumps(texts),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        expected = Translator.load(trained_run, engine="keras")(
            texts, beam_size=3, alpha=0.5
        )
        assert json.loads(done.stdout) == expected


class BadInputTest:
    def test_a_missing_run_is_one_line(self, tmp_path, capsys):
        assert_fails(
            capsys, ["does not exist"], f"--output_dir={tmp_path / 'none'}"
        )
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("name", ["thesis", "file"])
    def test_a_foreign_target_is_one_line(
        self, trained_run, tmp_path, capsys, name
    ):
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "notes.txt").write_text("mine")
        (tmp_path / "file").write_text("mine")
        flags = [f"--output_dir={trained_run}"]
        flags.append(f"--export_dir={tmp_path / name}")
        assert_fails(capsys, ["export_dir", str(tmp_path / name)], *flags)
        assert os.listdir(tmp_path / "thesis") == ["notes.txt"]

    def test_an_unwritable_target_is_one_line(
        self, trained_run, tmp_path, capsys
    ):
        (tmp_path / "file").write_text("mine")
        target = tmp_path / "file" / "export"
        assert_fails(
            capsys,
            [str(target)],
            f"--output_dir={trained_run}",
            f"--export_dir={target}",
        )

    @pytest.mark.parametrize(
        "flags, words",
        [
            (["--precision=float16"], ["float32, bfloat16", "float16"]),
            (["--quantization=int4"], ["float32, float16", "int4"]),
            (["--export_dir=/proc/export"], ["/proc/export"]),
            (["--checkpoint_step=7"], ["step 7"]),
            (
                ["--export_dir={tmp}/file/a/b"],
                ["{tmp}/file is not a directory"],
            ),
        ],
    )
    def test_bad_flags_are_refused_before_the_backend_loads(
        self, trained_run, tmp_path, capsys, monkeypatch, flags, words
    ):
        monkeypatch.setattr(exporter, "load_backend", pytest.fail)
        (tmp_path / "file").write_text("mine")
        flags = [flag.format(tmp=tmp_path) for flag in flags]
        words = [word.format(tmp=tmp_path) for word in words]
        target = f"--export_dir={tmp_path / 'export'}"
        assert_fails(
            capsys, words, f"--output_dir={trained_run}", target, *flags
        )
        assert os.listdir(tmp_path) == ["file"]

    def test_another_backend_is_one_line(
        self, trained_run, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setenv("KERAS_BACKEND", "jax")
        flags = [f"--output_dir={trained_run}", f"--export_dir={tmp_path}"]
        assert_fails(capsys, ["with TensorFlow", "=jax"], *flags)

    @pytest.mark.parametrize("format", ["saved_model", "ctranslate2"])
    def test_a_second_export_at_once_is_one_line(
        self, trained_run, tmp_path, capsys, format
    ):
        (tmp_path / "1").mkdir()
        with versions.make_version(str(tmp_path)):
            flags = [f"--output_dir={trained_run}", f"--export_dir={tmp_path}"]
            flags.append(f"--format={format}")
            assert_fails(capsys, ["Another process is writing"], *flags)

    @pytest.mark.parametrize(
        "format",
        [pytest.param("saved_model", marks=pytest.mark.slow), "ctranslate2"],
    )
    def test_a_disk_without_room_leaves_nothing(
        self, trained_run, tmp_path, capsys, limit_files, format
    ):
        if format == "ctranslate2":
            pytest.importorskip("ctranslate2")
        limit_files(20_000)
        assert_fails(
            capsys,
            ["Cannot write ", str(tmp_path), "Make room"],
            f"--output_dir={trained_run}",
            f"--export_dir={tmp_path / 'export'}",
            f"--format={format}",
        )
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("format", ["saved_model", "ctranslate2"])
    def test_the_run_itself_is_no_target(self, trained_run, capsys, format):
        assert_fails(
            capsys,
            ["directory of a run"],
            f"--output_dir={trained_run}",
            f"--export_dir={trained_run}",
            f"--format={format}",
        )

    def test_a_corrupt_checkpoint_writes_nothing(
        self, make_run, tmp_path, capsys
    ):
        run = make_run()
        run.checkpoints.save(5, {"model/a": np.zeros(3)})
        with open(run.checkpoints.path(5), "r+b") as file:
            file.truncate(20)
        target = tmp_path / "export"
        assert_fails(
            capsys,
            ["complete .npz", "ckpt-5"],
            f"--output_dir={run.path}",
            f"--export_dir={target}",
        )
        assert not target.exists()

    def test_a_flag_of_the_other_format_is_one_line(self, trained_run, capsys):
        assert_fails(
            capsys,
            ["--quantization", "--precision"],
            f"--output_dir={trained_run}",
            "--quantization=int8",
        )
