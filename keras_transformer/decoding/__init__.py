"""Decoding with trained or exported models: sentences to translations or trees.

The public names are imported at their first use, so that importing one module
of this package imports nothing else.
"""

__all__ = ["DecodeOptions", "Parser", "Translator", "load"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from keras_transformer.decoding import loading
    from keras_transformer.search import options

    return getattr(options if name == "DecodeOptions" else loading, name)


def __dir__():
    return sorted({*globals(), *__all__})
