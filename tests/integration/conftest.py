"""A run on the problem `copy`, trained once for all integration tests."""

import dataclasses
import fcntl
import importlib.util
import io
import os
import pathlib
import shutil
import sys

import pytest

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.problems import toy

HPARAMS = hparam.HParams(
    num_layers=1,
    d_model=64,
    d_ff=128,
    num_heads=4,
    dropout=0.0,
    batch_tokens=1024,
    learning_rate=0.7,
    warmup_steps=200,
    beam_size=2,
    extra_length=10,
)


@pytest.fixture(scope="session")
def copy_data(tmp_path_factory):
    """Path of a data directory that holds the problem `copy`.

    Its dev split is small, because every training translates it. Some
    lines are as short as those of the tests, which a run copies only by luck
    if it has never seen such lines.
    """

    def generate():
        data_dir = str(tmp_path_factory.mktemp("data"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(toy, "MIN_SYMBOLS", 1)
            patch.setitem(toy.NUM_PAIRS, "dev", 60)
            registry.get_problem("copy", data_dir).generate(None)
        return data_dir

    return os.fspath(made_once(tmp_path_factory, "copy_data", generate))


@pytest.fixture(scope="session")
def make_run(copy_data, tmp_path_factory):
    """Function that makes an untrained run on `copy` with changed hparams."""
    from keras_transformer.runs.run_directory import RunDirectory

    problem = registry.get_problem("copy", copy_data)

    def make(**changes):
        record = {
            "problem": "copy",
            "hparams_set": "mine",
            "random_seed": 0,
            "vocabulary_sha256": problem.vocabulary.sha256,
            "data_dir": copy_data,
        }
        path = str(tmp_path_factory.mktemp("runs") / "run")
        return RunDirectory.create(
            path,
            record,
            dataclasses.replace(HPARAMS, **changes),
            problem.vocabulary.model_bytes,
        )

    return make


@pytest.fixture(scope="session")
def trained_run(make_run, copy_data, tmp_path_factory):
    """Path of a run that has learned to copy; each process has its own copy.

    Its rate ends near 0. At a high rate, whether it copies a text depends on
    how a processor rounds.
    """
    from keras_transformer.training.trainer import Trainer

    def train():
        run = make_run(
            train_steps=1000,
            peak_learning_rate=0.004,
            warmup_steps=100,
            decay_steps=1100,
        )
        problem = registry.get_problem("copy", copy_data)
        Trainer(problem, run, eval_frequency=250).train(1000)
        return run.path

    path = tmp_path_factory.mktemp("runs") / "trained"
    shutil.copytree(made_once(tmp_path_factory, "trained_run", train), path)
    return os.fspath(path)


@pytest.fixture(scope="session")
def quick_model(trained_run, tmp_path_factory):
    """Path of the trained run's model for CTranslate2, or else of the run.

    Tests of what a command reads and writes use it, because it starts in a
    tenth of a second and the run in two.
    """
    if importlib.util.find_spec("ctranslate2") is None:
        return trained_run
    from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.search.options import DecodeOptions

    run = RunDirectory(trained_run)
    path = str(tmp_path_factory.mktemp("quick") / "model")
    return export_ctranslate2(
        run, path, DecodeOptions.from_hparams(run.hparams)
    )


def made_once(tmp_path_factory, name, make):
    """Returns a directory that the first process makes for all.

    `make test` names a folder for the processes of all its groups.
    """
    base = tmp_path_factory.getbasetemp()
    if "SHARED_TEST_RUNS" in os.environ:
        base = pathlib.Path(os.environ["SHARED_TEST_RUNS"])
        base.mkdir(parents=True, exist_ok=True)
    elif "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    path = base / name
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            shutil.copytree(make(), base / f"{name}.unfinished")
            os.rename(base / f"{name}.unfinished", path)
    return path


@pytest.fixture
def type_in(monkeypatch):
    """Function that replaces standard input by the bytes it is called with."""

    def replace(content):
        stdin = io.TextIOWrapper(io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", stdin)

    return replace
