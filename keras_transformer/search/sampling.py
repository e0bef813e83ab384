"""Drawing tokens at random from a model's distribution."""

from keras import ops

from keras_transformer.layers.random_bits import RandomBits
from keras_transformer.layers.random_bits import scrambled
from keras_transformer.layers.random_bits import uint32
from keras_transformer.search.beam_search import NEVER


def make_sampler(options, seeds):
    """Makes the function that `beam_search` draws extensions with.

    What it draws depends on the sentence's seed, the number of the sample and
    the position alone, not on the sentences beside it.

    Args:
        options: a `DecodeOptions`, for `temperature`, `top_k` and `top_p`.
        seeds: a random number for each sentence, int32 `(batch,)`.

    Returns:
        A function `(logits, position, rows) -> ids`. It takes float32 logits of
        shape `(batch, samples, vocab_size)`, a scalar, and the indices of the
        batch's seeds, `(batch,)`. It returns int32 `(batch, samples)`.
    """

    def draw(logits, position, rows):
        logits = logits / options.temperature
        if options.top_k:
            logits = _only_likeliest(logits, options.top_k)
        if options.top_p < 1.0:
            logits = _only_nucleus(logits, options.top_p)
        at = uint32(0xC2B2AE35) * ops.cast(position + 1, "uint32")
        own = scrambled(ops.cast(ops.take(seeds, rows), "uint32") + at)
        noise = _gumbel(RandomBits(own).draw(ops.shape(logits)))
        return ops.cast(ops.argmax(logits + noise, axis=-1), "int32")

    return draw


def _gumbel(bits):
    # The greatest of logits with such noise is distributed as their softmax.
    high = ops.cast(ops.right_shift(bits, uint32(8)), "float32")
    uniform = (high + 0.5) * 2.0**-24  # between 0 and 1, never either
    return -ops.log(-ops.log(uniform))


def _only_likeliest(logits, number):
    number = min(number, logits.shape[-1])
    least = ops.top_k(logits, number)[0][..., -1:]
    return ops.where(logits < least, NEVER, logits)


def _only_nucleus(logits, share):
    """Keeps the fewest likeliest ids that together have this probability."""
    descending = ops.flip(ops.sort(logits, axis=-1), axis=-1)
    shares = ops.softmax(descending, axis=-1)
    before = ops.cumsum(shares, axis=-1) - shares
    least = ops.min(
        ops.where(before < share, descending, -NEVER), axis=-1, keepdims=True
    )
    return ops.where(logits < least, NEVER, logits)
