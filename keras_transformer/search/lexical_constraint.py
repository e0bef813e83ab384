"""The constraint that makes a search write the terms of a sentence."""

import re
import typing

import numpy as np
from keras import ops

from keras_transformer.search.beams import NEVER
from keras_transformer.search.beams import select
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID
from keras_transformer.token_ids import UNSPACED

# Subtracted from the score for each id of a term that the hypothesis lacks.
# Only a hypothesis that has reached its limit can lack one.
MISSING_ID = 1_000.0
_SPACED = re.compile(rf"[^\W_{UNSPACED}]")  # of words between spaces
_BYTE = re.compile("<0x(..)>")  # how SentencePiece spells a byte


class LexicalConstraint:
    """Lets only those hypotheses end that hold all terms of their sentence.

    Dynamic beam allocation of Post and Vilar (2018): the beams of a sentence
    are divided among banks. A bank holds the hypotheses with the same number of
    ids of terms, so that those with many terms, which are less probable, do not
    have to compete with those that have few. Each bank gets the same number of
    beams. A bank with fewer candidates leaves its places to the others, and
    the fullest banks come first.

    Besides the likeliest ids of each beam, the next id of every term that it
    lacks is a candidate. Probabilities come from the model, so a wide enough
    beam finds what enumeration finds. A hypothesis that reaches its limit too
    early is returned as it is, and each missing id lowers its score by
    `MISSING_ID`. Unlike in the paper, all terms are compared with what a beam
    writes, so two terms may share ids at their borders.

    Args:
        terms: Ids, int32 `(batch, num_terms, term_len)`, padded with 0, with at
            least one term and one id.
        continues_word: Boolean array `(vocab_size,)`, True for each id that
            begins with a letter and continues the word before it. A term does
            not count where such an id follows it.
        ends_word: The same, True for each id that ends in a letter.
            `continues_word` matters only after these.
    """

    def __init__(self, terms, continues_word, ends_word):
        self._terms = ops.cast(terms, "int32")
        self._continues_word = np.asarray(continues_word)
        self._ends_word = np.asarray(ends_word)

    def begin(self, beam_size):
        """Returns the `TermState` of beams that have not written anything."""
        last = _lengths(self._terms)[..., None] - 1
        is_last = ops.equal(
            ops.arange(ops.shape(self._terms)[2], dtype="int32"), last
        )
        last_ids = ops.sum(ops.where(is_last, self._terms, 0), axis=-1)
        ends_word = ops.take(self._ends_word, last_ids)  # (batch, num_terms)
        terms, times = _merge_repetitions(
            self._terms, ends_word, self._continues(self._terms)
        )
        lengths = _lengths(terms)
        zeros = ops.zeros_like(lengths)[:, None]  # (batch, 1, num_terms)
        zeros = ops.repeat(zeros, beam_size, axis=1)  # (batch, beam, num_terms)
        borders = _find_borders(terms)
        words = terms, lengths, times, ends_word
        return TermState(*words, borders, written=zeros, counts=zeros)

    def advance(self, term_state, beams, ids):
        """Returns the state of beams extended by ids, `(batch, number)`."""
        term_state = term_state.reorder(beams)
        ids = ids[:, :, None]
        written, counts = term_state.count_after(ids, self._continues(ids))
        return term_state._replace(
            written=written[:, :, 0], counts=counts[:, :, 0]
        )

    def choose(self, log_probs, ids, term_state):
        """Chooses the best extensions that end, and the best that continue.

        `log_probs` and `ids` are `(batch, beam, per_beam)`, and `term_state` is
        that before these ids. Returns log-probabilities and their places among
        all extensions of a sentence, `(batch, 2 x beam)`.
        """
        beam_size = log_probs.shape[1]
        # A beam that has written more of its terms is less probable than one
        # that has written none. Extensions therefore compete only within their
        # bank, the number of ids of terms that they hold.
        progress = term_state.count_after(ids, self._continues(ids))
        banks = term_state.count_met(*progress)  # (batch, beam, per_beam)
        flat_len = beam_size * ops.shape(ids)[2]
        log_probs, ids, banks = (
            ops.reshape(values, (-1, flat_len))
            for values in (log_probs, ids, banks)
        )  # (batch, beam x per_beam)
        is_end = ops.equal(ids, END_ID)
        ends = ops.where(is_end, log_probs, NEVER)
        _, end_places = ops.top_k(ends, beam_size)
        others = ops.where(is_end, NEVER, log_probs)
        places = _allocate_beams(others, banks, beam_size)
        best = ops.concatenate(
            [select(ends, end_places), select(others, places)], axis=1
        )  # (batch, 2 x beam)
        places = ops.concatenate(
            [ops.cast(end_places, "int32"), places], axis=1
        )
        free, free_places = ops.top_k(log_probs, 2 * beam_size)
        is_free = ops.all(ops.equal(term_state.times, 0), axis=1)[:, None]
        return (
            ops.where(is_free, free, best),
            ops.where(is_free, free_places, places),
        )

    def _continues(self, ids):
        return ops.take(self._continues_word, ids)


def constrain_to_terms(terms, vocabulary):
    """Returns the `LexicalConstraint` to terms of a `Subwords`."""
    return LexicalConstraint(terms, *find_word_boundaries(vocabulary))


def find_word_boundaries(vocabulary):
    """Returns `continues_word` and `ends_word` of the ids of a `Subwords`."""
    pieces = vocabulary.all_pieces()
    texts = [_BYTE.sub(_character, piece) for piece in pieces]
    return (
        np.array([bool(_SPACED.match(text[:1])) for text in texts]),
        np.array([bool(_SPACED.match(text[-1:])) for text in texts]),
    )


def _character(match):
    # The bytes from 0x80 on are parts of characters, most often of letters.
    return chr(int(match[1], 16)) if match[1] < "80" else "a"


def _allocate_beams(log_probs, banks, beam_size):
    """Returns the places of the extensions that get a beam, `(batch, beam)`."""
    # Every bank's best extension comes before any second best. Both `log_probs`
    # and `banks`, the bank of each extension, are `(batch, number)`.
    order = ops.cast(ops.argsort(-log_probs, axis=1), "int32")
    log_probs = ops.take_along_axis(log_probs, order, axis=1)
    banks = ops.take_along_axis(banks, order, axis=1)
    places = ops.arange(ops.shape(banks)[1], dtype="int32")
    is_better = places[None, :] < places[:, None]
    same = ops.equal(banks[:, :, None], banks[:, None, :])
    rank = ops.sum(
        ops.cast(same & is_better, "int32"), axis=-1
    )  # among the extensions of the same bank, (batch, number)
    num_banks = ops.max(banks) + 1
    # Ranks decide first, and among equal ranks the bank with more ids of terms.
    # One number says both, so that a single `top_k` sorts by it.
    turn = rank * num_banks - banks
    turn = ops.where(log_probs > NEVER, turn, 2**30)
    _, best = ops.top_k(-turn, beam_size)  # (batch, beam)
    return ops.take_along_axis(order, ops.cast(best, "int32"), axis=1)


class TermState(typing.NamedTuple):
    """Counts how often each beam holds each term of its sentence.

    A term is a sequence of ids. It is met once its ids occur in a row as often
    as needed: once, and once more for each other term that contains it as whole
    words, such as a repetition of it. After any other id a beam falls back to
    the longest beginning of the term that its last ids form.
    """

    terms: typing.Any  # int32 (batch, num_terms, term_len), padded with 0
    lengths: typing.Any  # of the terms, int32 (batch, num_terms)
    times: typing.Any  # how often each is needed, int32 (batch, num_terms)
    ends_word: typing.Any  # whether a letter is last, bool (batch, num_terms)
    # Whether a beam that has written s ids of a term ends in its first t ids,
    # boolean (batch, num_terms, s, t).
    borders: typing.Any
    written: typing.Any  # ids of begun terms, int32 (batch, beam, num_terms)
    counts: typing.Any  # of whole terms, int32 (batch, beam, num_terms)

    def reorder(self, beams):
        return self._replace(
            written=select(self.written, beams),
            counts=select(self.counts, beams),
        )

    def count_after(self, ids, continues):
        """Computes the progress of each beam after each of several ids.

        Both `ids` and `continues`, whether each id continues a word, are
        `(batch, beam, number)`. Returns `written` and `counts`, of shape
        `(batch, beam, number, num_terms)`.
        """
        # This is the automaton of Knuth, Morris and Pratt on tensors: after an
        # id, a beam has written the longest beginning of the term that its last
        # ids form. `borders` says which beginnings could be extended.
        places = ops.arange(ops.shape(self.terms)[2], dtype="int32")
        # True at t if the beam ends in the first t ids of the term.
        here = ops.equal(
            ops.arange(ops.shape(self.terms)[2] + 1, dtype="int32"),
            self.written[..., None],
        )  # (batch, beam, num_terms, term_len + 1)
        ends_in = ops.any(
            self.borders[:, None] & here[..., None], axis=3
        )  # (batch, beam, num_terms, term_len)
        terms = self.terms[:, None, None]
        fits = ops.equal(terms, ids[..., None, None]) & (terms > PAD_ID)
        fits = fits & ends_in[:, :, None]
        written = ops.max(ops.where(fits, places + 1, 0), axis=-1)
        lengths = self.lengths[:, None, None]
        whole = ops.equal(written, lengths) & (written > 0)
        # A letter after a term makes another word of it.
        was_whole = ops.equal(self.written, self.lengths[:, None])
        was_whole = was_whole & (self.written > 0)
        ended_word = was_whole & self.ends_word[:, None]
        broken = ended_word[:, :, None] & continues[..., None]
        counts = self.counts[:, :, None] + ops.cast(whole, "int32")
        return written, counts - ops.cast(broken, "int32")

    def find_next_ids(self):
        """Returns the next id of each term, `(batch, beam, num_terms)`.

        It is 0 if the term is met.
        """
        is_whole = ops.equal(self.written, self.lengths[:, None])
        place = ops.where(is_whole, 0, self.written)  # needed once more
        here = ops.equal(
            ops.arange(ops.shape(self.terms)[2], dtype="int32"),
            place[..., None],
        )  # (batch, beam, num_terms, term_len)
        ids = ops.sum(ops.where(here, self.terms[:, None], PAD_ID), axis=-1)
        return ops.where(self.counts < self.times[:, None], ids, PAD_ID)

    def count_missing(self):
        """Counts the ids of terms that are missing, int32 `(batch, beam)`."""
        missing = ops.maximum(self.times[:, None] - self.counts, 0)
        return ops.sum(missing * self.lengths[:, None], axis=-1)

    def count_met(self, written, counts):
        """Counts the ids of terms that beams hold, `(batch, beam, number)`.

        Of several incomplete terms, the one with the most ids counts.
        """
        times, lengths = self.times[:, None, None], self.lengths[:, None, None]
        whole = ops.sum(ops.minimum(counts, times) * lengths, axis=-1)
        is_begun = (counts < times) & (written < lengths)
        begun = ops.max(ops.where(is_begun, written, 0), axis=-1)
        return whole + begun


def _lengths(terms):
    return ops.sum(ops.cast(terms > PAD_ID, "int32"), axis=-1)


def _merge_repetitions(terms, ends_word, continues):
    """Returns terms without repetitions, and how often each is needed."""
    # A repetition becomes padding. The counts are int32 `(batch, num_terms)`.
    # `continues`, `(batch, num_terms, term_len)`, tells whether each id
    # continues a word.
    places = ops.arange(ops.shape(terms)[2], dtype="int32")
    windows = places[:, None] + places[None, :]  # (start, place)
    is_inside = windows < ops.shape(terms)[2]
    windows = ops.minimum(windows, ops.shape(terms)[2] - 1)
    # Every term is compared with every part of every other term at once. Terms
    # are few and short, so this costs less than a loop.
    parts = ops.take(terms, windows, axis=2)  # (batch, terms, start, place)
    parts = ops.where(is_inside, parts, PAD_ID)
    # Term j is in term i if it begins the part from some start on.
    part, term = parts[:, :, None], terms[:, None, :, None]
    agrees = ops.equal(part, term) | ops.equal(term, PAD_ID)
    # Another word is there if a letter follows, as in "dogs" after "dog".
    letters = is_inside & ops.take(continues, windows, axis=2)
    is_next = ops.equal(places, _lengths(terms)[..., None])
    is_other = ops.any(
        letters[:, :, None] & is_next[:, None, :, None], axis=-1
    )  # (batch, i, j, start)
    is_other = is_other & ends_word[:, None, :, None]
    is_here = ops.all(agrees, axis=-1) & ~is_other
    holds = ops.any(is_here, axis=-1)  # (batch, i, j)
    is_term = ops.cast(terms[:, :, 0] > PAD_ID, "int32")
    times = ops.sum(ops.cast(holds, "int32"), axis=1) * is_term
    # Terms that contain each other are the same.
    order = ops.arange(ops.shape(terms)[1], dtype="int32")
    mutual = holds & ops.transpose(holds, (0, 2, 1))
    earlier = mutual & (order[:, None] < order[None, :])
    is_repeated = ops.any(earlier, axis=1)  # (batch, num_terms)
    return (
        ops.where(is_repeated[:, :, None], PAD_ID, terms),
        ops.where(is_repeated, 0, times),
    )


def _find_borders(terms):
    """Tells which beginnings of a term end in which shorter beginnings."""
    # The result `(batch, num_terms, term_len + 1, term_len)` is True at (s, t)
    # if the first s ids end in the first t. A term that is whole begins
    # anew, so that its occurrences do not overlap.
    term_len = ops.shape(terms)[2]
    s = ops.arange(term_len + 1, dtype="int32")[:, None, None]
    t = ops.arange(term_len, dtype="int32")[None, :, None]
    place = ops.arange(term_len, dtype="int32")[None, None, :]
    # The last t of the first s ids are compared with the first t ids, for all s
    # and t at once. A loop would find the same by Knuth's failure function.
    source = ops.clip(s - t + place, 0, term_len - 1)
    ends = ops.take(terms, source, axis=2)  # (batch, num_terms, s, t, place)
    agrees = ops.equal(ends, terms[:, :, None, None, :])
    agrees = ops.all(agrees | (place >= t), axis=-1)
    lengths = _lengths(terms)[:, :, None, None]  # (batch, num_terms, 1, 1)
    s, t = s[:, :, 0], t[:, :, 0]  # (s, 1), (1, t)
    possible = (t <= s) & (s < lengths)
    return (agrees & possible) | ops.equal(t, 0)
