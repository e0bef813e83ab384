"""Beam search over a step function; it knows no model, no text, no files."""

import collections

from keras import ops
from keras import tree

NEVER = float("-inf")

# What can still grow: sequences (batch, beam, length), log-probabilities
# (batch, beam).
Alive = collections.namedtuple("Alive", "sequences log_probs")

# What has ended: sequences (batch, num_hypotheses, length), scores (batch,
# num_hypotheses), best first.
Finished = collections.namedtuple("Finished", "sequences scores")

# One step's extensions of the beams of a sentence: the beam each one extends,
# the id it appends, its log-probability; all (batch, candidates), best first.
Candidates = collections.namedtuple("Candidates", "beams ids log_probs")


def beam_search(
    step,
    cache,
    beam_size,
    max_lengths,
    alpha=0.6,
    end_id=1,
    num_hypotheses=None,
    max_length=None,
):
    """Finds the sequences with the highest length-normalised probability.

    A hypothesis is a sequence that ends in `end_id` and is at most as long as
    its sentence's limit, the end counted. Its score is its log-probability
    divided by `((5 + length) / 6) ** alpha` (section 6.1 of Vaswani et al.,
    2017; Wu et al., 2016). At the limit's last position `end_id` is the only
    choice left and counts with its true probability, so that every sentence
    has a hypothesis and a wide beam returns what enumeration returns.

    A sentence is done when none of its live beams, were it to reach the limit
    without losing any more probability, could enter the `num_hypotheses` best;
    the search stops when all are. A sentence's result does not depend on the
    other sentences of the batch. Unlike Tensor2Tensor's, a beam of one is
    exactly the greedy choice: it has no second candidate to fall back on when
    the best one ends.

    Args:
        step: function `(ids, position, cache) -> (logits, cache)`. `ids`, of
            shape `(batch * beam,)`, are those chosen last (0 at position 0);
            `position` is a scalar; `logits` have shape
            `(batch * beam, vocab_size)`.
        cache: nested tensors whose first axis is `batch * beam`; reordered
            when the beams are. What never changes belongs into `step` itself.
        beam_size: how many sequences stay alive at each step.
        max_lengths: integers of shape `(batch,)`, the limit of each sentence.
        alpha: exponent of the length penalty, at least 0; 0 turns it off.
        end_id: the id that ends a sequence.
        num_hypotheses: how many are returned, `beam_size` by default. Fewer
            stop sooner and are the same as the first of more.
        max_length: the `length` of the result, the largest limit by default.
            `jax.jit` needs it as a number.

    Returns:
        Sequences of shape `(batch, num_hypotheses, length)`, int32, ending in
        `end_id` and padded with 0, and scores of shape
        `(batch, num_hypotheses)`, best first. Where fewer exist, the rest are
        empty with a score of minus infinity.
    """
    max_lengths = ops.cast(max_lengths, "int32")  # (batch,)
    if num_hypotheses is None:
        num_hypotheses = beam_size
    if max_length is None:
        max_length = ops.max(max_lengths)
    batch = ops.shape(max_lengths)[0]
    alive = _start_alive(batch, beam_size, max_length)
    finished = _start_finished(batch, num_hypotheses, max_length)

    def unfinished(position, alive, finished, cache):
        # A log-probability only falls and the penalty only grows with length.
        bound = ops.max(alive.log_probs, axis=1) / _length_penalty(
            max_lengths, alpha
        )
        return ops.any(bound > ops.min(finished.scores, axis=1))

    def advance(position, alive, finished, cache):
        logits, cache = step(_last_ids(alive, position), position, cache)
        logits = ops.cast(logits, "float32")
        at_limit = position + 1 >= max_lengths
        candidates = _extend(logits, alive, at_limit, end_id)
        sequences = _append(alive, candidates, position)
        ends = ops.equal(candidates.ids, end_id)
        finished = _finish(
            finished,
            sequences,
            ops.where(ends, candidates.log_probs, NEVER)
            / _length_penalty(position + 1, alpha),
        )
        alive, beams = _grow(
            sequences,
            candidates.beams,
            ops.where(ends, NEVER, candidates.log_probs),
            beam_size,
        )
        return position + 1, alive, finished, _reorder(cache, beams)

    state = (ops.convert_to_tensor(0, dtype="int32"), alive, finished, cache)
    _, _, finished, _ = ops.while_loop(unfinished, advance, state)
    return finished.sequences, finished.scores


def _length_penalty(length, alpha):
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)


def _start_alive(batch, beam_size, max_length):
    """All beams start empty; only the first counts, or all would be equal."""
    first = ops.equal(ops.arange(beam_size), 0)
    log_probs = ops.where(first, 0.0, NEVER)[None, :]
    return Alive(
        ops.zeros((batch, beam_size, max_length), dtype="int32"),
        ops.repeat(log_probs, batch, axis=0),
    )


def _start_finished(batch, num_hypotheses, max_length):
    return Finished(
        ops.zeros((batch, num_hypotheses, max_length), dtype="int32"),
        ops.full((batch, num_hypotheses), NEVER, dtype="float32"),
    )


def _last_ids(alive, position):
    before = ops.maximum(position - 1, 0)  # position 0 holds a 0 as yet
    return ops.reshape(ops.take(alive.sequences, before, axis=2), (-1,))


def _extend(logits, alive, at_limit, end_id):
    """The best extensions of each sentence's beams by one id.

    Twice as many as beams, since as many as there are beams may end. The best
    of every beam are chosen first: that reads the vocabulary once, and needs
    the sum over it but no normalised copy of it.
    """
    beam_size = alive.log_probs.shape[1]
    num_candidates = 1 if beam_size == 1 else 2 * beam_size
    per_beam = min(num_candidates, logits.shape[-1])
    total = ops.logsumexp(logits, axis=-1, keepdims=True)
    best, ids = ops.top_k(logits, per_beam)  # (batch * beam, per_beam)
    at_limit = ops.repeat(at_limit, beam_size, axis=0)[:, None]
    first = ops.equal(ops.arange(per_beam), 0)
    only_end = ops.where(first, logits[:, end_id : end_id + 1], NEVER)
    best = ops.where(at_limit, only_end, best)
    ids = ops.where(at_limit, end_id, ids)
    log_probs = ops.reshape(best - total, (-1, beam_size, per_beam))
    log_probs = log_probs + alive.log_probs[:, :, None]
    log_probs, chosen = ops.top_k(
        ops.reshape(log_probs, (-1, beam_size * per_beam)),
        min(num_candidates, beam_size * per_beam),
    )  # (batch, candidates)
    ids = ops.reshape(ids, (-1, beam_size * per_beam))
    return Candidates(
        ops.floor_divide(chosen, per_beam),
        ops.cast(_select(ids, chosen), "int32"),
        log_probs,
    )


def _append(alive, candidates, position):
    """The candidates' sequences, `(batch, candidates, length)`."""
    sequences = _select(alive.sequences, candidates.beams)
    here = ops.equal(ops.arange(ops.shape(sequences)[2]), position)
    return ops.where(here[None, None, :], candidates.ids[:, :, None], sequences)


def _finish(finished, sequences, scores):
    """Keeps the best of the finished hypotheses and the new ones."""
    sequences = ops.concatenate([finished.sequences, sequences], axis=1)
    scores = ops.concatenate([finished.scores, scores], axis=1)
    # Of equals top_k takes the first: what scores `NEVER` replaces nothing.
    scores, chosen = ops.top_k(scores, finished.scores.shape[1])
    return Finished(_select(sequences, chosen), scores)


def _grow(sequences, beams, log_probs, beam_size):
    """Keeps the best `beam_size` candidates and the beams they extend."""
    log_probs, chosen = ops.top_k(log_probs, beam_size)
    alive = Alive(_select(sequences, chosen), log_probs)
    return alive, _select(beams, chosen)


def _select(values, indices):
    """Per sentence, rows `indices` (batch, n) of `values` (batch, m, ...)."""
    axes = (1,) * (len(values.shape) - 2)
    indices = ops.reshape(indices, (-1, indices.shape[1], *axes))
    return ops.take_along_axis(values, indices, axis=1)


def _reorder(cache, beams):
    """Gathers every cache once, on its flat batch * beam axis."""
    batch, beam_size = ops.shape(beams)
    offsets = ops.arange(batch, dtype="int32")[:, None] * beam_size
    rows = ops.reshape(ops.cast(beams, "int32") + offsets, (-1,))
    return tree.map_structure(lambda c: ops.take(c, rows, axis=0), cache)
