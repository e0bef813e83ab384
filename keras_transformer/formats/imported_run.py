"""Directories of runs that were imported instead of trained."""

import functools

from keras_transformer.files import directories
from keras_transformer.files.reading import file_error
from keras_transformer.runs.run_directory import RUN_FILE
from keras_transformer.runs.run_directory import RunDirectory


def unsupported(path, fault):
    """Returns the error about a feature that no model here has."""
    remedy = "A model with this feature cannot be imported."
    return file_error(path, fault, remedy)


def check_output_dir(path):
    """Checks that an imported run can be written to a directory."""
    directories.check_directory(path, "`output_dir`")
    directories.check_replaceable(path, "output_dir", "new or empty")


def write_run(path, record, hparams, vocabularies, arrays, step=0):
    """Writes a run with one checkpoint, and returns its `RunDirectory`.

    The directory must be new or empty. The `record` becomes `run.json`, with
    the hashes of the `Vocabularies`, and the arrays are weights by our names.
    """
    check = functools.partial(check_output_dir, path)
    with directories.replace_content(path, RUN_FILE, check) as aside:
        run = RunDirectory.create(
            aside,
            {**record, **vocabularies.hashes},
            hparams,
            *vocabularies.model_bytes,
        )
        run.checkpoints.save(step, arrays)
    return RunDirectory(path)
