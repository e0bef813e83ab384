"""Losses that guide a model besides its target: alignments and spans."""

from keras import ops

SMALLEST = 1e-9  # a smaller share of the attention counts as this one


def alignment_loss(weights, links):
    """Sums how little the linked target tokens attend to their sources.

    A linked target token adds minus the logarithm of the share of its attention
    that its linked source tokens receive. Its attention is the mean of the
    heads, from which word links are read. A token without a link adds nothing.
    After Chen et al. (2016), "Guided alignment training for topic-aware neural
    machine translation", and Garg et al. (2019), "Jointly learning to align and
    translate with Transformer models", which guides a single head.

    Args:
        weights: Tensor of shape `(batch, num_heads, target_len, input_len)`,
            the cross-attention of a layer.
        links: Booleans of shape `(batch, target_len, input_len)`.

    Returns:
        Float32 scalar.

    Example:

    >>> import numpy as np
    >>> weights = np.array([[[[0.5, 0.5], [0.9, 0.1]]]])
    >>> links = np.array([[[True, False], [False, False]]])
    >>> round(float(alignment_loss(weights, links)), 4)
    0.6931
    """
    links = ops.cast(links, "float32")
    attention = ops.mean(ops.cast(weights, "float32"), axis=1)
    shares = ops.sum(attention * links, axis=-1)  # (batch, target_len)
    is_linked = ops.max(links, axis=-1)  # (batch, target_len)
    return -ops.sum(ops.log(ops.maximum(shares, SMALLEST)) * is_linked)


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
    places = ops.arange(length, dtype="int32")
    ends_later = places[:, None] <= places  # (length, length)
    # (batch, length, length)
    counts = ops.logical_and(ends_later, ops.expand_dims(padding_mask, 1))
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
