"""Registration of this package's classes with Keras, so that models load."""

import importlib

import keras

PACKAGE = "keras_transformer"
# Every class that a saved model may name, by the module that defines it.
CLASSES = {
    "layers": "Decoder DecoderLayer Dropout Encoder EncoderLayer FeedForward "
    "FusedAttention LearnedPositionalEncoding MultiHeadAttention Residual "
    "SharedEmbedding SinusoidalPositionalEncoding SpanClassifier "
    "TokenEmbeddings",
    "losses": "SmoothedCrossEntropy",
    "metrics": "MaskedAccuracy Perplexity",
    "optimizers": "Adafactor",
    "schedules": "CosineSchedule InverseSquareRootSchedule",
    "parsing.parsing_transformer": "ParsingTransformer",
    "layers.transformer": "Transformer",
}


def serializable(cls):
    """Registers one of the `CLASSES` with Keras; a decorator."""
    return keras.saving.register_keras_serializable(package=PACKAGE)(cls)


class _NotYetImported:
    """Stands in Keras' registry for a class whose module is not imported.

    Keras finds a class of a saved model only if its module has been imported.
    The stand-in imports that module when a model needs the class, and the
    class then takes over its entry. Modules therefore need not import one
    another only to make saved models load.
    """

    def __init__(self, module, name):
        self.module = module
        self.name = name

    def from_config(self, config):
        cls = getattr(importlib.import_module(self.module), self.name)
        return cls.from_config(config)


for _module, _names in CLASSES.items():
    for _name in _names.split():
        keras.saving.get_custom_objects().setdefault(
            f"{PACKAGE}>{_name}", _NotYetImported(f"{PACKAGE}.{_module}", _name)
        )
