"""The directory in which XLA keeps compiled programs for later processes."""

import glob
import hashlib
import importlib.metadata
import os
import tempfile

_GPUS = "/proc/driver/nvidia/gpus/*/information"
_KINDS = ("Model", "flags", "model name")  # of a GPU and of a processor


def cache_directory():
    """Returns the directory of this machine's programs, or None.

    TensorFlow neither notices that a program is for other hardware nor works
    without a directory that it can write to. Each kind of hardware and each
    version of TensorFlow therefore has a directory of its own, and there is
    none on a disk that takes no files.
    """
    root = os.path.expanduser("~/.cache/keras_transformer")
    path = os.path.join(root, f"xla_{_hardware()}")
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
