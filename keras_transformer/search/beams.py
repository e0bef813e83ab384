"""Selects the beams of a search, excludes ids, and draws ids at random."""

import typing

import numpy as np
from keras import ops
from keras import tree

from keras_transformer.layers import dropout
from keras_transformer.token_ids import END_ID

BLOCK = 100  # approximate number of values that a maximum is taken of
NEVER = float("-inf")  # log-probability of impossible events


class JointState(typing.NamedTuple):
    """The states of several parts of a search; their beams move together."""

    parts: tuple

    def reorder(self, beams):
        return JointState(tuple(part.reorder(beams) for part in self.parts))


def gather_beams(state, beams):
    """Returns nested tensors in which beam j is the former `beams[j]`."""
    return tree.map_structure(lambda values: select(values, beams), state)


def select(values, indices):
    """Takes rows `(batch, number)` of values `(batch, rows, ...)`."""
    axes = (1,) * (len(values.shape) - 2)
    indices = ops.reshape(
        indices, (-1, indices.shape[1], *axes)
    )  # (batch, number, 1, ...)
    return ops.take_along_axis(values, indices, axis=1)  # (batch, number, ...)


def top_k(values, k, excluded=()):
    """Finds the `k` largest values along the last axis, as `ops.top_k` does.

    The largest values lie in the `k` blocks with the largest maxima. Finding
    a maximum is several times faster than finding the `k` largest values, so
    only those blocks are searched for them. Returns values in descending order
    and int32 indices, `(..., k)`, or all values if there are fewer. The
    indices in `excluded` count as minus infinity.

    >>> import numpy as np
    >>> _, indices = top_k(np.array([[0.1, 0.5, 0.4, 0.9]], "float32"), 2)
    >>> np.array(indices)
    array([[3, 1]], dtype=int32)
    """
    length = values.shape[-1]
    k = min(k, length)
    if excluded:
        return _top_k_of_others(values, k, excluded)
    size = _block_size(length)
    num_blocks = length // size
    if size == 1 or num_blocks <= k:
        return ops.top_k(values, k)
    shape = ops.shape(values)[:-1]
    blocks = ops.reshape(
        values, (-1, num_blocks, size)
    )  # (rows, num_blocks, size)
    # A value in any other block is at most as large as each of the maxima of
    # these blocks, so there are `k` values before it.
    _, best_blocks = ops.top_k(ops.max(blocks, axis=-1), k)  # (rows, k)
    # In order of position, so that equal values keep their order.
    best_blocks = ops.sort(best_blocks, axis=-1)
    rows = ops.arange(ops.shape(blocks)[0], dtype="int32")[:, None]
    candidates = ops.take(
        ops.reshape(blocks, (-1, size)),  # (rows x num_blocks, size)
        rows * num_blocks + best_blocks,
        axis=0,
    )  # (rows, k, size)
    best, places = ops.top_k(
        ops.reshape(candidates, (-1, k * size)),  # (rows, k x size)
        k,
    )
    block = ops.take(
        ops.reshape(best_blocks, (-1,)),  # (rows x k,)
        rows * k + places // size,
        axis=0,
    )  # (rows, k)
    indices = block * size + places % size
    return (
        ops.reshape(best, (*shape, k)),  # (..., k)
        ops.reshape(indices, (*shape, k)),  # (..., k)
    )


def _top_k_of_others(values, k, excluded):
    # Among a few more values, the excluded ones are cheap to exclude.
    values, indices = top_k(values, k + len(excluded))
    for index in excluded:
        values = ops.where(ops.equal(indices, index), NEVER, values)
    values, places = ops.top_k(values, k)  # (..., k)
    return values, ops.take_along_axis(indices, places, axis=-1)


def _block_size(length):
    """Returns the divisor of `length` nearest to `BLOCK`, or 1 if none is."""
    near = range(BLOCK // 2, 2 * BLOCK + 1)
    divisors = [size for size in near if length % size == 0]
    return min(divisors, key=lambda size: abs(size - BLOCK), default=1)


def exclude_end(logits, is_excluded):
    """Excludes the end wherever `is_excluded` is true.

    The logits of excluded ids, `(batch, beam, vocab_size)`, become minus
    infinity.
    """
    is_end = ops.equal(ops.arange(logits.shape[-1], dtype="int32"), END_ID)
    return ops.where(is_end & is_excluded, NEVER, logits)


def exclude_repetitions(logits, sequences, position, size):
    """Excludes the ids with which the last `size` ids would occur again."""
    # An id may not come again after the `size - 1` ids that it followed.
    places = ops.arange(ops.shape(sequences)[2], dtype="int32")
    is_next = (places >= size - 1) & (places < position)
    is_next = ops.broadcast_to(is_next, ops.shape(sequences))
    for back in range(1, size):
        last = ops.take(sequences, ops.maximum(position - back, 0), axis=2)
        earlier = ops.roll(sequences, back, axis=2)
        is_next = is_next & ops.equal(earlier, last[:, :, None])
    vocab_size = logits.shape[-1]
    rows = ops.arange(ops.size(sequences), dtype="int32") // ops.size(places)
    ids = ops.reshape(sequences, (-1,)) + vocab_size * rows
    counts = ops.scatter(
        ids[:, None],
        ops.cast(ops.reshape(is_next, (-1,)), "int32"),
        (ops.size(logits),),
    )
    is_excluded = ops.reshape(counts > 0, ops.shape(logits))
    return ops.where(is_excluded, NEVER, logits)


def make_sampler(options, seeds, forbidden=()):
    """Makes the function with which `beam_search` draws extensions.

    A draw depends only on the sentence's seed, int32 of shape `(batch,)`, the
    number of the sample and the position, not on the rest of the batch. The
    ids in `forbidden` are never drawn. The function takes float32 logits
    `(batch, samples, vocab_size)`, the position, and the indices `(batch,)` of
    the sentences' seeds. It returns int32 `(batch, samples)`.
    """

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
    # The largest numbers round to 1, which would make the noise infinite.
    uniform = ops.minimum(uniform, 1.0 - 2.0**-24)
    return -ops.log(-ops.log1p(-uniform))


def _keep_nucleus(logits, share):
    """Keeps the fewest likeliest ids that together have probability `share`."""
    # The logits, `(batch, samples, number)`, descend. Holtzman et al. (2020).
    shares = ops.softmax(logits, axis=-1)
    # The sum without the id itself, so that the likeliest id always stays.
    before = ops.cumsum(shares, axis=-1) - shares
    return ops.where(before < share, logits, NEVER)
