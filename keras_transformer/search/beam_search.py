"""Beam search over a step function; it knows no model, no text, no files."""

import collections

from keras import ops
from keras import tree

from keras_transformer.search.top_k import top_k
from keras_transformer.token_ids import END_ID

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

# The sentences that are searched: which rows of the result they are (batch,),
# their limits (batch,), the ids they must have, 0 where they are free (batch,
# length), what grew of them and what ended, and the caller's state.
Search = collections.namedtuple(
    "Search", "rows limits forced alive finished state"
)


def beam_search(
    step,
    state,
    beam_size,
    limits,
    alpha=0.6,
    end_id=END_ID,
    num_hypotheses=None,
    min_length=0,
    prefixes=None,
    sampler=None,
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
        step: function `(ids, position, state) -> (logits, state)`. `ids`, of
            shape `(batch, beam)`, are those chosen last (0 at position 0);
            `position` is a scalar; `logits` have shape
            `(batch, beam, vocab_size)`.
        state: Named tuple of nested tensors whose first axis is `batch`, such
            as a `DecoderCache`. Its `reorder(beams)` returns the state in which
            beam j of a sentence continues its beam `beams[j]`; `beams` has the
            shape `(batch, beam)`. Its `fixed_length` is the length of the
            result where a backend cannot change shapes within a loop. If that
            is None, the length is the largest limit, and sentences that are
            done leave the batch and cost no more.
        beam_size: how many sequences stay alive at each step.
        limits: integers of shape `(batch,)`, the limit of each sentence.
        alpha: exponent of the length penalty, at least 0; 0 turns it off.
        end_id: the id that ends a sequence.
        num_hypotheses: how many are returned, `beam_size` by default. Fewer
            stop sooner and are the same as the first of more.
        min_length: ids that come before `end_id` at least, where the limit
            allows as many.
        prefixes: integers of shape `(batch, prefix_len)`, filled up with 0:
            ids that the sequences begin with, with their true probabilities;
            shorter than the limits.
        sampler: function `(logits, position, rows) -> ids`, `(batch, beam)`,
            that draws one extension of each beam at random; `rows`,
            `(batch,)`, number the sentences. Then the beams are as many
            independent samples. By default the best extensions are searched.

    Returns:
        `Finished`: sequences of shape `(batch, num_hypotheses, length)`, int32,
        ending in `end_id` and padded with 0, and scores of shape
        `(batch, num_hypotheses)`, best first. Where fewer exist, the rest are
        empty with a score of minus infinity.
    """
    limits = ops.cast(limits, "int32")  # (batch,)
    if num_hypotheses is None:
        num_hypotheses = beam_size
    shrinking = state.fixed_length is None
    length = ops.max(limits) if shrinking else state.fixed_length
    batch = ops.shape(limits)[0]
    empty = _nothing_finished(batch, num_hypotheses, length)
    search = Search(
        ops.arange(batch, dtype="int32"),
        limits,
        _forced_ids(prefixes, limits, length, end_id),
        _nothing_said(batch, beam_size, length, all_count=bool(sampler)),
        empty,
        state,
    )

    def unfinished(position, search, results):
        return ops.any(_is_open(search, alpha))

    def advance(position, search, results):
        if shrinking:
            search, results = _shrunk(search, results, alpha)
        logits, state = step(
            _last_ids(search.alive, position), position, search.state
        )
        end_allowed = position >= min_length if min_length else None
        candidates = _extend(
            logits, search, position, end_allowed, end_id, sampler
        )
        sequences = _append(search.alive, candidates, position)
        ends = ops.equal(candidates.ids, end_id)
        finished = _finish(
            search.finished,
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
        search = search._replace(
            alive=alive, finished=finished, state=state.reorder(beams)
        )
        return position + 1, search, results

    start = ops.convert_to_tensor(0, dtype="int32")
    _, search, results = ops.while_loop(
        unfinished, advance, (start, search, empty)
    )
    return _collected(search, results) if shrinking else search.finished


def gather_beams(state, beams):
    """Gathers every tensor of a state, `(batch, beam, ...)`, by its beams."""
    return tree.map_structure(lambda values: select(values, beams), state)


def select(values, indices):
    """Per sentence, rows `indices` (batch, n) of `values` (batch, m, ...)."""
    axes = (1,) * (len(values.shape) - 2)
    indices = ops.reshape(indices, (-1, indices.shape[1], *axes))
    return ops.take_along_axis(values, indices, axis=1)


def _length_penalty(length, alpha):
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)


def _nothing_said(batch, beam_size, length, all_count):
    """All beams start empty; only the first counts, or all would be equal."""
    counts = ops.equal(ops.arange(beam_size), 0)
    log_probs = ops.where(ops.logical_or(counts, all_count), 0.0, NEVER)
    return Alive(
        ops.zeros((batch, beam_size, length), dtype="int32"),
        ops.repeat(log_probs[None, :], batch, axis=0),
    )


def _nothing_finished(batch, num_hypotheses, length):
    return Finished(
        ops.zeros((batch, num_hypotheses, length), dtype="int32"),
        ops.full((batch, num_hypotheses), NEVER, dtype="float32"),
    )


def _forced_ids(prefixes, limits, length, end_id):
    """The prefix, freedom, and the end from the limit's last position on."""
    batch = ops.shape(limits)[0]
    forced = ops.zeros((batch, length), dtype="int32")
    if prefixes is not None:
        missing = length - ops.shape(prefixes)[1]
        forced = ops.pad(ops.cast(prefixes, "int32"), [[0, 0], [0, missing]])
    positions = ops.arange(length, dtype="int32")
    at_limit = positions[None, :] >= limits[:, None] - 1
    return ops.where(at_limit, end_id, forced)


def _is_open(search, alpha):
    """Whether a live beam of the sentence could enter the best, (batch,)."""
    # A log-probability only falls and the penalty only grows with length.
    bound = ops.max(search.alive.log_probs, axis=1)
    bound = bound / _length_penalty(search.limits, alpha)
    return bound > ops.min(search.finished.scores, axis=1)


def _shrunk(search, results, alpha):
    """Takes sentences that are done out, where they are a quarter or more."""
    is_open = _is_open(search, alpha)
    num_open = ops.sum(ops.cast(is_open, "int32"))

    def shrink():
        (kept,) = ops.nonzero(is_open)
        left = tree.map_structure(lambda x: ops.take(x, kept, axis=0), search)
        return left, _collected(search, results)

    return ops.cond(
        4 * num_open <= 3 * ops.shape(is_open)[0],
        shrink,
        lambda: (search, results),
    )


def _collected(search, results):
    rows = search.rows[:, None]
    return Finished(
        *(
            ops.scatter_update(result, rows, found)
            for result, found in zip(results, search.finished)
        )
    )


def _last_ids(alive, position):
    before = ops.maximum(position - 1, 0)  # position 0 holds a 0 as yet
    return ops.take(alive.sequences, before, axis=2)


def _extend(logits, search, position, end_allowed, end_id, sampler):
    """The best extensions of each sentence's beams by one id.

    Twice as many as beams, since as many as there are beams may end. The best
    of every beam are chosen first: that reads the vocabulary once, and needs
    the sum over it but no normalised copy of it.
    """
    logits = ops.cast(logits, "float32")
    log_probs = search.alive.log_probs
    beam_size = log_probs.shape[1]
    num_candidates = 1 if beam_size == 1 else 2 * beam_size
    allowed = logits
    if end_allowed is not None:
        is_end = ops.equal(ops.arange(logits.shape[-1]), end_id)
        refused = ops.logical_and(is_end, ops.logical_not(end_allowed))
        allowed = ops.where(refused, NEVER, logits)
    if sampler:
        ids = sampler(allowed, position, search.rows)[:, :, None]
        best = ops.take_along_axis(logits, ids, axis=-1)
    else:
        best, ids = top_k(allowed, min(num_candidates, logits.shape[-1]))
    per_beam = ids.shape[-1]
    best, ids = _obey(best, ids, logits, search.forced, position)
    best = best - ops.logsumexp(logits, axis=-1, keepdims=True)
    best = best + log_probs[:, :, None]  # (batch, beam, per_beam)
    best, chosen = ops.top_k(
        ops.reshape(best, (-1, beam_size * per_beam)),
        min(num_candidates, beam_size * per_beam),
    )  # (batch, candidates)
    ids = ops.reshape(ids, (-1, beam_size * per_beam))
    return Candidates(
        ops.floor_divide(ops.cast(chosen, "int32"), per_beam),
        select(ids, chosen),
        best,
    )


def _obey(best, ids, logits, forced, position):
    """Leaves the forced id alone, where there is one, as the only choice."""
    forced = ops.take(forced, position, axis=1)[:, None, None]
    forced = ops.repeat(forced, ids.shape[1], axis=1)  # (batch, beam, 1)
    only = ops.take_along_axis(logits, forced, axis=-1)
    first = ops.equal(ops.arange(ids.shape[-1]), 0)
    is_forced = ops.not_equal(forced, 0)
    return (
        ops.where(is_forced, ops.where(first, only, NEVER), best),
        ops.where(is_forced, forced, ops.cast(ids, "int32")),
    )


def _append(alive, candidates, position):
    """The candidates' sequences, `(batch, candidates, length)`."""
    sequences = select(alive.sequences, candidates.beams)
    here = ops.equal(ops.arange(ops.shape(sequences)[2]), position)
    return ops.where(here[None, None, :], candidates.ids[:, :, None], sequences)


def _finish(finished, sequences, scores):
    """Keeps the best of the finished hypotheses and the new ones."""
    sequences = ops.concatenate([finished.sequences, sequences], axis=1)
    scores = ops.concatenate([finished.scores, scores], axis=1)
    # Of equals top_k takes the first: what scores `NEVER` replaces nothing.
    scores, chosen = ops.top_k(scores, finished.scores.shape[1])
    return Finished(select(sequences, chosen), scores)


def _grow(sequences, beams, log_probs, beam_size):
    """Keeps the best `beam_size` candidates and the beams they extend."""
    log_probs, chosen = ops.top_k(log_probs, beam_size)
    alive = Alive(select(sequences, chosen), log_probs)
    return alive, select(beams, chosen)
