"""A Python without tensorflow-text, and one that also lacks what Windows lacks.

The Python is a virtual environment whose packages are links to those of this
one, except for tensorflow-text. Nothing is hidden from it: it is not there.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import venv

import pytest
from processes import environment

pytest.importorskip("tensorflow")

MODEL = pathlib.Path(__file__).parents[1] / "fixtures/v0.1/saved_model"
HPARAMS = "num_layers=1,d_model=16,d_ff=32,num_heads=2,batch_tokens=256"
HPARAMS += ",extra_length=4"  # an untrained model writes up to the limit
# Trains, decodes and exports in one process, because each loads TensorFlow.
SCRIPT = """
import importlib.util, sys
assert importlib.util.find_spec("tensorflow_text") is None
import keras_transformer as kt
from keras_transformer.bin import decoder, exporter, trainer

def call(command, *flags):
    try:
        command.run([command.__name__, *flags])
    except SystemExit as end:
        # The output of an untrained model may raise an alarm.
        assert end.code in (None, 0, 3), (command, end.code)

data_dir, run = sys.argv[1:3]
call(trainer, "--problem=copy", f"--data_dir={data_dir}",
     f"--output_dir={run}", "--hparams_set=transformer_tiny",
     f"--hparams={sys.argv[3]}", "--train_steps=3", "--eval_frequency=3")
open(f"{run}.source", "w").write("a b c\\n")
call(decoder, f"--output_dir={run}", f"--decode_from_file={run}.source",
     f"--decode_to_file={run}.target")
assert kt.load(run)(["a b c"]) == open(f"{run}.target").read().splitlines()
call(exporter, f"--output_dir={run}", "--format=saved_model_ids",
     f"--export_dir={run}.export")

from keras_transformer.decoding.served_model import open_model
import numpy as np
model = open_model(f"{run}.export/1")
outputs = model.call("ids", {"inputs": np.array([[5, 6, 1]], "int32")})
assert outputs["outputs"].shape[0] == 1
try:
    open_model(sys.argv[4])
except ValueError as error:
    assert "needs the package tensorflow-text" in str(error)
else:
    raise AssertionError("a SavedModel of text was loaded")
try:
    decoder.run(["kt-decoder", f"--output_dir={sys.argv[4]}"])
except SystemExit as end:
    assert end.code == 2
"""
# What Python for Windows lacks or refuses, as far as this package uses it.
LIKE_WINDOWS = """
import builtins, os, psutil, stat, types

def import_(name, globals=None, *rest, **options):
    importer = (globals or {}).get("__name__", "")
    if name in {"fcntl", "resource", "pwd", "grp", "termios"}:
        if importer.startswith("keras_transformer"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return plain_import(name, globals, *rest, **options)

def open_(path, flags, *rest, **options):
    if not flags & os.O_CREAT and os.path.isdir(path):
        raise PermissionError(13, "Windows opens no directories", path)
    return plain_open(path, flags, *rest, **options)

def refuse_open_files(function):
    def move(path, *rest, **options):
        if os.path.isfile(path):
            for number in os.listdir("/proc/self/fd"):
                link = f"/proc/self/fd/{number}"
                if os.path.exists(link) and os.path.samefile(link, path):
                    raise PermissionError(32, "The file is open", path)
        return function(path, *rest, **options)
    return move

def synchronise(descriptor):
    import fcntl
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(9, "Bad file descriptor")

plain_import, plain_open = builtins.__import__, os.open
builtins.__import__, os.open, os.fsync = import_, open_, synchronise
for name in ("replace", "rename", "remove"):
    setattr(os, name, refuse_open_files(getattr(os, name)))
psutil.Process.memory_info = lambda self: types.SimpleNamespace(peak_wset=1)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Path of a Python that has all packages except tensorflow-text."""
    path = tmp_path_factory.mktemp("venv") / "venv"
    venv.create(path, symlinks=True)
    (packages,) = path.glob("lib/python*/site-packages")
    origin = importlib.util.find_spec("tensorflow").origin
    for entry in pathlib.Path(origin).parents[1].iterdir():
        if not entry.name.startswith("tensorflow_text"):
            (packages / entry.name).symlink_to(entry)
    return os.fspath(path / "bin/python")


def run(python, *arguments, path=()):
    variables = environment(__file__)
    folders = [*map(str, path), variables["PYTHONPATH"]]
    return subprocess.run(
        [python, *arguments],
        capture_output=True,
        text=True,
        input="a b c\n",
        env={**variables, "PYTHONPATH": os.pathsep.join(folders)},
        timeout=300,
    )


class WithoutTensorflowTextTest:
    @pytest.mark.slow
    @pytest.mark.parametrize("system", ["linux", "like_windows"])
    def test_all_but_the_model_of_text_works(
        self, python, copy_data, tmp_path, system
    ):
        if system == "like_windows":
            (tmp_path / "sitecustomize.py").write_text(LIKE_WINDOWS)
        flags = [copy_data, tmp_path / "run", HPARAMS, MODEL / "1"]
        done = run(python, "-c", SCRIPT, *map(str, flags), path=[tmp_path])
        assert done.returncode == 0, done.stderr[-2000:]
        message = done.stderr.splitlines()[-1]
        assert message.startswith("kt-decoder: error: ")
        assert "needs the package tensorflow-text" in message
        assert "the run itself" in message
        record = tmp_path / "run.export/1/assets.extra/export.json"
        versions = json.loads(record.read_text())["versions"]
        assert "tensorflow" in versions
        assert "tensorflow-text" not in versions

    def test_an_export_of_text_is_refused_with_a_line(self, python, tmp_path):
        flags = [f"--output_dir={MODEL.parent / 'run'}"]
        flags.append(f"--export_dir={tmp_path}/export")
        name = "keras_transformer.bin.exporter"
        done = run(python, "-m", name, *flags)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "needs the package tensorflow-text" in done.stderr
        assert "--format=saved_model_ids" in done.stderr
        assert os.listdir(tmp_path) == []


class RequirementTest:
    def test_it_is_required_where_it_has_wheels(self):
        requirements = pytest.importorskip("packaging.requirements")
        lines = (pathlib.Path(__file__).parents[2] / "setup.cfg").read_text()
        (line,) = [
            line.strip()
            for line in lines.splitlines()
            if line.strip().startswith("tensorflow-text")
        ]
        marker = requirements.Requirement(line).marker
        for platform, expected in (
            ("linux", True),
            ("darwin", True),
            ("win32", False),
        ):
            assert marker.evaluate({"sys_platform": platform}) is expected
