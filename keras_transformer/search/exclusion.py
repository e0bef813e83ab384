"""Excludes ids that a sequence may not hold next."""

from keras import ops

from keras_transformer.search.beams import NEVER
from keras_transformer.token_ids import END_ID


def exclude_ids(logits, search, position, min_length, no_repeat_ngram_size):
    """Excludes an early end, and what would repeat n-grams.

    The logits `(batch, beam, vocab_size)` of excluded ids become minus
    infinity. The other arguments are those of `beam_search`.
    """
    if min_length:
        logits = exclude_end(logits, position < min_length)
    if no_repeat_ngram_size:
        logits = _exclude_repetitions(
            logits, search.alive.sequences, position, no_repeat_ngram_size
        )
    return logits


def exclude_end(logits, is_excluded):
    """Excludes the end wherever `is_excluded` is true."""
    is_end = ops.equal(ops.arange(logits.shape[-1]), END_ID)
    return ops.where(is_end & is_excluded, NEVER, logits)


def _exclude_repetitions(logits, sequences, position, size):
    """Excludes the ids with which the last `size` ids would occur again."""
    # An id may not come again after the `size - 1` ids that it followed.
    places = ops.arange(ops.shape(sequences)[2])
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
