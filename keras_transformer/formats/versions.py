"""Directories of numbered versions, which model servers watch."""

import contextlib
import dataclasses
import importlib.metadata
import os

from keras_transformer.errors import UserError
from keras_transformer.files import directories
from keras_transformer.files import locks
from keras_transformer.files import writing
from keras_transformer.formats import exported
from keras_transformer.runs import data_record
from keras_transformer.runs.model_card import write_model_card
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import check_checkpoint
from keras_transformer.scoring.quality import QualityEstimate


@contextlib.contextmanager
def make_version(export_dir):
    """Makes the next version of an export, which appears once it is complete.

    Yields the path of a directory for the caller to fill, and the path `N` that
    it gets at the end. An error or a kill leaves no version. First, leftovers
    of an earlier kill are removed.
    """
    _check_content(export_dir)
    with locks.lock_directory(export_dir, wait=False):
        number = max(directories.list_versions(export_dir), default=0) + 1
        path = os.path.join(export_dir, str(number))
        # The name is not a number, so no server loads the directory early.
        with directories.stage_directory(export_dir) as aside:
            yield aside, path
            writing.synchronise(aside)
            writing.move(aside, path)


def write_version(
    run, step, export_dir, export, packages, write, num_bytes, certify
):
    """Writes a checkpoint as the next version of an export; returns its path.

    `write` takes a directory and the step, fills the directory and returns
    further entries of `export.json`. The dictionary `export` is as for
    `write_model_card`. A weight takes `num_bytes` or more. `certify` takes the
    directory before it appears, and returns a text for the card, or is None.
    """
    step = run.checkpoints.find(step)
    check_checkpoint(run, step)
    num_bytes *= run.count_parameters(step)
    format = export["format"].removesuffix("_ids")
    check_export_dir(export_dir, format, num_bytes)
    with make_version(export_dir) as (aside, path):
        more = write(aside, step)
        extra = os.path.join(aside, exported.EXTRA)  # of a SavedModel
        place = extra if os.path.isdir(extra) else aside
        _write_record(place, run, step, export["decode"], packages, more)
        export["certificate"] = certify and certify(aside)
        write_model_card(place, run, step, export)
    # A second copy for people who open the directory of versions.
    write_model_card(export_dir, run, step, export)
    return path


def _write_record(directory, run, step, options, packages, more):
    """Writes `export.json`, and the estimate of quality of the checkpoint."""
    if quality := QualityEstimate.read(run.path, step):
        quality.write(directory)
    # The readers in `decoding` need `decode` and the hash of the vocabulary.
    # The other entries here say where the model comes from.
    record = {
        "problem": run.problem_name,
        "hparams_set": run.record.get("hparams_set"),
        "step": step,
        # An averaged run has one checkpoint, made of several.
        "checkpoint_steps": run.averaged_steps or [step],
        **run.vocabularies.hashes,
        "languages": data_record.find_languages(run),
        "decode": dataclasses.asdict(options),
        **more,
        "versions": {
            name: importlib.metadata.version(name) for name in packages
        },
    }
    writing.write_record(os.path.join(directory, exported.EXPORT_FILE), record)


def check_export_dir(export_dir, format, num_bytes=0):
    """Checks that the next version can be written to a directory.

    It must not be a run, a file, or a directory of other files or formats, and
    no other process may write there. `num_bytes` must fit on the disk.
    """
    # Version 1 beside `checkpoints/` would make the run look like an export.
    if RunDirectory.exists(export_dir):
        raise UserError(
            "`export_dir` must not be the directory of a run. Received: "
            f"export_dir={export_dir!r}. Name one inside it, or elsewhere."
        )
    _check_content(export_dir)
    # TensorFlow Serving would try to load the newest version in any format.
    if exported.find_export_format(export_dir) not in (None, format):
        raise UserError(
            "`export_dir` must hold versions of one format. Received: "
            f"export_dir={export_dir!r} with versions that are not of the "
            f"format {format}. Name another directory."
        )
    directories.check_directory(export_dir, "`export_dir`")
    if os.path.isdir(os.path.dirname(os.path.abspath(export_dir))):
        # Fails if another process is exporting. The lock also makes the
        # directory and removes it: that tells more than permissions do.
        with (
            locks.lock_directory(export_dir, wait=False),
            writing.explain_disk_errors(export_dir),
        ):
            writing.check_space(export_dir, num_bytes)


def check_backend(backend, what):
    """Raises a `UserError` if the backend is not TensorFlow."""
    if backend != "tensorflow":
        raise UserError(
            f"{what} must be exported with TensorFlow. Received: "
            f"KERAS_BACKEND={backend}. Use KERAS_BACKEND=tensorflow, which "
            "also exports runs of JAX."
        )


def _check_content(export_dir):
    # Versions beside the files of a model would be overlooked.
    if exported.is_ctranslate2(export_dir):
        raise UserError(
            "`export_dir` must hold each model in a folder 1, 2, and so on. "
            f"Received: export_dir={export_dir!r}, where version 0.1 wrote a "
            f"model without one. Move its files to {export_dir}/1, or name "
            "another directory."
        )
    directories.check_replaceable(
        export_dir,
        "export_dir",
        "new, empty or hold earlier versions",
        # One version suffices: a model card or notes may lie beside it.
        lambda names: any(map(directories.is_version, names)),
    )
