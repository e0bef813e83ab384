"""The trained model that comes with the package."""

import os
import pathlib
import subprocess
import sys

import pytest

from keras_transformer import load
from keras_transformer import train
from keras_transformer.bin.datagen import find_vocabulary
from keras_transformer.errors import UserError
from keras_transformer.formats import demo
from keras_transformer.registry import get_problem
from keras_transformer.runs.run_directory import RunDirectory

NAME = "demo://en-es"
MAX_BYTES = 8_000_000  # of an archive
ARCHIVES = pathlib.Path(demo.__file__).with_name("demo_models")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "keras_transformer"


class DemoTest:
    def test_every_archive_is_named_and_small(self):
        files = sorted(path.name for path in ARCHIVES.glob("*"))
        assert files == [f"{name}.zip" for name in sorted(demo.MODELS)]
        for name in files:
            assert (ARCHIVES / name).stat().st_size <= MAX_BYTES

    def test_it_translates(self):
        translate = load(NAME)
        assert translate(["Good morning.", "Where is the station?"]) == [
            "Buenos días.",
            "¿Dónde está la estación?",
        ]

    def test_the_command_translates_without_a_network_or_a_backend(self, cache):
        program = (
            "import socket, sys\n"
            "sys.modules.update(tensorflow=None, keras=None)\n"
            "socket.socket.connect = None\n"
            "from keras_transformer.bin import decoder\n"
            "decoder.run()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, f"--output_dir={NAME}"],
            input="Where is the station?\n",
            capture_output=True,
            text=True,
            timeout=100,
            env={**os.environ, "XDG_CACHE_HOME": str(cache.parent)},
        )
        assert done.stdout == "¿Dónde está la estación?\n", done.stderr

    @pytest.mark.slow
    def test_a_run_of_own_pairs_starts_from_it(self, tmp_path):
        (tmp_path / "own.tsv").write_text("A dog.\tUn perro.\n" * 20)
        problem = get_problem("translate_files", str(tmp_path))
        pairs = [str(tmp_path / "own.tsv")]
        files = {"train": pairs, "dev": pairs}
        problem.use_files(files, vocabulary=find_vocabulary(NAME))
        problem.generate(None)
        options = {"warm_start_from": NAME, "eval_steps": 0, "train_steps": 1}
        path = str(tmp_path / "run")
        trainer = train(
            problem, None, path, overrides="peak_learning_rate=1e-9", **options
        )
        assert trainer.run.hparams.d_model == 256
        translate = load(path, engine="keras")
        assert translate(["Good morning."]) == ["Buenos días."]

    def test_it_is_unpacked_once_into_a_whole_run(self, cache):
        path = demo.find_directory(NAME)
        times = os.stat(path).st_mtime_ns
        assert demo.find_directory(NAME) == path
        assert os.stat(path).st_mtime_ns == times
        assert [entry.name for entry in cache.iterdir()] == [
            os.path.basename(path)
        ]
        card = (pathlib.Path(path) / "README.md").read_text(encoding="utf-8")
        assert "What it cannot do" in card
        assert "cc-by-2.0" in card
        assert RunDirectory(path).record["data_dir"] is None

    def test_a_cache_that_is_no_directory_is_not_needed(self, cache):
        cache.parent.write_text("a file")
        path = demo.find_directory(NAME)
        assert RunDirectory(path).checkpoints.steps

    def test_other_paths_stay(self, tmp_path):
        assert demo.find_directory(tmp_path) == tmp_path
        assert demo.find_directory("runs/demo") == "runs/demo"

    def test_unknown_names_are_refused(self):
        with pytest.raises(UserError, match="Did you mean: en-es"):
            load("demo://en-e")

    def test_a_damaged_archive_is_refused(self, monkeypatch, cache):
        monkeypatch.setitem(demo.MODELS, "en-es", "0" * 64)
        with pytest.raises(UserError, match="is damaged"):
            load(NAME)
        assert not list(cache.iterdir())
