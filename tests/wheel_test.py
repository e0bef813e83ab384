"""Builds a wheel, and uses it without the checkout."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest
from source_files import FOLDERS
from source_files import ROOT
from type_checker import check_program

TOP = "keras_transformer"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Returns the folder of packages of an environment with a new wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / "source" / name, symlinks=True)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    build = "import setuptools.build_meta as b; b.build_wheel('..')"
    subprocess.run(
        [sys.executable, "-c", build],
        check=True,
        capture_output=True,
        cwd=folder / "source",
    )
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv")
    places = {"base": folder / "venv", "platbase": folder / "venv"}
    packages = pathlib.Path(sysconfig.get_path("purelib", "venv", places))
    zipfile.ZipFile(wheel).extractall(packages)
    return packages


def run(installed, *arguments):
    """Runs Python where only the wheel has the package; returns its output."""
    return subprocess.check_output(
        [sys.executable, *arguments],
        text=True,
        cwd=installed.parent,  # from where the checkout is not found
        env={**os.environ, "PYTHONPATH": str(installed)},
    )


class WheelTest:
    def test_holds_every_file_of_the_package(self, installed):
        expected = {
            os.path.join(
                *([] if folder == TOP else [TOP]), path.relative_to(ROOT)
            )
            for folder in FOLDERS
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        files = {
            str(path.relative_to(installed))
            for path in (installed / TOP).rglob("*")
            if path.is_file()
        }
        assert files == expected

    def test_commands_come_from_it(self, installed):
        script = "import keras_transformer.bin.decoder as d; print(d.__file__)"
        path = run(installed, "-c", script).strip()
        assert path == str(installed / TOP / "bin/decoder.py")
        command = [*("-m", "keras_transformer.bin.decoder"), "--help"]
        assert "kt-decoder" in run(installed, *command)

    def test_type_checkers_read_its_types(self, installed, tmp_path):
        python = f"--python-executable={installed.parents[2]}/bin/python"
        assert "Success" in check_program(tmp_path, tmp_path, python)
