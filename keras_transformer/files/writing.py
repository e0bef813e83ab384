"""Files that appear under their names only when complete.

A reader, or a process that starts after a crash, finds the earlier content or
the new one, never a half-written file.
"""

import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import tempfile

from keras_transformer.errors import UserError
from keras_transformer.files import locks
from keras_transformer.files.reading import read_record

# The suffix of a file that is being written, or that a killed process left. No
# other program uses it, so such a file may be replaced.
INCOMPLETE = ".kt-incomplete"

# The errors of a disk that accepts no more data: it is full or broken, or the
# user has reached a quota or the limit on the size of a file.
CANNOT_WRITE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def check_writable(path, name="An output"):
    """Checks that a file can be written, before the work for it begins.

    The message calls the path `name`, such as "`--html`". An OSError is left
    where the system rejects the path, for example as too long.
    """
    place = resolve_link(path)
    directory = os.path.dirname(place) or os.curdir
    fault = None
    if _is_no_file(path):
        fault = "which is a directory, a device or a mount point"
    elif not os.path.isdir(directory):
        fault = "whose directory does not exist"
    elif not os.access(directory, os.W_OK | os.X_OK):
        fault = "whose directory may not be written to"
    # A new file could replace it, but its owner has protected it.
    elif os.path.exists(path) and not os.access(path, os.W_OK):
        fault = "which is read-only"
    if fault:
        raise UserError(
            f"{name} must be a file that can be written. Received: {path}, "
            f"{fault}. Name another file, in a directory that can be written."
        )
    # Root seems to have access everywhere, and a name can be too long.
    aside = place + INCOMPLETE
    if not os.path.lexists(aside):
        with locks.open_locked(aside, "wb", path) as file:
            locks.close_before_move(file)
            os.remove(aside)


def check_space(directory, num_bytes):
    """Checks that a disk takes a file of a size, before the work for it begins.

    The file is made and removed again, so quotas and limits count, too. Pass
    its error to `explain_disk_errors`.
    """
    if not hasattr(os, "posix_fallocate"):  # macOS and Windows
        return
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            os.posix_fallocate(file.fileno(), 0, max(1, num_bytes))
    except OSError as error:
        # Not every file system can reserve space.
        if error.errno in CANNOT_WRITE:
            raise


@contextlib.contextmanager
def atomic_write(path, mode="w"):
    """Opens a file that appears under its name once it is complete.

    Until then its name is `path.kt-incomplete`. An error, a kill or a power cut
    leaves the earlier file in place. Text is written as UTF-8 with `\\n` as
    the line end. If the path is a symbolic link, the link stays, and the file
    that it points to is replaced. Its permissions stay. Only one process may
    write it at a time.
    """
    place = resolve_link(path)
    if _is_no_file(path):
        raise UserError(
            f"Cannot replace {path}, which is a directory, a device or a mount "
            "point. Name a file."
        )
    aside = place + INCOMPLETE
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    with (
        explain_disk_errors(path),
        locks.open_locked(aside, mode, path, **text) as file,
    ):
        try:
            keep_mode(place, aside)
            yield file
            # A rename can reach the disk before the content does, so the
            # content has to be there first.
            file.flush()
            os.fsync(file.fileno())
            locks.close_before_move(file)
            move(aside, place)
        except BaseException:
            locks.close_before_move(file)
            # Only while the lock is held, so that the file is ours.
            pathlib.Path(aside).unlink(missing_ok=True)
            raise


def write_file(path, content):
    """Writes a text or bytes as a whole file; see `atomic_write`."""
    with atomic_write(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def atomic_write_together(paths):
    """Opens text files that belong together; see `atomic_write`.

    A reader never finds new and earlier files side by side. The earlier ones
    disappear once all of the new ones are complete, so a kill at this moment
    leaves some of the files missing.
    """
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(atomic_write(path)) for path in paths]
        yield files
        # A full disk has to be noticed while the earlier files still exist.
        for path, file in zip(paths, files):
            with explain_disk_errors(path):
                file.flush()
                os.fsync(file.fileno())
        for path in paths:
            pathlib.Path(resolve_link(path)).unlink(missing_ok=True)


@contextlib.contextmanager
def explain_disk_errors(path):
    """Explains the errors of a disk that accepts no more data for `path`."""
    try:
        yield
    except OSError as error:
        if error.errno not in CANNOT_WRITE:
            raise
        raise OSError(
            f"Cannot write {path}: {error.strerror}. Make room or choose "
            "another disk, then start again. Files that were complete before "
            "are still complete."
        ) from error


def synchronise(path):
    """Waits until a directory and its content would survive a power cut."""
    for folder, _, names in os.walk(path):
        for name in names:
            _synchronise(os.path.join(folder, name))
        _synchronise(folder)


def move(aside, path):
    """Renames a file or a directory, and waits until the disk has the name.

    A file at the new path is replaced at once. A directory must be empty;
    `directories.replace_content` replaces the content of one that is not.
    """
    os.replace(aside, path)
    _synchronise(os.path.dirname(path) or os.curdir)


def keep_mode(path, aside):
    """Gives a new file the permissions of the one that it will replace."""
    if os.path.exists(path) and os.path.isfile(aside):
        shutil.copymode(path, aside)


def resolve_link(path):
    """Returns the path of the file that a link leads to, or `path` itself."""
    return os.path.realpath(path) if os.path.islink(path) else path


def is_mount_point(path):
    """Returns whether a file or a directory cannot be renamed or replaced."""
    place = os.fsencode(os.path.realpath(path))
    # The system lists them with these characters as octal numbers.
    place = re.sub(rb"[\t\n \\]", lambda m: b"\\%03o" % ord(m[0]), place)
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            return any(line.split()[4] == place for line in file)
    except OSError:  # not Linux
        return os.path.ismount(path)


def _is_no_file(path):
    """Returns whether what a path leads to cannot be replaced by a file."""
    if not os.path.exists(path):
        return False
    if not os.path.isfile(path) or is_mount_point(path):
        return True
    # /dev/stdout leads through /proc to the file that the shell has opened. A
    # new file in its place would not be the one that the process writes to.
    while os.path.islink(path):
        if os.path.realpath(os.path.dirname(path)).startswith("/proc/"):
            return True
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    return False


def _synchronise(path):
    is_directory = os.path.isdir(path)
    if is_directory and not locks.CAN_LOCK:  # Windows opens no directories
        return
    # Windows synchronises a file only if it is open for writing.
    descriptor = os.open(path, os.O_RDONLY if is_directory else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Network file systems may lack this, and write names at once anyway.
        if error.errno != errno.EINVAL or not is_directory:
            raise
    finally:
        os.close(descriptor)


def write_record(path, value, **options):
    """Writes a value as indented JSON, with further options of `json.dumps`."""
    write_file(path, json.dumps(value, indent=2, **options) + "\n")


def keep_settings(path, settings):
    """Writes the settings of a directory, or checks that they are the same.

    They are a dictionary of flags, and of strings, numbers or None.
    """
    if not os.path.lexists(path):
        write_record(path, settings)
        return
    earlier = read_record(path, {str: (str, float, None)})
    directory = os.path.dirname(path)
    for name, value in settings.items():
        received, recorded = (
            f"no --{name}" if setting is None else f"--{name}={setting}"
            for setting in (value, earlier.get(name))
        )
        if received != recorded:
            raise UserError(
                f"`--{name}` must not change in {directory}. Received: "
                f"{received}, but the directory was started with {recorded}. "
                "Repeat the earlier command, or name another directory."
            )
