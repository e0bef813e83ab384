"""Decoding with trained or exported models: sentences to translations or trees.

The names below are imported when they are first used, because Keras and
TensorFlow take seconds to import.
"""

import importlib

_MODULES = {
    "DecodeOptions": "search.options",
    "Parser": "decoding.parser",
    "Translator": "decoding.translator",
    "load": "decoding.loading",
}
__all__ = sorted(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"keras_transformer.{_MODULES[name]}")
    return getattr(module, name)


def __dir__():
    return sorted({*globals(), *__all__})
