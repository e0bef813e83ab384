"""Finds the constituents of a sentence among all its spans."""

import keras
from keras import ops

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.projection import add_bias
from keras_transformer.layers.projection import find_leading_axes
from keras_transformer.layers.projection import project
from keras_transformer.layers.residual import LayerNormalization
from keras_transformer.layers.sequence_layer import SequenceLayer
from keras_transformer.layers.sequence_layer import check_vectors
from keras_transformer.serialization import serializable

# Otherwise the first updates would be spent on learning that a span rarely is a
# constituent (Lin et al., 2017, "Focal Loss for Dense Object Detection").
_RARE = -6.0


@serializable
class SpanClassifier(SequenceLayer):
    """Predicts the labels of every span of positions.

    For the span from position `i` to position `j`, inclusive, the logits of the
    labels are

        ReLU(LayerNorm(A x_i + B x_j)) W + b

    where `x_i` and `x_j` are the vectors at its ends. A span can have several
    labels, so the logistic function turns each logit into a probability. Stern,
    Andreas and Klein (2017), "A Minimal Span-Based Neural Constituency Parser",
    use the difference of two vectors instead of the sum of two projections.

    It takes no mask: the logits of spans that include padding, or
    that end before they start, are meaningless.

    Args:
        num_labels: Integer number of labels.
        width: Integer width of the hidden layer. Defaults to 256.
        dropout: Float, the share of each vector that is dropped. Defaults to
            0.1.

    Call arguments:
        encoded: Tensor of shape `(batch, length, d_model)`.

    Returns:
        Float32 logits of shape `(batch, length, length, num_labels)`.

    Example:

    >>> import numpy as np
    >>> SpanClassifier(num_labels=5)(np.ones((1, 3, 8), "float32")).shape
    TensorShape([1, 3, 3, 5])
    """

    def __init__(self, num_labels, width=256, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        self.num_labels = num_labels
        self.width = width
        self.dropout = dropout
        self.dropout_layer = Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )
        self.norm_layer = LayerNormalization(
            dtype=self.dtype_policy, name="norm"
        )
        self.freeze_parts()

    def build(self, input_shape):
        d_model = input_shape[-1]
        self.first, self.last = (
            self.add_weight(name=name, shape=(d_model, self.width))
            for name in ("first", "last")
        )
        self.norm_layer.build((None, None, None, self.width))
        self.labels = self.add_weight(
            name="labels", shape=(self.width, self.num_labels)
        )
        self.labels_bias = self.add_weight(
            name="labels_bias",
            shape=(self.num_labels,),
            initializer=keras.initializers.Constant(_RARE),
        )

    def call(self, encoded, training=None):
        check_vectors(encoded)
        batch, length = find_leading_axes(encoded)
        encoded = self.dropout_layer(encoded, training=training)
        first = project(encoded, self.first)  # (batch, length, width)
        last = project(encoded, self.last)
        # (batch, length, length, width)
        summed = first[:, :, None] + last[:, None]
        hidden = ops.relu(self.norm_layer(summed, training=training))
        rows = ops.reshape(hidden, (-1, self.width))
        products = ops.matmul(rows, self.labels)
        logits = add_bias(products, self.labels_bias, training)
        return ops.reshape(
            ops.cast(logits, "float32"),
            (batch, length, length, self.num_labels),
        )

    def compute_output_shape(self, input_shape):
        batch, length, _ = input_shape
        return batch, length, length, self.num_labels
