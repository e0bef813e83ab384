"""Decoding with trained or exported models: sentences to translations or trees.

The public names are imported at their first use, so that importing one module
of this package imports nothing else.
"""

import importlib
import typing

# The module of each public name.
_MODULES = {
    "DecodeOptions": "search.options",
    "Glossary": "decoding.steps.glossary",
    "Parser": "decoding.parser",
    "Placeholders": "decoding.steps.placeholders",
    "Reranker": "decoding.translation_model",
    "Translator": "decoding.translator",
    "load": "decoding.loading",
}
__all__ = sorted(_MODULES)

if typing.TYPE_CHECKING:  # Editors and type checkers run no `__getattr__`.
    from keras_transformer.decoding.loading import load as load
    from keras_transformer.decoding.parser import Parser as Parser
    from keras_transformer.decoding.steps.glossary import Glossary as Glossary
    from keras_transformer.decoding.steps.placeholders import (
        Placeholders as Placeholders,
    )
    from keras_transformer.decoding.translation_model import (
        Reranker as Reranker,
    )
    from keras_transformer.decoding.translator import Translator as Translator
    from keras_transformer.search.options import DecodeOptions as DecodeOptions


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"keras_transformer.{_MODULES[name]}")
    return getattr(module, name)


def __dir__():
    return sorted({*globals(), *__all__})
