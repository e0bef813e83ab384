"""Directories that appear under their names only when complete.

A reader, or a process that starts after a crash, finds the earlier content or
the new one, never a half-written directory.
"""

import contextlib
import os
import shutil

from keras_transformer.errors import UserError
from keras_transformer.files import locks
from keras_transformer.files import writing


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
    names = os.listdir(path) if os.path.isdir(path) else None
    if not os.path.lexists(path) or names == [] or names and is_earlier(names):
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
def stage_directory(path):
    """Makes an empty directory and removes it unless it has been moved.

    The caller fills it, calls `synchronise`, and moves it or its files to
    their place. Leftovers of a killed process are removed first. The name must
    mark the directory as incomplete, and usually ends with `INCOMPLETE`.
    """
    shutil.rmtree(path, ignore_errors=True)
    try:
        with writing.explain_disk_errors(path.removesuffix(writing.INCOMPLETE)):
            os.makedirs(path)
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def replace_directory(path, check=None, owned=None):
    """Makes an empty directory that gets the name of another one at the end.

    Until the block ends without an error, an earlier directory stays in place.
    Leftovers of a killed process are cleaned up first. A link stays a link.

    `check` raises an error if the earlier directory must stay. No other process
    replaces it between the check and the end of the block. `owned` are the
    names of the entries that belong to the directory and disappear with it. All
    others move to the new one. By default nothing is kept.
    """
    place = os.path.realpath(path)
    outer = place + writing.INCOMPLETE
    with locks.lock_directory(outer, wait=False, shown=path):
        try:
            _finish_replacing(place, owned)
            if check:
                check()
            _remove_content(outer)
            with writing.explain_disk_errors(path):
                aside = os.path.join(outer, "new")
                os.mkdir(aside)
                yield aside
                writing.synchronise(aside)
            # The system cannot exchange directories that hold files.
            if os.path.isdir(place):
                os.rename(place, _name_outdated(place))
            writing.move(aside, place)
            _finish_replacing(place, owned)
        finally:
            _remove_content(outer)
            os.rmdir(outer)


def _finish_replacing(path, owned):
    """Ends a replacement, perhaps one that a killed process began."""
    outdated = _name_outdated(path)
    if not os.path.isdir(outdated):
        return
    if not os.path.lexists(path):
        os.rename(outdated, path)  # killed before the new one had the name
        return
    for name in os.listdir(outdated) if owned else ():
        if name not in owned and not os.path.lexists(os.path.join(path, name)):
            os.rename(os.path.join(outdated, name), os.path.join(path, name))
    shutil.rmtree(outdated)


def _name_outdated(path):
    return f"{path}.outdated"


def _remove_content(directory):
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.remove(entry.path)
