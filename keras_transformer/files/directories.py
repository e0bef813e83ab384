"""Directories that appear under their names only when complete.

A reader, or a process that starts after a crash, finds the earlier content or
the new one. Versions of an exported model are in numbered directories.
"""

import contextlib
import errno
import os
import pathlib
import re
import shutil

from keras_transformer.errors import UserError
from keras_transformer.files import locks
from keras_transformer.files import writing

# The directory that a process works in, inside the one that it writes to. What
# is there is ours only if the directory holds the mark.
WORK = f"work{writing.INCOMPLETE}"
_MARK = "deleted_by_keras_transformer"
_NEW, _COMPLETE, _OLD = "new", "complete", "old"
# As kt-exporter and TensorFlow write it: 007 would be a second version 7.
_VERSION = re.compile("0|[1-9][0-9]*")
SAVED_MODEL_FILE = "saved_model.pb"
CTRANSLATE2_FILE = "model.bin"


def check_directory(path, name="An output"):
    """Checks that a directory can be made, or that it can be written to."""
    nearest = os.path.abspath(path)
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)
    fault, remedy = None, "Name another directory."
    if not os.path.isdir(nearest):
        fault = "is not a directory"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        fault = "may not be written to"
        remedy = "Change its permissions, or name another directory."
    if fault:
        raise UserError(
            f"{name} must be a directory that can be written. Received: "
            f"{path}, but {nearest} {fault}. {remedy}"
        )


def check_replaceable(path, name, rule, is_earlier=lambda names: False):
    """Checks that a directory is new or empty, or may be replaced.

    `is_earlier` tells from the names in it whether it may. The `rule` tells
    the user what the argument `name` must be.
    """
    names = set(os.listdir(path)) if os.path.isdir(path) else None
    if names and WORK in names and _is_work(work := os.path.join(path, WORK)):
        names.remove(WORK)
        if os.path.isdir(os.path.join(work, _OLD)):
            return  # `finish_replacing` decides what remains
    if not os.path.lexists(path) or names == set():
        return
    if names and is_earlier(names):
        return
    fault = "which is a file" if names is None else "which holds other files"
    raise UserError(
        f"`{name}` must be {rule}. Received: {name}={path!r}, {fault}. Name "
        "another directory."
    )


def shorten_paths(paths):
    """Returns paths without the folders that all of them begin or end with.

    Equal paths keep their last part.

    >>> shorten_paths(["work/base/averaged", "work/large/averaged"])
    ['base', 'large']
    """
    paths = [os.path.abspath(path) for path in paths]
    common = os.path.commonpath([os.path.dirname(path) for path in paths])
    paths = [os.path.relpath(path, common) for path in paths]
    while len({os.path.basename(path) for path in paths}) == 1 and all(
        map(os.path.dirname, paths)
    ):
        paths = list(map(os.path.dirname, paths))
    return paths


@contextlib.contextmanager
def stage_directory(place, last=None):
    """Makes an empty directory in `place`, and removes it unless it has moved.

    The caller fills it, calls `synchronise`, and moves it to its place.
    Leftovers of a killed process are removed first. `place` must exist, and
    only one process may work in it.
    """
    finish_replacing(place, last)
    work = os.path.join(place, WORK)
    try:
        with writing.explain_disk_errors(place):
            os.makedirs(work, exist_ok=True)
            open(os.path.join(work, _MARK), "w").close()
            aside = os.path.join(work, _NEW)
            os.mkdir(aside)
            yield aside
    finally:
        finish_replacing(place, last)


@contextlib.contextmanager
def replace_content(path, last, check=None, owned=()):
    """Makes an empty directory whose content moves into another at the end.

    Until the block ends without an error, the earlier content stays in place.
    Leftovers of a killed process are cleaned up first. The directory itself
    stays, so it may be a mount point, a link or the working directory.

    `check` raises an error if the earlier content must stay. No other process
    replaces it between the check and the end of the block. `owned` are the
    names of the entries that belong to the content and disappear with it. All
    others stay. Readers take the directory for incomplete if it lacks the entry
    `last`, which is the first to disappear and the last to come.
    """
    place = os.path.realpath(path)
    with locks.lock_directory(place, wait=False, shown=path):
        finish_replacing(place, last)
        if check:
            check()
        for entry in (os.path.join(place, name) for name in owned):
            if writing.is_mount_point(entry):
                raise UserError(
                    "A directory that is replaced must not be a mount point. "
                    f"Received: {entry}. Name another directory, or mount the "
                    "one around it."
                )
        with stage_directory(place, last) as aside:
            yield aside
            writing.synchronise(aside)
            _replace(place, last, owned)


def finish_replacing(place, last=None):
    """Ends what a process did in a directory, even one that was killed.

    What was not complete is removed. A replacement that has begun is completed
    if all new entries are there, or else undone.
    """
    work = os.path.join(place, WORK)
    if not os.path.lexists(work):
        return
    if not _is_work(work):
        raise UserError(
            f"{work} must be a directory of this package. Received: one that "
            "holds other files. Move it elsewhere."
        )
    for name in (_COMPLETE, _OLD):
        directory = os.path.join(work, name)
        if os.path.isdir(directory):
            for entry in _sort(os.listdir(directory), last):
                writing.move(
                    os.path.join(directory, entry), os.path.join(place, entry)
                )
            break
    with contextlib.suppress(FileNotFoundError):  # another process removed it
        # This process can be killed in between, too. `old` without `complete`
        # would be moved back, and nothing without the mark is removed.
        for name in (_OLD, _NEW, _COMPLETE):
            if os.path.isdir(os.path.join(work, name)):
                shutil.rmtree(os.path.join(work, name))
        pathlib.Path(work, _MARK).unlink(missing_ok=True)
        os.rmdir(work)


def _replace(place, last, owned):
    """Moves the earlier content aside, and declares the new one complete."""
    new, complete, old = (
        os.path.join(place, WORK, name) for name in (_NEW, _COMPLETE, _OLD)
    )
    os.mkdir(old)
    names = {*owned, *os.listdir(new)} & set(os.listdir(place))
    for name in reversed(_sort(names, last)):
        _move(os.path.join(place, name), os.path.join(old, name))
        if os.path.lexists(os.path.join(new, name)):
            writing.keep_mode(os.path.join(old, name), os.path.join(new, name))
    writing.move(new, complete)


def _sort(names, last):
    return sorted(names, key=lambda name: (name == last, name))


def _move(path, new_path):
    try:
        os.rename(path, new_path)
    except OSError as error:
        # A container cannot rename a directory of its image.
        if error.errno != errno.EXDEV:
            raise
        shutil.move(path, new_path)


def _is_work(path):
    """Returns whether a directory is empty or has the mark of this module."""
    return not os.path.islink(path) and (
        os.path.isfile(os.path.join(path, _MARK))
        or (os.path.isdir(path) and not os.listdir(path))
    )


def find_versions(export_dir):
    """Returns the paths of the versions in a directory by number, ascending.

    A directory that holds a model of CTranslate2 itself, as version 0.1 of this
    package wrote it, is version 1.
    """
    if os.path.isfile(os.path.join(export_dir, CTRANSLATE2_FILE)):
        return {1: export_dir}
    numbers = list_versions(export_dir)
    paths = {n: os.path.join(export_dir, str(n)) for n in numbers}
    # A link may lead to nothing, or back to itself.
    return {n: path for n, path in paths.items() if os.path.isdir(path)}


def list_versions(export_dir):
    """Returns the numbers of the versions in a directory, ascending."""
    if not os.path.isdir(export_dir):
        return []
    # As numbers, because version 10 is newer than version 9.
    return sorted(map(int, filter(is_version, os.listdir(export_dir))))


def is_version(name):
    """Returns whether a name is the number of a version, of 63 bits."""
    return bool(_VERSION.fullmatch(name)) and int(name) < 2**63
