"""A Transformer with a classifier of spans, for parsing."""

from keras_transformer.layers import SpanClassifier
from keras_transformer.layers.transformer import Transformer
from keras_transformer.serialization import serializable


@serializable
class ParsingTransformer(Transformer):
    """A `Transformer` whose encoder also classifies the spans of the inputs.

    Both parts learn from the same trees, the decoder to write them and the
    classifier to find their constituents. `parsing.consensus` joins what they
    find.

    Args:
        vocab_size: As in `Transformer`.
        span_labels: Integer number of labels of spans.
        **options: Further arguments of `Transformer`.

    Attributes:
        spans: The `SpanClassifier`. It takes the output of `encode`.

    Example:

    >>> import numpy as np
    >>> model = ParsingTransformer(
    ...     100, span_labels=5, num_layers=1, d_model=8, num_heads=2, d_ff=16
    ... )
    >>> model.build()
    >>> encoded, padding_mask = model.encode(np.array([[5, 7, 1]]))
    >>> model.spans(encoded).shape
    TensorShape([1, 3, 3, 5])
    """

    def __init__(self, vocab_size, span_labels, **options):
        super().__init__(vocab_size, **options)
        self.spans = SpanClassifier(
            span_labels,
            dropout=options.get("dropout", 0.1),
            name="spans",
            dtype=self.dtype_policy,
            trainable=options.get("trainable", True),
        )

    def build(self, features_shape=None):
        super().build(features_shape)
        self.spans.build((None, None, self.d_model))
        if self.lora_rank:  # the classifier has no adapters and stays fixed
            self.spans.trainable = False

    def decode_and_classify(self, features, training=None):
        """Computes the decoder's output, and the logits of all spans.

        Args:
            features: Dictionary as in the call of a `Transformer`.
            training: Boolean or None, whether dropout is active.

        Returns:
            Tensor of shape `(batch, target_len, d_model)`, and the output of
            `spans` for the encoded inputs.
        """
        decoded, _, encoded = self._decode(features, training=training)
        return decoded, self.spans(encoded, training=training)

    def get_config(self):
        return {**super().get_config(), "span_labels": self.spans.num_labels}
