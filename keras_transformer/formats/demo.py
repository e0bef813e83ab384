"""The small trained models that come with the package, such as demo://en-es."""

import contextlib
import hashlib
import importlib.resources
import io
import os
import tempfile
import zipfile

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.errors import did_you_mean
from keras_transformer.files.array_files import write_arrays
from keras_transformer.runs.run_directory import RunDirectory

SCHEME = "demo://"
# The SHA-256 of each archive, which `make demo-model` prints.
MODELS = {
    "en-es": "cf1c1b870ed9540bb518558a28ac2855fd333a1527a802b703b7b5838a1348d0",
}
SCALE = "/scale"  # follows the name of a matrix in 8 bits; one for each row
_temporary: list[tempfile.TemporaryDirectory] = []


def find_directory(path):
    """Returns where the run of a demo is, and any other path as it is.

    A demo becomes an ordinary run in the user's cache, once, so that every
    command can open it. If nothing can be written there, it goes to a
    temporary directory that exists as long as the process.
    """
    name = str(os.fspath(path))
    if not name.startswith(SCHEME):
        return path
    name = name.removeprefix(SCHEME)
    if name not in MODELS:
        raise UserError(
            f"A demo must be one of {', '.join(MODELS)}. Received: {path}. "
            f"{did_you_mean(name, MODELS)}Use {SCHEME}{next(iter(MODELS))}."
        )
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    cache = os.path.join(caches, "keras_transformer")
    place = os.path.join(cache, f"demo-{name}-{MODELS[name][:12]}")
    if RunDirectory.exists(place):
        return place
    try:
        os.makedirs(cache, exist_ok=True)
        _unpack(name, place)
    except OSError:  # a home that is read-only or full
        place = os.path.join(make_temporary_directory(), name)
        _unpack(name, place)
    return place


def make_temporary_directory():
    """Makes a directory that exists as long as the process."""
    _temporary.append(tempfile.TemporaryDirectory())
    return _temporary[-1].name


def _unpack(name, place):
    """Writes the run of a demo to a directory that appears whole."""
    folder = importlib.resources.files(__package__)
    content = folder.joinpath("demo_models", f"{name}.zip").read_bytes()
    if hashlib.sha256(content).hexdigest() != MODELS[name]:
        raise UserError(
            f"{SCHEME}{name} is damaged in this installation. Install the "
            "package again."
        )
    with tempfile.TemporaryDirectory(
        dir=os.path.dirname(place), ignore_cleanup_errors=True
    ) as aside:
        zipfile.ZipFile(io.BytesIO(content)).extractall(aside)
        checkpoints = RunDirectory(aside).checkpoints
        (step,) = checkpoints.steps
        stored = checkpoints.load(step)
        arrays = {
            key: array * stored.get(key + SCALE, np.float32(1))
            for key, array in stored.items()
            if not key.endswith(SCALE)
        }
        write_arrays(checkpoints.path(step), arrays)
        # Fails if another process was faster, but its run is the same.
        with contextlib.suppress(OSError):
            os.rename(aside, place)
    RunDirectory(place)  # or an error says what is missing
