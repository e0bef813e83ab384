"""The Transformer of "Attention Is All You Need" on Keras 3 and TensorFlow."""

import importlib
import sys
import typing

__version__ = "0.2.0"

# A name is imported at its first use, since Keras and TensorFlow take seconds.
_MODULES = {
    "HParams": "hparam",
    "Parser": "decoding.parser",
    "Problem": "problem",
    "RunDirectory": "runs.run_directory",
    "Trainer": "training.trainer",
    "Transformer": "layers.transformer",
    "TranslationMemory": "data.memory.store",
    "Translator": "decoding.translator",
    "build_transformer": "runs.model",
    "generate": "search.continuation",
    "load": "decoding.loading",
    "register_hparams": "registry",
    "register_problem": "registry",
    "train": "training.train",
}
_SUBMODULES = "layers", "losses", "masks", "metrics", "optimizers", "schedules"
__all__ = sorted(_MODULES)

if typing.TYPE_CHECKING:  # Editors and type checkers run no `__getattr__`.
    from keras_transformer import layers as layers
    from keras_transformer import losses as losses
    from keras_transformer import masks as masks
    from keras_transformer import metrics as metrics
    from keras_transformer import optimizers as optimizers
    from keras_transformer import schedules as schedules
    from keras_transformer.data.memory.store import (
        TranslationMemory as TranslationMemory,
    )
    from keras_transformer.decoding.loading import load as load
    from keras_transformer.decoding.parser import Parser as Parser
    from keras_transformer.decoding.translator import Translator as Translator
    from keras_transformer.hparam import HParams as HParams
    from keras_transformer.layers.transformer import Transformer as Transformer
    from keras_transformer.problem import Problem as Problem
    from keras_transformer.registry import register_hparams as register_hparams
    from keras_transformer.registry import register_problem as register_problem
    from keras_transformer.runs.model import (
        build_transformer as build_transformer,
    )
    from keras_transformer.runs.run_directory import (
        RunDirectory as RunDirectory,
    )
    from keras_transformer.search.continuation import generate as generate
    from keras_transformer.training.train import train as train
    from keras_transformer.training.trainer import Trainer as Trainer

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
