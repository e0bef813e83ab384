"""The Transformer of "Attention Is All You Need" on Keras 3 and TensorFlow."""

import importlib
import sys

__version__ = "0.2.0"

# A name is imported at its first use, since Keras and TensorFlow take seconds.
_MODULES = {
    "HParams": "hparam",
    "Parser": "decoding.parser",
    "Problem": "problem",
    "RunDirectory": "runs.run_directory",
    "Trainer": "training.trainer",
    "Transformer": "transformer",
    "Translator": "decoding.translator",
    "build_transformer": "transformer",
    "generate": "search.continuation",
    "load": "decoding.loading",
    "register_hparams": "registry",
    "register_problem": "registry",
}
_SUBMODULES = "layers", "losses", "masks", "metrics", "optimizers", "schedules"
__all__ = sorted(_MODULES)

# A program that has imported Keras may go on to load a model with our classes.
# Other programs register them with the first module that imports Keras.
if sys.modules.get("keras"):  # None where a program forbids Keras
    importlib.import_module(f"{__name__}.serialization")


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name)


def __dir__():
    return sorted([*__all__, *_SUBMODULES, "__version__"])
