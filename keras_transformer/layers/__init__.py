"""Keras layers of the Transformer, which use only `keras.ops`."""

import importlib
import typing

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.decoder import Decoder
from keras_transformer.layers.decoder import DecoderLayer
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.dropout import dropout_noise
from keras_transformer.layers.embedding import SharedEmbedding
from keras_transformer.layers.embedding import TokenEmbeddings
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.encoder import EncoderLayer
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.fused_attention import FusedAttention
from keras_transformer.layers.positional_encoding import (
    LearnedPositionalEncoding,
)
from keras_transformer.layers.positional_encoding import (
    SinusoidalPositionalEncoding,
)
from keras_transformer.layers.residual import Residual

if typing.TYPE_CHECKING:  # Editors and type checkers run no `__getattr__`.
    from keras_transformer.parsing.span_classifier import (
        SpanClassifier as SpanClassifier,
    )

__all__ = [
    "Decoder",
    "DecoderLayer",
    "Dropout",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "FusedAttention",
    "LearnedPositionalEncoding",
    "MultiHeadAttention",
    "Residual",
    "SharedEmbedding",
    "SinusoidalPositionalEncoding",
    "SpanClassifier",
    "TokenEmbeddings",
    "dropout_noise",
]


def __getattr__(name):
    if name != "SpanClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Its module imports this package, so it is imported at its first use.
    module = importlib.import_module(
        "keras_transformer.parsing.span_classifier"
    )
    return module.SpanClassifier
