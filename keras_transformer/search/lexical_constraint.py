"""The constraint that makes a search write the terms of a sentence."""

import re

import numpy as np
from keras import ops

from keras_transformer.search.beams import NEVER
from keras_transformer.search.beams import select
from keras_transformer.search.term_state import TermState
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

# What a score loses for each id of a term that the hypothesis lacks. Only a
# hypothesis that has reached its limit can lack one.
MISSING_ID = 1_000.0
_BYTE = re.compile("<0x(..)>")  # how SentencePiece spells a byte


class LexicalConstraint:
    """Lets only those hypotheses end that hold all terms of their sentence.

    Dynamic beam allocation of Post and Vilar (2018): the beams of a sentence
    are divided among banks. A bank holds the hypotheses with the same number of
    ids of terms, so that those with many terms, which are less probable, do not
    have to compete with those that have few. Each bank gets equally many
    beams. A bank with fewer candidates leaves its places to the others, and
    the fullest banks come first.

    Beside the likeliest ids of each beam, the next id of every term that it
    lacks is a candidate. Probabilities are those of the model, so a wide beam
    finds what enumeration finds. A hypothesis that reaches its limit first
    comes out with what it holds, and each missing id takes `MISSING_ID` from
    its score. A sentence without terms is searched as if there were no
    constraint.

    Where we differ from the paper: all terms are compared with what a beam
    writes, so two terms may share ids at their borders.

    Args:
        terms: Ids of the terms of each sentence, int32 of shape
            `(batch, num_terms, term_len)` with at least one term and one id,
            padded with 0.
        continues_word: Boolean array of shape `(vocab_size,)`, True for each id
            that begins with a letter and goes on with the word before it. A
            term does not count where such an id follows it.
        ends_word: Boolean array of shape `(vocab_size,)`, True for each id that
            ends in a letter. `continues_word` matters after these alone.
    """

    def __init__(self, terms, continues_word, ends_word):
        self._terms = ops.cast(terms, "int32")
        self._continues_word = np.asarray(continues_word)
        self._ends_word = np.asarray(ends_word)

    def begin(self, beam_size):
        """Returns the `TermState` of beams that have not written anything."""
        real = ops.cast(self._terms > PAD_ID, "int32")
        last = ops.sum(real, axis=-1, keepdims=True) - 1
        is_last = ops.equal(ops.arange(ops.shape(real)[2]), last)
        ids = ops.sum(ops.where(is_last, self._terms, 0), axis=-1)
        return TermState.begin(
            self._terms,
            ops.take(self._ends_word, ids),
            self._continues(self._terms),
            beam_size,
        )

    def advance(self, term_state, beams, ids):
        """Returns the state of beams that are extended by ids.

        Args:
            term_state: A `TermState`.
            beams: Extended beams, integers of shape `(batch, number)`.
            ids: Integers of shape `(batch, number)`.
        """
        term_state = term_state.reorder(beams)
        ids = ids[:, :, None]
        written, counts = term_state.count_after(ids, self._continues(ids))
        return term_state._replace(
            written=written[:, :, 0], counts=counts[:, :, 0]
        )

    def choose(self, log_probs, ids, term_state):
        """Chooses the best extensions that end, and the best that go on.

        Args:
            log_probs: Float32 tensor of shape `(batch, beam, per_beam)`.
            ids: Int32 tensor of shape `(batch, beam, per_beam)`.
            term_state: A `TermState`.

        Returns:
            Log-probabilities and their places among all extensions of a
            sentence, of shape `(batch, 2 x beam)`.
        """
        beam_size = log_probs.shape[1]
        after = term_state.count_after(ids, self._continues(ids))
        banks = term_state.count_met(*after)  # (batch, beam, per_beam)
        flat_len = beam_size * ops.shape(ids)[2]
        log_probs, ids, banks = (
            ops.reshape(values, (-1, flat_len))
            for values in (log_probs, ids, banks)
        )  # (batch, beam x per_beam)
        is_end = ops.equal(ids, END_ID)
        ends, end_places = ops.top_k(
            ops.where(is_end, log_probs, NEVER), beam_size
        )
        others = ops.where(is_end, NEVER, log_probs)
        places = _allocate_beams(others, banks, beam_size)
        others = select(others, places)  # (batch, beam)
        free, free_places = ops.top_k(log_probs, 2 * beam_size)
        is_free = ops.all(ops.equal(term_state.times, 0), axis=1)[:, None]
        return (
            ops.where(is_free, free, ops.concatenate([ends, others], axis=1)),
            ops.where(
                is_free,
                free_places,
                ops.concatenate(
                    [ops.cast(end_places, "int32"), places], axis=1
                ),
            ),
        )

    def _continues(self, ids):
        return ops.take(self._continues_word, ids)


def find_word_boundaries(vocabulary):
    """Tells where the ids of a vocabulary continue and where they end words.

    Args:
        vocabulary: A `Subwords`.

    Returns:
        `continues_word` and `ends_word` of `LexicalConstraint`.
    """
    pieces = vocabulary.all_pieces()
    texts = [_BYTE.sub(_character, piece) for piece in pieces]
    return (
        np.array([text[:1].isalnum() for text in texts]),
        np.array([text[-1:].isalnum() for text in texts]),
    )


def _character(match):
    # The bytes from 0x80 on are parts of characters, most often of letters.
    return chr(int(match[1], 16)) if match[1] < "80" else "a"


def _allocate_beams(log_probs, banks, beam_size):
    """Returns the places of the extensions that get a beam.

    Every bank's best extension comes before every bank's second best.

    Args:
        log_probs: Tensor of shape `(batch, number)`.
        banks: Number of each extension's bank, int32 of the same shape.
        beam_size: Number of places to return.

    Returns:
        Int32 tensor of shape `(batch, beam)`.
    """
    order = ops.cast(ops.argsort(-log_probs, axis=1), "int32")
    log_probs = ops.take_along_axis(log_probs, order, axis=1)
    banks = ops.take_along_axis(banks, order, axis=1)
    places = ops.arange(ops.shape(banks)[1])
    is_better = places[None, :] < places[:, None]
    same = ops.equal(banks[:, :, None], banks[:, None, :])
    rank = ops.sum(
        ops.cast(ops.logical_and(same, is_better), "int32"), axis=-1
    )  # among the extensions of the same bank, (batch, number)
    num_banks = ops.max(banks) + 1
    turn = rank * num_banks - banks
    turn = ops.where(log_probs > NEVER, turn, 2**30)
    _, chosen = ops.top_k(-turn, beam_size)  # (batch, beam)
    return ops.take_along_axis(order, ops.cast(chosen, "int32"), axis=1)
