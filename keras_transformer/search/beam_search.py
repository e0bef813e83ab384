"""Beam search over a step function; it knows no model, no text and no files."""

import typing

import numpy as np
from keras import ops
from keras import tree

from keras_transformer.search.beams import NEVER
from keras_transformer.search.beams import exclude_end
from keras_transformer.search.beams import exclude_repetitions
from keras_transformer.search.beams import select
from keras_transformer.search.beams import top_k
from keras_transformer.search.lexical_constraint import MISSING_ID
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID


class Alive(typing.NamedTuple):
    """The beams, which are sequences that have not ended."""

    sequences: typing.Any  # int32 (batch, beam, length)
    log_probs: typing.Any  # float32 (batch, beam)


class Finished(typing.NamedTuple):
    """The best hypotheses of each sentence, best first."""

    sequences: typing.Any  # int32 (batch, num_hypotheses, length)
    scores: typing.Any  # float32 (batch, num_hypotheses)


class Search(typing.NamedTuple):
    """The sentences that are still searched."""

    rows: typing.Any  # the sentences' rows in the result, int32 (batch,)
    limits: typing.Any  # maximum lengths, int32 (batch,)
    forced: typing.Any  # ids that must be written, or 0, int32 (batch, length)
    alive: Alive
    finished: Finished
    state: typing.Any  # the caller's, see `beam_search`
    terms: typing.Any = ()  # the `TermState` of a lexical constraint


class Candidates(typing.NamedTuple):
    """Extensions of a sentence's beams by one id, best first."""

    beams: typing.Any  # the extended beams, int32 (batch, candidates)
    ids: typing.Any  # the appended ids, int32 (batch, candidates)
    log_probs: typing.Any  # float32 (batch, candidates)


def beam_search(
    step,
    state,
    beam_size,
    limits,
    alpha=0.6,
    num_hypotheses=None,
    min_length=0,
    no_repeat_ngram_size=0,
    prefixes=None,
    sampler=None,
    forbidden=(),
    fixed_length=None,
    lexical=None,
    observe=None,
):
    """Finds the sequences with the highest length-normalised probability.

    A hypothesis is a sequence that ends in the end id and, with it, is at most
    as long as its sentence's limit. Its score is its log-probability divided by
    `((5 + length) / 6) ** alpha` (section 6.1 of Vaswani et al., 2017; Wu et
    al., 2016). The end id is the only choice at the last position of the limit,
    where it counts with its true probability. Every sentence therefore has a
    hypothesis, and a wide enough beam finds what enumeration finds.

    A sentence is done when none of its beams could still enter the
    `num_hypotheses` best, even if it lost no more probability up to the limit.
    The search stops when all sentences are done. A sentence's result does not
    depend on the other sentences of the batch. Unlike in Tensor2Tensor, a beam
    of one is exactly the greedy choice, because it has no second candidate to
    fall back on when the best one ends.

    Args:
        step: Function `(ids, position, state) -> (logits, state)`. Its `ids`,
            of shape `(batch, beam)`, are those chosen last, or 0 at position 0.
            Its `position` is a scalar, and `logits` have the shape
            `(batch, beam, vocab_size)`.
        state: Named tuple of nested tensors whose first axis is `batch`, such
            as a `DecoderCache`. Its `reorder(beams)` returns the state in which
            beam j continues beam `beams[j]`; `beams` are `(batch, beam)`.
        beam_size: Number of sequences that stay alive at each step.
        limits: Integers of shape `(batch,)`, the maximum length of each
            sentence's hypotheses with their end ids.
        alpha: Exponent of the length penalty; 0 turns it off.
        num_hypotheses: Number of hypotheses to return, by default `beam_size`.
            With fewer, the search stops sooner and returns the same best ones.
        min_length: Minimum number of ids before the end id, if the limit and
            `no_repeat_ngram_size` permit.
        no_repeat_ngram_size: Number of ids in a row that a hypothesis may hold
            only once, unless a prefix or a lexical constraint repeats them. 0
            allows all repetitions.
        prefixes: Integers of shape `(batch, prefix_len)`, padded with 0: the
            ids that the sequences start with, at their true probabilities. They
            must be shorter than the limits.
        sampler: Function `(logits, position, rows) -> ids` that draws one
            extension of each beam at random, `(batch, beam)`. Its `rows`,
            `(batch,)`, are the indices of the sentences. The beams are then
            independent samples. By default the best extensions are kept.
        forbidden: Ids that only a prefix may hold. A sampler excludes them.
        fixed_length: Length of the result, an integer or a scalar tensor, where
            a loop cannot change shapes. By default it is the largest limit, and
            sentences that are done leave the batch. A `tf.function` then needs
            an `input_signature` with None for the batch.
        lexical: `LexicalConstraint` that all hypotheses must obey. It takes at
            least two beams and no sampler.
        observe: Function of `Candidates` and the `Search` that they lead to,
            called at each position. It needs a loop that runs step by step,
            as TensorFlow's eager mode has. Defaults to None.

    Returns:
        `Finished`: int32 sequences of shape `(batch, num_hypotheses, length)`
        that end in the end id and are padded with 0, and their scores
        `(batch, num_hypotheses)`, best first. If fewer hypotheses exist, the
        others are empty and score minus infinity.
    """
    limits = ops.cast(limits, "int32")
    length = ops.max(limits) if fixed_length is None else fixed_length
    batch = ops.shape(limits)[0]
    nothing = Finished(*_make_empty(batch, num_hypotheses or beam_size, length))
    search = Search(
        ops.arange(batch, dtype="int32"),
        limits,
        _make_forced_ids(prefixes, limits, length),
        _make_empty_beams(batch, beam_size, length, all_count=bool(sampler)),
        nothing,
        state,
        lexical.begin(beam_size) if lexical else (),
    )

    def advance(position, search, results):
        if fixed_length is None:
            search, results = _drop_done(search, results, alpha)
        logits, allowed, search = _compute_logits(
            step, search, position, min_length, no_repeat_ngram_size, forbidden
        )
        candidates = _find_candidates(
            logits, allowed, search, position, sampler, forbidden, lexical
        )
        search = _extend_beams(candidates, search, position, alpha, lexical)
        if observe:
            observe(candidates, search)
        return position + 1, search, results

    _, last, results = ops.while_loop(
        lambda _, search, results: ops.any(_is_open(search, alpha)),
        advance,
        (ops.convert_to_tensor(0, dtype="int32"), search, nothing),
    )
    return _collect(last, results) if fixed_length is None else last.finished


def length_penalty(length, alpha):
    """Computes the float32 divisor of a hypothesis's log-probability.

    Section 6.1 of Vaswani et al. (2017), equation 14 of Wu et al. (2016). The
    `length` includes the end id.
    """
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)


def _make_empty_beams(batch, beam_size, length, all_count):
    # Equal beams would stay equal, so only the first one counts in a search.
    # Samples differ from the first position on, so all of them count.
    sequences, log_probs = _make_empty(batch, beam_size, length)
    counts = ops.equal(ops.arange(beam_size, dtype="int32"), 0)
    counts = ops.logical_or(counts, all_count)
    return Alive(sequences, ops.where(counts, 0.0, log_probs))


def _make_empty(batch, number, length):
    # A loop needs tensors of constant shapes, apart from the batch. Hypotheses
    # that do not exist yet are therefore rows of padding with a score that any
    # other score exceeds, and the same holds for beams.
    return (
        ops.full((batch, number, length), PAD_ID, dtype="int32"),
        ops.full((batch, number), NEVER, dtype="float32"),
    )


def _make_forced_ids(prefixes, limits, length):
    """Returns the prefix, 0 where ids are free, and the end at the limit."""
    batch = ops.shape(limits)[0]
    forced = ops.full((batch, length), PAD_ID, dtype="int32")
    if prefixes is not None:
        missing = length - ops.shape(prefixes)[1]
        forced = ops.pad(ops.cast(prefixes, "int32"), [[0, 0], [0, missing]])
    positions = ops.arange(length, dtype="int32")
    at_limit = positions[None, :] >= limits[:, None] - 1  # (batch, length)
    return ops.where(at_limit, END_ID, forced)


def _is_open(search, alpha):
    """Tells whether a beam could still enter the best hypotheses, (batch,)."""
    # A log-probability only falls and the penalty only grows with the length,
    # so no extension of a beam scores more than this bound.
    bound = ops.max(search.alive.log_probs, axis=1)
    bound = bound / length_penalty(search.limits, alpha)
    return bound > ops.min(search.finished.scores, axis=1)


def _drop_done(search, results, alpha):
    """Takes sentences that are done out of the batch; keeps their results."""
    # Waits until a quarter of the batch is done, since each drop copies the
    # state of all other sentences.
    is_open = _is_open(search, alpha)
    num_open = ops.sum(ops.cast(is_open, "int32"))

    def drop():
        (open_rows,) = ops.nonzero(is_open)
        remaining = tree.map_structure(
            lambda values: ops.take(values, open_rows, axis=0),  # (open, ...)
            search,
        )
        return remaining, _collect(search, results)

    return ops.cond(
        4 * num_open <= 3 * ops.shape(is_open)[0],
        drop,
        lambda: (search, results),
    )


def _collect(search, results):
    """Writes the hypotheses of the batch to their rows of the result."""
    rows = search.rows[:, None]
    return Finished(
        *(
            ops.scatter_update(result, rows, values)
            for result, values in zip(results, search.finished)
        )
    )


def _extend_beams(candidates, search, position, alpha, lexical):
    """Adds candidates that end to the hypotheses, and keeps the best others."""
    # Extensions that end compete for the hypotheses of their sentence. The best
    # others are the next beams, so a beam that ends makes room for another.
    sequences = select(search.alive.sequences, candidates.beams)
    here = ops.equal(
        ops.arange(ops.shape(sequences)[2], dtype="int32"), position
    )
    # (batch, candidates, length)
    sequences = ops.where(here, candidates.ids[:, :, None], sequences)
    ends = ops.equal(candidates.ids, END_ID)
    scores = ops.where(ends, candidates.log_probs, NEVER)
    scores = scores / length_penalty(position + 1, alpha)
    terms = search.terms
    if lexical:
        terms = lexical.advance(terms, candidates.beams, candidates.ids)
        missing = ops.cast(terms.count_missing(), "float32")
        scores = scores - MISSING_ID * missing
    log_probs = ops.where(ends, NEVER, candidates.log_probs)
    beam_size = search.alive.log_probs.shape[1]
    log_probs, best = ops.top_k(log_probs, beam_size)  # (batch, beam)
    # The caches move as little as possible: the state is told only which beam
    # each new beam continues, and may reorder a table instead of its tensors.
    return search._replace(
        alive=Alive(select(sequences, best), log_probs),
        finished=_keep_best(search.finished, Finished(sequences, scores)),
        state=search.state.reorder(select(candidates.beams, best)),
        terms=terms.reorder(best) if lexical else terms,
    )


def _keep_best(finished, new_hypotheses):
    """Keeps the best of the earlier hypotheses and the new ones."""
    both = tree.map_structure(
        lambda *parts: ops.concatenate(parts, axis=1), finished, new_hypotheses
    )  # (batch, num_hypotheses + candidates, ...)
    # Among equals `top_k` takes the first, so `NEVER` replaces nothing.
    scores, best = ops.top_k(both.scores, finished.scores.shape[1])
    return Finished(select(both.sequences, best), scores)


def _compute_logits(
    step, search, position, min_length, no_repeat_ngram_size, forbidden
):
    """Returns the next logits, the allowed ones, and the new search."""
    sequences = search.alive.sequences
    before = ops.maximum(position - 1, 0)  # at position 0 all ids are 0
    last_ids = ops.take(sequences, before, axis=2)
    logits, state = step(last_ids, position, search.state)
    allowed = logits = ops.cast(logits, "float32")
    is_short = position < min_length
    if no_repeat_ngram_size:
        allowed = exclude_repetitions(
            allowed, sequences, position, no_repeat_ngram_size
        )
        # A beam that may write no other id has to end.
        ids = np.arange(logits.shape[-1])
        is_word = ~np.isin(ids, (END_ID, *forbidden)) & (allowed > NEVER)
        is_short = is_short & ops.any(is_word, axis=-1, keepdims=True)
    if min_length:
        allowed = exclude_end(allowed, is_short)
    return logits, allowed, search._replace(state=state)


def _find_candidates(
    logits, allowed, search, position, sampler, forbidden, lexical
):
    """Finds the best extensions of each sentence's beams by one id."""
    # There are twice as many as beams: one extension of each beam may end, and
    # enough others must remain. A single beam has one extension, and so does
    # each beam that is a sample. The `logits` are `(batch, beam, vocab_size)`,
    # and so are those that are `allowed`; the others are minus infinity.
    log_probs = search.alive.log_probs
    beam_size = log_probs.shape[1]
    num_candidates = 1 if beam_size == 1 else 2 * beam_size
    if lexical:
        is_unmet = search.terms.count_missing() > 0
        allowed = exclude_end(allowed, is_unmet[:, :, None])
    # The best ids of each beam are the same before and after normalisation, so
    # only their logits are normalised, by the sum over the vocabulary.
    if sampler:
        ids = sampler(allowed, position, search.rows)[:, :, None]
        best = ops.take_along_axis(logits, ids, axis=-1)  # (batch, beam, 1)
    else:
        best, ids = top_k(allowed, num_candidates, forbidden)
    if lexical:
        best, ids = _add_next_ids(
            best, ids, logits, search.terms.find_next_ids()
        )
    best, ids = _apply_forced_ids(best, ids, logits, search.forced, position)
    best = best - ops.logsumexp(logits, axis=-1, keepdims=True)
    best = best + log_probs[:, :, None]  # (batch, beam, per_beam)
    if lexical:
        best, places = lexical.choose(best, ids, search.terms)
    else:
        extensions = _flatten(best)
        number = min(num_candidates, extensions.shape[1])
        best, places = ops.top_k(extensions, number)  # (batch, candidates)
    return Candidates(
        ops.floor_divide(ops.cast(places, "int32"), ops.shape(ids)[2]),
        select(_flatten(ids), places),
        best,
    )


def _flatten(values):
    """Puts the extensions of all beams on one axis."""
    shape = ops.shape(values)
    # (batch, beam x per_beam)
    return ops.reshape(values, (-1, shape[1] * shape[2]))


def _add_next_ids(best, ids, logits, next_ids):
    """Adds the next ids of its terms to the best extensions of each beam."""
    # Shapes: `best` and `ids` `(batch, beam, per_beam)`, `logits` `(batch,
    # beam, vocab_size)`, `next_ids` `(batch, beam, num_terms)` with 0 for none.
    per_beam = ids.shape[2]
    ids = ops.concatenate([ops.cast(ids, "int32"), next_ids], axis=-1)
    more = ops.take_along_axis(logits, next_ids, axis=-1)
    best = ops.concatenate([best, more], axis=-1)
    # An id that is there already would make two equal beams.
    places = ops.arange(ops.shape(ids)[2], dtype="int32")
    earlier = places[None, :] < places[:, None]
    same = ops.equal(ids[:, :, :, None], ids[:, :, None, :])
    # An excluded id is there at minus infinity, but a term may repeat it.
    same = same & (best > NEVER)[:, :, None, :]
    repeated = ops.any(same & earlier, axis=-1)
    useless = (places >= per_beam) & (
        repeated | ops.equal(ids, PAD_ID)
    )  # (batch, beam, per_beam + num_terms)
    return ops.where(useless, NEVER, best), ids


def _apply_forced_ids(best, ids, logits, forced, position):
    """Makes the forced id, where there is one, the only choice of a beam."""
    # A prefix and the end at the limit are the same here: an id that must be
    # written. It takes the place of the first candidate, at its true
    # probability, and the other candidates of the beam cannot happen.
    forced = ops.take(forced, position, axis=1)[:, None, None]  # (batch, 1, 1)
    forced = ops.repeat(forced, ids.shape[1], axis=1)  # (batch, beam, 1)
    only = ops.take_along_axis(logits, forced, axis=-1)  # (batch, beam, 1)
    first = ops.equal(ops.arange(ops.shape(ids)[-1], dtype="int32"), 0)
    is_forced = ops.not_equal(forced, PAD_ID)
    return (
        ops.where(is_forced, ops.where(first, only, NEVER), best),
        ops.where(is_forced, forced, ops.cast(ids, "int32")),
    )
