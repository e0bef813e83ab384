"""Draws tokens at random from a model's distribution."""

import numpy as np
from keras import ops

from keras_transformer.layers import dropout
from keras_transformer.search.beams import NEVER
from keras_transformer.search.beams import top_k


def make_sampler(options, seeds, forbidden=()):
    """Makes the function with which `beam_search` draws extensions, or None.

    A draw depends only on the sentence's seed, int32 of shape `(batch,)`, the
    number of the sample and the position, not on the rest of the batch. The
    ids in `forbidden` are never drawn. The function takes float32 logits
    `(batch, samples, vocab_size)`, the position, and the indices `(batch,)` of
    the sentences' seeds. It returns int32 `(batch, samples)`.
    Nothing is drawn at a temperature of 0.
    """
    if not options.temperature:
        return None

    def draw(logits, position, rows):
        ids = None
        if forbidden:
            is_forbidden = np.isin(np.arange(logits.shape[-1]), forbidden)
            logits = ops.where(is_forbidden, NEVER, logits)
        if options.top_k or options.top_p < 1.0:
            # In descending order, (batch, samples, number).
            logits, ids = top_k(logits, options.top_k or logits.shape[-1])
        # The largest logit becomes 0, so that no temperature overflows.
        logits = logits - ops.max(logits, axis=-1, keepdims=True)
        logits = logits / options.temperature
        if options.top_p < 1.0:
            logits = _keep_nucleus(logits, options.top_p)
        # The odd constant of MurmurHash3 makes positions differ in many bits.
        offset = dropout.uint32(0xC2B2AE35) * ops.cast(position + 1, "uint32")
        seeds_here = ops.cast(ops.take(seeds, rows), "uint32")  # (batch,)
        bits = dropout.RandomBits(dropout.scramble(seeds_here + offset))
        noise = _gumbel(bits.draw(ops.shape(logits)))
        # The Gumbel-max trick: with such noise, the argmax of logits is
        # distributed as their softmax.
        drawn = ops.cast(ops.argmax(logits + noise, axis=-1), "int32")
        if ids is None:
            return drawn
        drawn = ops.take_along_axis(ids, drawn[..., None], axis=-1)[..., 0]
        return ops.cast(drawn, "int32")

    return draw


def _gumbel(bits):
    """Turns random uint32 into samples of the Gumbel distribution."""
    # The largest noise decides which id is drawn. It comes from the smallest
    # numbers, where float32 resolves all 32 bits; near 1 it resolves 24.
    uniform = (ops.cast(bits, "float32") + 0.5) * 2.0**-32
    # The largest numbers round to 1, whose noise would be infinite.
    uniform = ops.minimum(uniform, 1.0 - 2.0**-24)
    return -ops.log(-ops.log1p(-uniform))


def _keep_nucleus(logits, share):
    """Keeps the fewest likeliest ids that together have probability `share`."""
    # The logits, `(batch, samples, number)`, descend. Holtzman et al. (2020).
    shares = ops.softmax(logits, axis=-1)
    # The sum without the id itself, so that the likeliest id always stays.
    before = ops.cumsum(shares, axis=-1) - shares
    return ops.where(before < share, logits, NEVER)
