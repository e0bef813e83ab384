"""Measures how far cross-attention is from known word alignments."""

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
