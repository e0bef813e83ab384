"""The extensions of a search's beams by one id."""

import typing

from keras import ops

from keras_transformer.search.beams import NEVER
from keras_transformer.search.beams import select
from keras_transformer.search.top_k import top_k
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID


class Candidates(typing.NamedTuple):
    """Extensions of a sentence's beams by one id, from `find_candidates`."""

    beams: typing.Any  # the extended beams, int32 (batch, candidates)
    ids: typing.Any  # the appended ids, int32 (batch, candidates)
    log_probs: typing.Any  # float32 (batch, candidates)


def find_candidates(
    logits, search, position, min_length, sampler, forbidden, lexical
):
    """Finds the best extensions of each sentence's beams by one id.

    There are twice as many as beams: one extension of each beam may end, and
    enough others must remain. A single beam has one extension, and so does each
    beam that is a sample.

    Args:
        logits: Tensor of shape `(batch, beam, vocab_size)`.
        search: The `Search` before this position.
        position: Scalar integer tensor.
        min_length, sampler, forbidden, lexical: See `beam_search`.

    Returns:
        The `Candidates`.
    """
    logits = ops.cast(logits, "float32")
    log_probs = search.alive.log_probs
    beam_size = log_probs.shape[1]
    num_candidates = 1 if beam_size == 1 else 2 * beam_size
    allowed = logits
    if min_length:
        allowed = _without_end(allowed, position < min_length)
    if lexical:
        unmet = ops.logical_not(search.terms.are_met())
        allowed = _without_end(allowed, unmet[:, :, None])
    # The best ids of each beam are the same before and after normalisation, so
    # only their logits are normalised, by the sum over the vocabulary.
    if sampler:
        ids = sampler(allowed, position, search.rows)[:, :, None]
        best = ops.take_along_axis(logits, ids, axis=-1)  # (batch, beam, 1)
    else:
        best, ids = top_k(allowed, num_candidates, forbidden)
    if lexical:
        best, ids = _with_needed(
            best, ids, logits, search.terms.find_next_ids()
        )
    best, ids = _apply_forced_ids(best, ids, logits, search.forced, position)
    best = best - ops.logsumexp(logits, axis=-1, keepdims=True)
    best = best + log_probs[:, :, None]  # (batch, beam, per_beam)
    if lexical:
        best, chosen = lexical.choose(best, ids, search.terms)
    else:
        extensions = _flat(best)
        number = min(num_candidates, extensions.shape[1])
        best, chosen = ops.top_k(extensions, number)  # (batch, candidates)
    return Candidates(
        ops.floor_divide(ops.cast(chosen, "int32"), ops.shape(ids)[2]),
        select(_flat(ids), chosen),
        best,
    )


def _flat(values):
    """Returns the extensions of all beams, `(batch, beam x per_beam)`."""
    shape = ops.shape(values)
    return ops.reshape(values, (-1, shape[1] * shape[2]))


def _without_end(logits, refused):
    is_end = ops.equal(ops.arange(logits.shape[-1]), END_ID)
    return ops.where(ops.logical_and(is_end, refused), NEVER, logits)


def _with_needed(best, ids, logits, needed):
    """Adds the next ids that each beam needs to its best extensions.

    Args:
        best, ids: Logits and ids, `(batch, beam, per_beam)`.
        logits: Tensor of shape `(batch, beam, vocab_size)`.
        needed: Ids of shape `(batch, beam, num_terms)`, 0 for none.
    """
    per_beam = ids.shape[2]
    ids = ops.concatenate([ops.cast(ids, "int32"), needed], axis=-1)
    also = ops.take_along_axis(logits, needed, axis=-1)
    best = ops.concatenate([best, also], axis=-1)
    # An id that is there already would make two equal beams.
    places = ops.arange(ops.shape(ids)[2])
    earlier = places[None, :] < places[:, None]
    same = ops.equal(ids[:, :, :, None], ids[:, :, None, :])
    repeated = ops.any(ops.logical_and(same, earlier), axis=-1)
    useless = ops.logical_and(
        places >= per_beam,
        ops.logical_or(repeated, ops.equal(ids, PAD_ID)),
    )  # (batch, beam, per_beam + num_terms)
    return ops.where(useless, NEVER, best), ids


def _apply_forced_ids(best, ids, logits, forced, position):
    """Makes the forced id, where there is one, the only choice of a beam."""
    forced = ops.take(forced, position, axis=1)[:, None, None]  # (batch, 1, 1)
    forced = ops.repeat(forced, ids.shape[1], axis=1)  # (batch, beam, 1)
    only = ops.take_along_axis(logits, forced, axis=-1)  # (batch, beam, 1)
    first = ops.equal(ops.arange(ops.shape(ids)[-1]), 0)
    is_forced = ops.not_equal(forced, PAD_ID)
    return (
        ops.where(is_forced, ops.where(first, only, NEVER), best),
        ops.where(is_forced, forced, ops.cast(ids, "int32")),
    )
