"""Measures the labels that a `SpanClassifier` gives to all spans."""

from keras import ops


def span_loss(logits, spans, padding_mask):
    """Sums the cross-entropy of every label of every span of real tokens.

    A label that a span has adds minus the logarithm of its probability p, and a
    label that it lacks minus the logarithm of 1 - p. A span that ends before it
    starts adds nothing.

    Args:
        logits: Tensor of shape `(batch, length, length, num_labels)`, as
            `SpanClassifier` returns it.
        spans: Integers of shape `(batch, num_spans, 3)`: the first position,
            the last position and the label of each labelled span, once. A
            negative label marks unused places.
        padding_mask: Booleans of shape `(batch, length)`, True at real tokens,
            which precede the padding.

    Returns:
        Float32 scalar.

    Example:

    >>> import numpy as np
    >>> logits = np.zeros((1, 2, 2, 1), "float32")
    >>> spans, mask = np.array([[[0, 1, 0]]]), np.ones((1, 2), bool)
    >>> round(float(span_loss(logits, spans, mask)), 4)  # of 3 spans
    2.0794
    """
    logits = ops.cast(logits, "float32")
    length, num_labels = ops.shape(logits)[1], logits.shape[-1]
    places = ops.arange(length)
    ends_later = places[:, None] <= places  # (length, length)
    counts = ends_later & padding_mask[:, None]  # (batch, length, length)
    # The cross-entropy is softplus(z) - z for a label that the span has, and
    # softplus(z) for any other.
    of_spans = ops.sum(ops.softplus(logits), axis=-1)
    absent = ops.sum(of_spans * ops.cast(counts, "float32"))
    spans = ops.cast(spans, "int32")
    first, last, label = spans[:, :, 0], spans[:, :, 1], spans[:, :, 2]
    is_span = ops.cast(label >= 0, "float32")  # (batch, num_spans)
    # The logits of a sentence as one row, from which spans select by number.
    flat = ops.reshape(logits, (-1, length * length * num_labels))
    indices = (first * length + last) * num_labels + label
    indices = ops.maximum(indices, 0)  # anywhere for an unused place
    present = ops.take_along_axis(flat, indices, axis=1) * is_span
    return absent - ops.sum(present)
