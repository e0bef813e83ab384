"""Keras layers of the Transformer, which use only `keras.ops`."""

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
from keras_transformer.layers.span_classifier import SpanClassifier

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
