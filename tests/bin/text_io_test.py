"""Outputs replace no input and no file of a model."""

import pytest

from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.text_io import check_outputs


def values_of(*arguments):
    values = flags.define(
        """
  output_dir
  rerank_by (path): Another run.
  report (path): An output.
  text (path): An input.
  parses (paths): Several inputs.
"""
    )
    values(["command", *arguments])
    return values


def check(output, *arguments):
    values = values_of(f"--report={output}", *arguments)
    check_outputs(values, ["report"], ["text", "parses"])


class InputsTest:
    @pytest.mark.parametrize("flag", ["text={}", "parses=no,{}"])
    @pytest.mark.parametrize("name", ["a.txt", "./a.txt", "link"])
    def test_an_input_is_refused(self, tmp_path, flag, name):
        path = tmp_path / "a.txt"
        path.touch()
        (tmp_path / "link").symlink_to(path)
        with pytest.raises(ValueError, match="must differ.* --report="):
            check(f"{tmp_path}/{name}", f"--{flag.format(path)}")

    def test_another_or_a_new_file_is_allowed(self, tmp_path):
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).touch()
        for name in ("b.txt", "new.txt"):
            check(tmp_path / name, f"--text={tmp_path}/a.txt")


class ModelsTest:
    @pytest.fixture
    def run(self, tmp_path):
        run = tmp_path / "run"
        (run / "checkpoints").mkdir(parents=True)
        for name in ("run.json", "vocab.model", "out.txt", "checkpoints/a.npz"):
            (run / name).touch()
        return run

    @pytest.mark.parametrize(
        "name", ["run.json", "vocab.model", "checkpoints/a.npz"]
    )
    def test_a_file_of_the_model_is_refused(self, run, name):
        with pytest.raises(ValueError, match=f"must not be a file.*{name}"):
            check(run / name, f"--output_dir={run}")

    def test_a_file_of_another_model_is_refused(self, run):
        with pytest.raises(ValueError, match="with --rerank_by=.*run. Name"):
            check(run / "run.json", f"--rerank_by=none,{run}")

    @pytest.mark.parametrize("name", ["run/out.txt", "run/new.json", "a.json"])
    def test_any_other_file_is_allowed(self, run, name):
        (run.parent / "a.json").touch()
        check(run.parent / name, f"--output_dir={run}")
