"""Damages: what is done to the files around a command before it starts."""

import fcntl
import json
import os
import shutil
import threading
import typing

import numpy as np

ABSENT = "no value"  # in `sets`: the name is removed


class Damage(typing.NamedTuple):
    """A function of a `Box`, a path in it, and further values."""

    function: typing.Callable
    path: str
    values: tuple = ()

    def apply(self, box):
        self.function(box, box.fill(self.path), *self.values)

    def __str__(self):
        values = (repr(value)[:40] for value in self.values)
        return f"{self.function.__name__[1:]}({self.path} {' '.join(values)})"


def writes(path, content):
    """Writes a file, or replaces one."""
    return Damage(_writes, path, (content,))


def sets(path, place, value):
    """Changes the value at a place such as "splits.dev.pairs" of a JSON."""
    return Damage(_sets, path, (place, value))


def truncates(path, share):
    """Keeps the first bytes of a file: a share of it."""
    return Damage(_truncates, path, (share,))


def flips(path, share):
    """Inverts a byte of a file at a share of its length."""
    return Damage(_flips, path, (share,))


def removes(path):
    """Removes a file or a directory."""
    return Damage(_removes, path)


def makes(path):
    """Makes a directory, in place of a file if there is one."""
    return Damage(_makes, path)


def links(path, target):
    """Makes a symbolic link, in place of a file if there is one."""
    return Damage(_links, path, (target,))


def copies(path, source):
    """Copies a file or a directory to a path."""
    return Damage(_copies, path, (source,))


def pipes(path, content):
    """Makes a named pipe and writes bytes to whoever reads it."""
    return Damage(_pipes, path, (content,))


def locks(path):
    """Holds the lock of a file or a directory, as another process would."""
    return Damage(_locks, path)


def saves(path, name, array):
    """Replaces an array of an `.npz` file, or removes it if it is None."""
    return Damage(_saves, path, (name, array))


def grows(path, size):
    """Lengthens a file to a size, without taking room on the disk."""
    return Damage(_grows, path, (size,))


def allows(path, mode):
    """Sets the permissions of a file or a directory until the end."""
    return Damage(_allows, path, (mode,))


def has(path):
    """Copies a template that the command line does not name."""
    return Damage(_has, path)


def _writes(box, path, content):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    content = content.encode() if isinstance(content, str) else content
    with open(path, "wb") as file:
        file.write(content)


def _sets(box, path, place, value):
    with open(path, encoding="utf-8") as file:
        content = inner = json.load(file)
    *names, last = (int(n) if n.isdigit() else n for n in place.split("."))
    for name in names:
        inner = inner[name]
    if value is ABSENT:
        del inner[last]
    else:
        inner[last] = value
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def _truncates(box, path, share):
    os.truncate(path, int(share * os.path.getsize(path)))


def _flips(box, path, share):
    with open(path, "r+b") as file:
        file.seek(int(share * os.path.getsize(path)))
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([255 - byte]))


def _removes(box, path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


def _makes(box, path):
    if os.path.isfile(path):
        os.remove(path)
    os.makedirs(path)


def _links(box, path, target):
    if os.path.lexists(path):
        _removes(box, path)
    os.symlink(box.fill(target), path)


def _copies(box, path, source):
    source = box.fill(source)
    if os.path.isdir(source):
        shutil.copytree(source, path, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, path)


def _pipes(box, path, content):
    os.mkfifo(path)

    def write():
        with open(path, "wb") as file:
            file.write(content)

    threading.Thread(target=write, daemon=True).start()


def _locks(box, path):
    flags = os.O_RDONLY if os.path.exists(path) else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    box.at_end(os.close, descriptor)


def _saves(box, path, name, array):
    with np.load(path) as file:
        arrays = dict(file)
    arrays[name] = array
    if array is None:
        del arrays[name]
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def _grows(box, path, size):
    os.truncate(path, size)


def _allows(box, path, mode):
    box.at_end(os.chmod, path, os.stat(path).st_mode)
    os.chmod(path, mode)


def _has(box, path):
    pass  # filling in the path has copied it
