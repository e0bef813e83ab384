"""Decoding with trained or exported models: sentences to translations or trees.

The public names are imported at their first use, so that importing one module
of this package imports nothing else.
"""

import importlib

# The module of each public name.
_MODULES = {
    "DecodeOptions": "search.options",
    "Glossary": "decoding.steps.glossary",
    "Parser": "decoding.parser",
    "Placeholders": "decoding.steps.placeholders",
    "Reranker": "decoding.selection",
    "Translator": "decoding.translator",
    "load": "decoding.loading",
}
__all__ = sorted(_MODULES)


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"keras_transformer.{_MODULES[name]}")
    return getattr(module, name)


def __dir__():
    return sorted({*globals(), *__all__})
