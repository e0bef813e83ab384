"""Locks that keep other processes away from files that a process writes."""

import contextlib
import errno
import os

from keras_transformer.errors import UserError

try:
    import fcntl
except ModuleNotFoundError:  # on Windows, where nothing is locked
    fcntl = None  # type: ignore[assignment]
CAN_LOCK = fcntl is not None

# Errors of file systems that cannot lock: some network file systems lock
# nothing, others only files, not directories.
CANNOT_LOCK = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP}


@contextlib.contextmanager
def lock_directory(path, wait=True, shown=None):
    """Makes a directory if need be and keeps other processes out of it.

    The lock ends with the process, so a killed one blocks nobody. A directory
    that is new and remains empty is removed again, and so are the directories
    around it. On Windows, and on a file system that cannot lock directories,
    there is no lock. With `wait` it waits for a process that holds the lock;
    otherwise a `UserError` names the path `shown`.
    """
    new_directories = _list_missing(path)
    with contextlib.ExitStack() as stack:
        if CAN_LOCK:
            descriptor = _open_locked(path, shown, "directory", wait)
            stack.callback(os.close, descriptor)
        else:
            os.makedirs(path, exist_ok=True)
        try:
            yield
        finally:
            for directory in new_directories:
                with contextlib.suppress(OSError):  # not empty, or gone already
                    os.rmdir(directory)


@contextlib.contextmanager
def open_locked(path, mode="w", shown=None, keep=False, **options):
    """Opens a file to write and keeps other processes out of it.

    With `keep` its content stays. `options` are passed to `open`. If another
    process holds the lock, a `UserError` names the path `shown`.
    """
    descriptor = _open_locked(path, shown, "file", wait=False)
    with open(descriptor, mode, **options) as file:
        if os.fstat(descriptor).st_size and not keep:
            os.ftruncate(descriptor, 0)  # drops what a killed process left
        yield file


def close_before_move(file):
    """Closes a locked file on Windows, which moves and removes no open file.

    Elsewhere the lock must last until the file has its new name.
    """
    if not CAN_LOCK:
        file.close()


def _list_missing(path):
    """Returns the paths that `os.makedirs` would make, the innermost first."""
    missing = []
    path = os.path.abspath(path)
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    return missing


def _open_locked(path, shown, kind, wait):
    while True:
        if kind == "directory":
            os.makedirs(path, exist_ok=True)
            descriptor = os.open(path, os.O_RDONLY)
        else:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
        with contextlib.ExitStack() as unless_kept:
            unless_kept.callback(os.close, descriptor)
            _lock(descriptor, shown or path, kind, wait)
            # The file may have been renamed or removed before it was locked.
            # The lock would then be on a file that is no longer at `path`.
            if os.path.exists(path) and os.path.samestat(
                os.stat(path), os.fstat(descriptor)
            ):
                unless_kept.pop_all()
                return descriptor


def _lock(descriptor, path, kind, wait):
    if not CAN_LOCK:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError as error:
        raise UserError(
            f"Another process is writing to {path}. Wait until it ends, or "
            f"name another {kind}."
        ) from error
    except OSError as error:
        if error.errno not in CANNOT_LOCK:
            raise
