"""The model on `keras.ops`."""

from keras_transformer.transformer.transformer import Transformer

__all__ = ["Transformer"]
