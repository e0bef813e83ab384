"""A small disk for tests, and commands that run out of its space."""

import contextlib
import os
import subprocess
import threading

FRACTIONS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97)
PAGE = 4096
SPACE = 2**30  # enough for every command


@contextlib.contextmanager
def small_disk(directory):
    """Mounts a file system in memory whose size can be changed.

    Args:
        directory: Path of an empty directory.

    Yields:
        Function that takes the new size in bytes.

    Raises:
        PermissionError: If this process may not mount file systems.
    """
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SPACE}", "tmpfs", directory],
        capture_output=True,
    )
    if done.returncode:
        raise PermissionError(done.stderr.decode())

    def resize(size):
        option = f"remount,size={size}"
        subprocess.run(["mount", "-o", option, directory], check=True)

    try:
        yield resize
    finally:
        subprocess.run(["umount", "-l", directory], check=True)


def fill_often(work, resize):
    """Runs a command on disks of several sizes, all of them too small.

    Args:
        work: A `Work` whose directory is on the disk.
        resize: Function that `small_disk` yields.

    Returns:
        A tuple of the messages of the runs that failed, and of the faults that
        they left.
    """
    smallest = _used(work.directory)
    largest = _most_used(work)
    work.reset()
    messages, faults = [], []
    for fraction in FRACTIONS:
        size = smallest + fraction * (largest - smallest)
        resize(max(PAGE, int(size)))  # a size of 0 would mean no limit
        process = work.start()
        message = process.communicate()[1].decode()
        # A little room may suffice where files are written one after another.
        if process.returncode:
            messages.append((process.returncode, message))
        faults.append(work.fault())
        resize(SPACE)
        work.run(*work.repeat_flags)
        if not work.is_complete():
            faults.append(f"not complete after {message}")
        work.reset()
    return messages, tuple(filter(None, faults))


def _most_used(work):
    """Returns the most space that is used while the command runs."""
    process = work.start()
    most = [0]

    def watch():
        while process.poll() is None:
            most[0] = max(most[0], _used(work.directory))

    watcher = threading.Thread(target=watch)
    watcher.start()
    message = process.communicate()[1].decode()
    watcher.join()
    if process.returncode:
        raise AssertionError(message)
    return most[0]


def _used(directory):
    status = os.statvfs(directory)
    return (status.f_blocks - status.f_bfree) * status.f_frsize
