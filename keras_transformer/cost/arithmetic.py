"""The number of floating-point operations of a training, by counting."""

import numpy as np


def training_flops(hparams, vocab_size, lengths):
    """Counts the operations of the matrix products of a training.

    A product of a matrix with a vector takes two operations for each entry, and
    the backward pass takes twice as many as the forward pass. Both passes of
    consistency training count. Attention counts every pair of a query and a
    key, including pairs that the causal mask hides, but only pairs within
    `neighbourhood_size` if that is set. The embedding is a lookup. It does not
    count, and neither do biases, normalisation, softmax and the optimizer.

    Args:
        hparams: `HParams` of the model.
        vocab_size: Integer number of token ids.
        lengths: Array of shape `(pairs, 2)`, the source and the target length
            of each pair.

    Returns:
        A float.
    """
    # In float, because int32 overflows.
    source, target = np.asarray(lengths, float).reshape(-1, 2).T  # (pairs,)
    d_k, d_v = hparams.head_widths
    per_pair = hparams.num_heads * (d_k + d_v)
    # Queries and keys have width d_k; values and outputs have width d_v.
    half_attention = hparams.d_model * per_pair
    feed_forward = 2 * hparams.d_model * hparams.d_ff
    # An encoder layer has the four matrices of self-attention.
    encoder = (2 * half_attention + feed_forward) * source.sum()
    encoder += per_pair * _num_pairs(source, source, hparams.neighbourhood_size)
    # A decoder layer also has those of cross-attention, of which two multiply
    # source tokens.
    decoder = (3 * half_attention + feed_forward) * target.sum()
    decoder += half_attention * source.sum()
    decoder += per_pair * _num_pairs(target, target, hparams.neighbourhood_size)
    decoder += per_pair * _num_pairs(target, source)
    logits = hparams.d_model * vocab_size * target.sum()
    products = hparams.num_layers * encoder + hparams.decoder_depth * decoder
    return 3 * 2 * hparams.passes_per_update * float(products + logits)


def _num_pairs(queries, keys, neighbourhood_size=0):
    """Returns how many pairs of a query and a key attention compares."""
    if neighbourhood_size:
        keys = np.minimum(keys, neighbourhood_size)
    return (queries * keys).sum()
