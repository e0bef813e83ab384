"""Directories of numbered versions, as model servers watch them."""

import contextlib
import os
import shutil

from keras_transformer import files
from keras_transformer.decoding.exported import is_version
from keras_transformer.decoding.exported import versions


@contextlib.contextmanager
def new_version(export_dir):
    """Makes the next version of an export, which appears once it is whole.

    Yields the directory to fill, `N.incomplete`, and renames it to `N` at the
    end. An error or a kill leaves no version. What an earlier one left behind
    is removed first.

    Args:
        export_dir: directory of the versions; made if it is not there.

    Yields:
        the directory to write into and the one that it becomes.

    Raises:
        ValueError: if `export_dir` holds other things, or another process is
            writing a version.
    """
    check_export_dir(export_dir)
    with files.locked_directory(export_dir, wait=False):
        _remove_leftovers(export_dir)
        number = max(versions(export_dir), default=0) + 1
        path = os.path.join(export_dir, str(number))
        # The name is not a number, so no server loads the directory early.
        with files.directory_aside(path + files.INCOMPLETE) as aside:
            yield aside, path
            files.synchronise(aside)
            files.move(aside, path)


def check_export_dir(export_dir):
    """Checks that a directory is new, empty or one of versions.

    Raises:
        ValueError: if it is a file or holds other things.
    """
    if not os.path.lexists(export_dir):
        return
    names = os.listdir(export_dir) if os.path.isdir(export_dir) else None
    if names == [] or (names and any(map(_is_ours, names))):
        return
    what = "which is a file" if names is None else "which holds other things"
    raise ValueError(
        "`export_dir` must be new, empty or hold earlier versions. Received: "
        f"export_dir={export_dir!r}, {what}. Name another directory."
    )


def _is_ours(name):
    return is_version(name.removesuffix(files.INCOMPLETE))


def _remove_leftovers(export_dir):
    for name in os.listdir(export_dir):
        if name.endswith(files.INCOMPLETE) and _is_ours(name):
            shutil.rmtree(os.path.join(export_dir, name))
