"""Draws tokens at random from a model's distribution."""

from keras import ops

from keras_transformer.layers.random_bits import RandomBits
from keras_transformer.layers.random_bits import scrambled
from keras_transformer.layers.random_bits import uint32
from keras_transformer.search.beam_search import NEVER


def make_sampler(options, seeds):
    """Makes the function with which `beam_search` draws extensions.

    A draw depends only on the sentence's seed, the number of the sample and the
    position, and not on the other sentences of the batch.

    Args:
        options: `DecodeOptions`. Only its `temperature`, `top_k` and `top_p`
            are used.
        seeds: Seed of each sentence, int32 of shape `(batch,)`.

    Returns:
        Function `(logits, position, rows) -> ids`. It takes float32 logits of
        shape `(batch, samples, vocab_size)`, a scalar, and the indices of the
        sentences' seeds, `(batch,)`. It returns int32 `(batch, samples)`.
    """

    def draw(logits, position, rows):
        logits = logits / options.temperature
        if options.top_k:
            logits = _keep_likeliest(logits, options.top_k)
        if options.top_p < 1.0:
            logits = _keep_nucleus(logits, options.top_p)
        # The odd constant, taken from MurmurHash3, makes positions differ in
        # many bits.
        offset = uint32(0xC2B2AE35) * ops.cast(position + 1, "uint32")
        seeds_here = ops.cast(ops.take(seeds, rows), "uint32")  # (batch,)
        bits = RandomBits(scrambled(seeds_here + offset))
        noise = _gumbel(bits.draw(ops.shape(logits)))
        # The Gumbel-max trick: with such noise, the argmax of logits is
        # distributed as their softmax.
        return ops.cast(ops.argmax(logits + noise, axis=-1), "int32")

    return draw


def _gumbel(bits):
    """Turns random uint32 into samples of the Gumbel distribution."""
    high = ops.cast(ops.right_shift(bits, uint32(8)), "float32")
    uniform = (high + 0.5) * 2.0**-24  # between 0 and 1, never either
    return -ops.log(-ops.log(uniform))


def _keep_likeliest(logits, number):
    """Keeps this number of ids, and those as likely as the last of them."""
    number = min(number, logits.shape[-1])
    least = ops.top_k(logits, number)[0][..., -1:]
    return ops.where(logits < least, NEVER, logits)


def _keep_nucleus(logits, share):
    """Keeps the fewest likeliest ids that together have this probability.

    Nucleus sampling of Holtzman et al. (2020).
    """
    descending = ops.flip(ops.sort(logits, axis=-1), axis=-1)
    shares = ops.softmax(descending, axis=-1)
    # The sum without the id itself, so that the likeliest id always stays.
    before = ops.cumsum(shares, axis=-1) - shares
    least = ops.min(
        ops.where(before < share, descending, -NEVER), axis=-1, keepdims=True
    )
    return ops.where(logits < least, NEVER, logits)
