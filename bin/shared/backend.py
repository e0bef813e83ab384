"""Chooses and imports the backend of Keras, and caches XLA's programs."""

import contextlib
import gc
import glob
import hashlib
import importlib.metadata
import os
import sys
import tempfile

from keras_transformer import errors
from keras_transformer.errors import UserError
from keras_transformer.files.quiet import hide_module
from keras_transformer.files.quiet import silence

BACKENDS = ("tensorflow", "jax")
_GPUS = "/proc/driver/nvidia/gpus/*/information"
# Fields that tell the kind of a GPU and of a processor.
_KINDS = ("Model", "flags", "model name")


def load_backend(module="keras"):
    """Imports Keras and its backend without their start-up messages.

    XLA caches compiled programs in `~/.cache/keras_transformer` if it can, so
    later processes do not compile. `module` may be "tensorflow" without Keras.
    Returns the name of Keras' backend, or None without Keras.
    """
    read_backend()
    # As defaults only, so that the user's settings win.
    if cache := find_cache_directory():
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{cache}/jax")
        os.environ.setdefault(
            "TF_XLA_FLAGS", f"--tf_xla_persistent_cache_directory={cache}/xla"
        )
    if module not in sys.modules:
        _import(module)
    # Without KERAS_BACKEND, the file ~/.keras/keras.json decides.
    if module == "keras":
        return _check_backend(sys.modules["keras"].config.backend())
    return None


def _import(module):
    """Imports a module quietly, and spares its objects garbage collections."""
    try:
        # TensorFlow 2.21 ignores `TF_CPP_MIN_LOG_LEVEL` until its log is set
        # up. Keras imports Matplotlib for pictures that no command draws. The
        # import takes a tenth of the time, and Keras has no option for this.
        with silence(), hide_module("matplotlib"):
            # The objects of an import live until the process ends, so garbage
            # collections would take a quarter of the time and find nothing.
            # Later ones do not search these objects either.
            gc.disable()
            importlib.import_module(module)
    except (ImportError, ValueError) as error:
        raise UserError(
            f"Keras cannot load its backend: {error}. Install TensorFlow, or "
            "JAX with KERAS_BACKEND=jax."
        ) from error
    finally:
        gc.freeze()
        gc.enable()


def read_backend():
    """Returns the backend that `KERAS_BACKEND` names, TensorFlow or JAX."""
    return _check_backend(os.environ.get("KERAS_BACKEND") or "tensorflow")


def _check_backend(name):
    if name not in BACKENDS:
        raise UserError(
            f"`KERAS_BACKEND` must be one of {', '.join(BACKENDS)}. Received: "
            f"KERAS_BACKEND={errors.shorten(name)}. Set it to one of them."
        )
    return name


def find_cache_directory():
    """Returns the directory for the programs of this machine, or None.

    TensorFlow does not notice that a cached program is for other hardware, so
    each kind of hardware and each version of TensorFlow has its own directory.
    TensorFlow fails if it cannot write there, so the result is None then.
    """
    root = os.path.expanduser("~/.cache/keras_transformer")
    path = os.path.join(root, _hash_hardware())
    try:
        os.makedirs(path, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"XLA")
    except OSError:
        return None
    return path


def _hash_hardware():
    """Returns a hash of the processor, the GPUs and TensorFlow's version."""
    kinds = set()
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        kinds.add(importlib.metadata.version("tensorflow"))
    for path in ["/proc/cpuinfo", *glob.glob(_GPUS)]:
        with (
            contextlib.suppress(OSError),  # there is none but on Linux
            open(path, encoding="utf-8", errors="replace") as file,
        ):
            kinds |= {
                line.strip()
                for line in file
                if line.partition(":")[0].strip() in _KINDS
            }
    return hashlib.sha256("\n".join(sorted(kinds)).encode()).hexdigest()[:16]
