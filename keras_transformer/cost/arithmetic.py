"""Counts the floating-point operations of a training run."""

import functools
import math

import numpy as np

from keras_transformer.model_config import list_weights

# Kernels of the decoder that multiply source tokens.
SOURCE_KERNELS = ("cross_attention/key", "cross_attention/value")


def training_flops(config, vocab_size, lengths, num_passes=1):
    """Counts the operations of the matrix products of a training run.

    A product of a matrix with a vector takes two operations for each entry, and
    the backward pass takes twice as many as the forward pass. Attention counts
    every pair of a query and a key, including pairs that the causal mask hides,
    but only pairs within `neighbourhood_size` if that is set. The embedding is
    a lookup. It does not count, and neither do biases, normalisation, softmax
    and the optimizer.

    The lengths `(pairs, 2)` are those of the source and the target. An update
    runs the model `num_passes` times on each pair.
    """
    # In float, because int32 overflows.
    source, target = np.asarray(lengths, float).reshape(-1, 2).T  # (pairs,)
    per_source, per_target = _entries_per_token(config, vocab_size)
    products = per_source * source.sum() + per_target * target.sum()
    size = config.neighbourhood_size
    compared = config.num_layers * _num_pairs(source, source, size)
    compared += config.decoder_depth * _num_pairs(target, target, size)
    compared += config.decoder_depth * _num_pairs(target, source)
    # A query is multiplied with a key, and the weight with a value.
    products += config.num_heads * sum(config.head_widths) * compared
    return 3 * 2 * num_passes * float(products)


@functools.cache
def _entries_per_token(config, vocab_size):
    """Counts the matrix entries that multiply a source and a target token."""
    weights = list_weights(config, vocab_size)
    # The logits are products with this matrix or with one of the same shape.
    entries = {
        "source": 0,
        "target": math.prod(weights["model/embedding/embeddings"]),
    }
    for name, shape in weights.items():
        _, stack, *place = name.split("/")
        if len(shape) < 2 or stack not in ("encoder", "decoder"):
            continue
        kernel = "/".join(place[1:])
        reads_source = stack == "encoder" or kernel in SOURCE_KERNELS
        side = "source" if reads_source else "target"
        entries[side] += math.prod(shape)
    return entries["source"], entries["target"]


def _num_pairs(queries, keys, neighbourhood_size=0):
    """Returns how many pairs of a query and a key attention compares."""
    if neighbourhood_size:
        keys = np.minimum(keys, neighbourhood_size)
    return (queries * keys).sum()
