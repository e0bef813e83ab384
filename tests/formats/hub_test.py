"""Downloads and uploads with a server on this machine, never the hub."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from commands import assert_fails
from hub_server import REVISION
from hub_server import TOKEN
from hub_server import serve_hub
from hub_server import yaml
from processes import environment
from tiny_marian import write_tiny_marian

from keras_transformer.bin import exporter
from keras_transformer.formats.marian.reader import import_marian
from keras_transformer.runs.run_directory import RunDirectory

pytest.importorskip("huggingface_hub")

# The client reads its variables when it is imported, so each case is a process.
PROGRAM = """
import sys
from keras_transformer.bin import exporter
exporter.run(["kt-exporter", "--format=marian", *sys.argv[1:]])
"""
UPLOAD = """
import sys
from keras_transformer.formats import hub
sys.exit(hub.upload(*sys.argv[1:]) != f"{hub.os.environ['HF_ENDPOINT']}/me/a")
"""
DOWNLOAD = """
import sys
from keras_transformer.bin import import_
import_.run(["kt-import", *sys.argv[1:]])
"""
WITHOUT_CLIENT = """
import importlib.util as util
find = util.find_spec
util.find_spec = lambda name: None if name == "huggingface_hub" else find(name)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("marian")
    write_tiny_marian(directory / "source")
    return import_marian(str(directory / "source"), str(directory / "run"))


@pytest.fixture(scope="module")
def server():
    with serve_hub() as server:
        yield server


@pytest.fixture
def call(server, tmp_path):
    def call(program, *args, **variables):
        variables = {
            "HF_ENDPOINT": server.address,
            "HF_TOKEN": TOKEN,
            "HF_HOME": str(tmp_path / "hf"),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            **variables,
        }
        return subprocess.run(
            [sys.executable, "-c", program, *args],
            env=environment(__file__, **variables),
            capture_output=True,
            text=True,
        )

    return call


@pytest.fixture
def push(call, run, tmp_path):
    def push(name, *flags, before="", **variables):
        return call(
            before + PROGRAM,
            f"--output_dir={run.path}",
            f"--export_dir={tmp_path / 'export'}",
            f"--push_to_hub={name}",
            *flags,
            **variables,
        )

    return push


class DownloadTest:
    def test_a_model_of_the_hub_becomes_a_run(
        self, call, run, server, tmp_path
    ):
        source = os.path.join(os.path.dirname(run.path), "source")
        server.models["me/marian"] = {
            name: pathlib.Path(source, name).read_bytes()
            for name in os.listdir(source)
        }
        flags = ["--source=hf://me/marian", f"--output_dir={tmp_path / 'run'}"]
        done = call(DOWNLOAD, *flags)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{tmp_path / 'run'}\n"
        found = RunDirectory(str(tmp_path / "run")).checkpoints.load()
        for name, array in run.checkpoints.load().items():
            np.testing.assert_array_equal(found[name], array)

    @pytest.mark.parametrize(
        "name, words, variables",
        [
            ("me/none", "Repository Not Found", {}),
            ("me/pickle", "has no model.safetensors", {}),
            ("a/b/c", "must be named hf://OWNER/NAME", {}),
            ("", "Received: hf://.", {}),
            (
                "me/marian",
                "http://127.0.0.1:9 does not answer",
                {"HF_ENDPOINT": "http://127.0.0.1:9"},
            ),
        ],
    )
    def test_what_cannot_be_downloaded_is_one_line(
        self, call, server, tmp_path, name, words, variables
    ):
        server.models["me/pickle"] = {"config.json": b"{}"}
        flags = [f"--source=hf://{name}", f"--output_dir={tmp_path / 'run'}"]
        done = call(DOWNLOAD, *flags, **variables)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        last = done.stderr.splitlines()[-1]
        assert last.startswith("kt-import: error:") and words in last
        assert "Errno" not in last
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        "answer",
        [
            '{"id": "me/odd", "siblings": []}',
            f'{{"id": "me/odd", "sha": "{REVISION}"}}',
            "[" * 100_000,
        ],
    )
    def test_an_answer_that_is_not_of_the_hub_is_one_line(
        self, call, server, tmp_path, answer
    ):
        server.models["me/odd"] = {"config.json": b"{}"}
        server.descriptions["me/odd"] = answer
        flags = ["--source=hf://me/odd", f"--output_dir={tmp_path / 'run'}"]
        done = call(DOWNLOAD, *flags)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert "Traceback" not in done.stderr
        last = done.stderr.splitlines()[-1]
        assert last.startswith("kt-import: error:") and len(last) < 500


class UploadTest:
    def test_the_hub_gets_every_file(self, push, server, tmp_path):
        for licence in ("apache-2.0", "mit"):  # the second push replaces
            done = push(
                "me/opus", f"--licence={licence}", "--datasets=wmt/wmt14"
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout == f"{tmp_path / 'export'}\n"
            assert f"{server.address}/me/opus" in done.stderr
            files = server.models["me/opus"]
            assert files == {
                name: (tmp_path / "export" / name).read_bytes()
                for name in os.listdir(tmp_path / "export")
            }
            assert "model.safetensors" in files and "config.json" in files
            header = yaml.safe_load(files["README.md"].split(b"---\n")[1])
            assert header["license"] == licence
            assert header["datasets"] == ["wmt/wmt14"]
            assert header["library_name"] == "transformers"

    def test_a_recorded_licence_is_not_replaced(self, tmp_path, capsys):
        source = tmp_path / "source"
        write_tiny_marian(source)
        (source / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
        run = import_marian(str(source), str(tmp_path / "run"))
        flags = [f"--output_dir={run.path}", "--licence=mit"]
        words = ["must be what the run records, apache-2.0"]
        assert_fails(capsys, words, exporter, *flags)

    def test_a_directory_without_a_card_gets_it(self, call, server, tmp_path):
        # As in a SavedModel, whose card is in its folder assets.extra.
        (tmp_path / "1").mkdir()
        (tmp_path / "1" / "saved_model.pb").write_bytes(b"graph")
        card = tmp_path / "README.md"
        card.write_text("---\nlanguage: [en]\n---\n")
        done = call(UPLOAD, str(tmp_path / "1"), "me/a", str(card))
        assert done.returncode == 0, done.stderr
        assert server.models["me/a"] == {
            "README.md": card.read_bytes(),
            "saved_model.pb": b"graph",
        }

    @pytest.mark.parametrize(
        "name, words, variables",
        [
            ("me/b", "no valid token", {"HF_TOKEN": ""}),
            ("me/b", "no valid token", {"HF_TOKEN": "hf_wrong"}),
            ("a/b/c", "Received: 'a/b/c'", {}),
            ("me/a--b", "Received: 'me/a--b'", {}),
            (
                "me/a",
                "No answer from http://127.0.0.1:9",
                {"HF_ENDPOINT": "http://127.0.0.1:9"},
            ),
            ("me/a", "pip install '.[hub]'", {"before": WITHOUT_CLIENT}),
        ],
    )
    def test_what_is_wrong_is_said_before_the_export(
        self, push, tmp_path, name, words, variables
    ):
        done = push(name, **variables)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert words in done.stderr
        assert not (tmp_path / "export").exists()

    @pytest.mark.parametrize(
        "name, licence, words",
        [
            ("others/model", "mit", "does not let you write others/model"),
            ("me/model", "invented", "must be one of the known licences"),
        ],
    )
    def test_a_refused_model_is_complete_here(
        self, push, server, tmp_path, name, licence, words
    ):
        done = push(name, f"--licence={licence}")
        assert done.returncode == 2
        last = done.stderr.splitlines()[-1]
        assert words in last
        assert last.endswith(f"{tmp_path / 'export'} is complete.")
        assert (tmp_path / "export" / "model.safetensors").exists()
        assert not server.models.get(name)
