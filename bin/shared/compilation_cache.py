"""The directory in which XLA keeps compiled programs for later processes."""

import glob
import hashlib
import importlib.metadata
import os
import tempfile

_GPUS = "/proc/driver/nvidia/gpus/*/information"
_KINDS = ("Model", "flags", "model name")  # of a GPU and of a processor


def cache_directory():
    """Returns the directory for the programs of this machine, or None.

    TensorFlow does not notice that a cached program is for other hardware, so
    each kind of hardware and each version of TensorFlow has a directory of its
    own. It also fails if it cannot write to the directory. None is returned in
    that case.
    """
    root = os.path.expanduser("~/.cache/keras_transformer")
    path = os.path.join(root, _hardware())
    try:
        os.makedirs(path, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"XLA")
    except OSError:
        return None
    return path


def _hardware():
    """Returns a hash of the processor, the GPUs and TensorFlow's version."""
    kinds = {_version("tensorflow")}
    for path in ["/proc/cpuinfo", *glob.glob(_GPUS)]:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                kinds |= {line.strip() for line in file if _names_kind(line)}
        except OSError:  # another system than Linux
            continue
    return hashlib.sha256("\n".join(sorted(kinds)).encode()).hexdigest()[:16]


def _names_kind(line):
    return line.partition(":")[0].strip() in _KINDS


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
