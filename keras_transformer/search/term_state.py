"""The progress of each beam of a search in writing the terms it must hold."""

import typing

from keras import ops

from keras_transformer.search.beams import select
from keras_transformer.token_ids import PAD_ID


class TermState(typing.NamedTuple):
    """Counts how often each beam holds each term of its sentence.

    A term is a sequence of ids. It is met once its ids stand in a row as often
    as needed: once, and once more for each other term that contains it as whole
    words, such as a repetition of it. If a beam writes an id that does not
    continue the term, it falls back to the longest beginning of the term that
    its last ids form.
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

    @classmethod
    def begin(cls, terms, ends_word, continues, beam_size):
        """Returns the state of beams that have not written anything.

        Args:
            terms: Int32 of shape `(batch, num_terms, term_len)`, padded with 0.
            ends_word: Whether a term ends in a letter, so that further letters
                would make another word of it. Boolean `(batch, num_terms)`.
            continues: Whether each id of the terms continues a word, boolean of
                the shape of `terms`.
            beam_size: Number of beams.
        """
        terms, times = _merge_repetitions(terms, ends_word, continues)
        lengths = _lengths(terms)
        zeros = ops.zeros_like(lengths)[:, None]  # (batch, 1, num_terms)
        zeros = ops.repeat(zeros, beam_size, axis=1)  # (batch, beam, num_terms)
        return cls(
            terms, lengths, times, ends_word, _find_borders(terms), zeros, zeros
        )

    def reorder(self, beams):
        """Returns the state in which beam j continues beam `beams[j]`.

        Args:
            beams: Integer tensor of shape `(batch, number)`.
        """
        return self._replace(
            written=select(self.written, beams),
            counts=select(self.counts, beams),
        )

    def count_after(self, ids, continues):
        """Computes the progress of each beam after each of several ids.

        Args:
            ids: Integers of shape `(batch, beam, number)`.
            continues: Whether each id continues a word, boolean of the shape
                of `ids`.

        Returns:
            `written` and `counts`, of shape `(batch, beam, number, num_terms)`.
        """
        places = ops.arange(ops.shape(self.terms)[2])
        # True at t if the beam ends in the first t ids of the term.
        here = ops.equal(
            ops.arange(ops.shape(self.terms)[2] + 1), self.written[..., None]
        )  # (batch, beam, num_terms, term_len + 1)
        ends_in = ops.any(
            ops.logical_and(self.borders[:, None], here[..., None]), axis=3
        )  # (batch, beam, num_terms, term_len)
        fits = ops.equal(self.terms[:, None, None], ids[..., None, None])
        fits = ops.logical_and(fits, self.terms[:, None, None] > PAD_ID)
        fits = ops.logical_and(fits, ends_in[:, :, None])
        written = ops.max(ops.where(fits, places + 1, 0), axis=-1)
        lengths = self.lengths[:, None, None]
        whole = ops.logical_and(ops.equal(written, lengths), written > 0)
        # A letter after a term makes another word of it.
        was_whole = ops.equal(self.written, self.lengths[:, None])
        was_whole = ops.logical_and(was_whole, self.written > 0)
        ended_word = ops.logical_and(was_whole, self.ends_word[:, None])
        broken = ops.logical_and(ended_word[:, :, None], continues[..., None])
        counts = self.counts[:, :, None] + ops.cast(whole, "int32")
        return written, counts - ops.cast(broken, "int32")

    def find_next_ids(self):
        """Returns the next id of each term that is not met.

        Returns:
            Int32 tensor of shape `(batch, beam, num_terms)`, 0 for none.
        """
        is_whole = ops.equal(self.written, self.lengths[:, None])
        place = ops.where(is_whole, 0, self.written)  # it is needed once more
        here = ops.equal(
            ops.arange(ops.shape(self.terms)[2]), place[..., None]
        )  # (batch, beam, num_terms, term_len)
        ids = ops.sum(ops.where(here, self.terms[:, None], PAD_ID), axis=-1)
        return ops.where(self.counts < self.times[:, None], ids, PAD_ID)

    def are_met(self):
        """Tells which beams hold all terms, boolean `(batch, beam)`."""
        return ops.equal(self.count_missing(), 0)

    def count_missing(self):
        """Counts the ids of terms that are missing, int32 `(batch, beam)`."""
        missing = ops.maximum(self.times[:, None] - self.counts, 0)
        return ops.sum(missing * self.lengths[:, None], axis=-1)

    def count_met(self, written, counts):
        """Counts the ids of terms that extended beams hold.

        Args:
            written, counts: What `count_after` returned.

        Returns:
            Int32 tensor of shape `(batch, beam, number)`. Of several terms that
            are begun, the one with the most ids counts.
        """
        times, lengths = self.times[:, None, None], self.lengths[:, None, None]
        whole = ops.sum(ops.minimum(counts, times) * lengths, axis=-1)
        is_begun = ops.logical_and(counts < times, written < lengths)
        begun = ops.max(ops.where(is_begun, written, 0), axis=-1)
        return whole + begun


def _lengths(terms):
    return ops.sum(ops.cast(terms > PAD_ID, "int32"), axis=-1)


def _merge_repetitions(terms, ends_word, continues):
    """Removes repeated terms, and counts how often each term is needed.

    Args:
        terms, ends_word, continues: As for `TermState.begin`.

    Returns:
        Terms of the same shape, where a repetition is all padding, and int32
        `(batch, num_terms)`.
    """
    places = ops.arange(ops.shape(terms)[2])
    windows = places[:, None] + places[None, :]  # (start, place)
    is_inside = windows < ops.shape(terms)[2]
    windows = ops.minimum(windows, ops.shape(terms)[2] - 1)
    parts = ops.take(terms, windows, axis=2)  # (batch, terms, start, place)
    parts = ops.where(is_inside, parts, PAD_ID)
    # Term j is in term i if it begins the part from some start on.
    part, term = parts[:, :, None], terms[:, None, :, None]
    agrees = ops.logical_or(ops.equal(part, term), ops.equal(term, PAD_ID))
    # Another word is there if a letter follows, as in "dogs" after "dog".
    letters = ops.logical_and(is_inside, ops.take(continues, windows, axis=2))
    is_next = ops.equal(places, _lengths(terms)[..., None])
    is_other = ops.any(
        ops.logical_and(letters[:, :, None], is_next[:, None, :, None]), axis=-1
    )  # (batch, i, j, start)
    is_other = ops.logical_and(is_other, ends_word[:, None, :, None])
    is_here = ops.logical_and(
        ops.all(agrees, axis=-1), ops.logical_not(is_other)
    )
    holds = ops.any(is_here, axis=-1)  # (batch, i, j)
    is_term = ops.cast(terms[:, :, 0] > PAD_ID, "int32")
    times = ops.sum(ops.cast(holds, "int32"), axis=1) * is_term
    # Terms that contain each other are the same.
    order = ops.arange(ops.shape(terms)[1])
    mutual = ops.logical_and(holds, ops.transpose(holds, (0, 2, 1)))
    earlier = ops.logical_and(mutual, order[:, None] < order[None, :])
    is_repeated = ops.any(earlier, axis=1)  # (batch, num_terms)
    return (
        ops.where(is_repeated[:, :, None], PAD_ID, terms),
        ops.where(is_repeated, 0, times),
    )


def _find_borders(terms):
    """Tells which beginnings of a term end in which shorter beginnings.

    Returns:
        Boolean tensor of shape `(batch, num_terms, term_len + 1, term_len)`,
        True at (s, t) if the first s ids end in the first t. A term that is
        whole begins anew, so that its occurrences do not overlap.
    """
    term_len = ops.shape(terms)[2]
    s = ops.arange(term_len + 1)[:, None, None]
    t = ops.arange(term_len)[None, :, None]
    place = ops.arange(term_len)[None, None, :]
    source = ops.clip(s - t + place, 0, term_len - 1)
    ends = ops.take(terms, source, axis=2)  # (batch, num_terms, s, t, place)
    agrees = ops.equal(ends, terms[:, :, None, None, :])
    agrees = ops.all(ops.logical_or(agrees, place >= t), axis=-1)
    lengths = _lengths(terms)[:, :, None, None]  # (batch, num_terms, 1, 1)
    s, t = s[:, :, 0], t[:, :, 0]  # (s, 1), (1, t)
    possible = ops.logical_and(t <= s, s < lengths)
    return ops.logical_or(ops.logical_and(agrees, possible), ops.equal(t, 0))
