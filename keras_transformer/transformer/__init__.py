"""The model on `keras.ops`, and how hyper-parameters describe it."""

from keras_transformer.transformer.building import POLICIES
from keras_transformer.transformer.building import build_transformer
from keras_transformer.transformer.parsing_transformer import ParsingTransformer
from keras_transformer.transformer.transformer import Transformer

__all__ = [
    "POLICIES",
    "ParsingTransformer",
    "Transformer",
    "build_transformer",
]
