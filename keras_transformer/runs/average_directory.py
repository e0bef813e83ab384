"""The directory of an average, which replaces an earlier one as a whole."""

import functools
import os

from keras_transformer.data.subwords import SOURCE_VOCABULARY_FILE
from keras_transformer.data.subwords import VOCABULARY_FILE
from keras_transformer.files import directories
from keras_transformer.runs.run_directory import HPARAMS_FILE
from keras_transformer.runs.run_directory import RUN_FILE
from keras_transformer.runs.run_directory import TAGGERS
from keras_transformer.runs.run_directory import RunDirectory

# What belongs to one average. Everything else in its directory, such as the
# user's own README or an export, stays when the average is replaced.
OWN = {RUN_FILE, HPARAMS_FILE, VOCABULARY_FILE, SOURCE_VOCABULARY_FILE}
OWN |= {"checkpoints", "decodes", "scores", TAGGERS}


def replaced(path, run):
    """Makes an empty directory that becomes the directory of an average.

    It gets its name when the block ends without an error. Until then an
    earlier average stays in its place.

    Args:
        path: Path of the directory.
        run: The `RunDirectory` that is averaged.

    Returns:
        A context manager, which yields the path of the empty directory.

    Raises:
        ValueError: If `path` holds anything but an earlier average, or if
            another process is averaging into it.
    """
    _check_place(path, run)
    check = functools.partial(_check_replaceable, path)
    return directories.replace_directory(path, check, OWN)


def _check_place(path, run):
    place, output_dir = map(os.path.realpath, (path, run.path))
    checkpoints = os.path.realpath(run.checkpoints.directory)
    if _contains(place, output_dir) or _contains(checkpoints, place):
        raise ValueError(
            "`averaged_dir` must be a directory of its own, neither around "
            "`output_dir` nor among its checkpoints. Received: averaged_dir="
            f"{path!r}, output_dir={run.path!r}. Name another directory, or "
            "leave --averaged_dir out."
        )
    directories.check_directory(
        os.path.dirname(place), "The directory around `averaged_dir`"
    )


def _contains(outer, inner):
    return os.path.commonpath([outer, inner]) == outer


def _check_replaceable(path):
    # Only an average may be replaced, since it can be computed again.
    if not os.path.lexists(path):
        return
    is_average = RunDirectory.exists(path) and RunDirectory(path).averaged_steps
    is_empty = os.path.isdir(path) and not os.listdir(path)
    if not is_average and not is_empty:
        raise ValueError(
            "`averaged_dir` must be new or hold an earlier average, which is "
            f"replaced. Received: averaged_dir={path!r}, which holds other "
            "files or is itself a file. Name another directory."
        )
