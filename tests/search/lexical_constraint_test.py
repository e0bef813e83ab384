"""Searches that must write terms, against enumeration."""

import types

import keras
import numpy as np
import pytest
from keras import ops
from tree_language import TreeLanguage

from keras_transformer.search.lexical_constraint import MISSING_ID
from keras_transformer.search.lexical_constraint import LexicalConstraint
from keras_transformer.search.lexical_constraint import find_word_boundaries

TENSORFLOW = keras.backend.backend() == "tensorflow"
LENGTH = 5
NO_WORDS = np.zeros(4, bool)
TERMS = {
    "one": [[(2,)], [(3, 2)], [(2, 2), ()], [(2, 3, 2)]],
    "two": [[(2,), (3,)], [(3, 2), (2, 2)], [(2, 2, 3), (3,)], [(3,), ()]],
    "common beginning": [[(2, 3), (2, 2)], [(3, 3), (3, 2)], [], [(3,)]],
    "overlapping": [[(2, 3), (3, 2)], [(2, 2), (2,)], [(3, 2, 3)], [(2, 3)]],
    "repeated": [[(2,), (2,)], [(2, 3), (2, 3)], [(3,), (3,), (3,)], [()]],
    "falling out": [[(2, 2, 3)], [(2, 3, 2, 2)], [(3, 3, 2)], [(2, 3, 2, 3)]],
}
ALL = [terms for kind in TERMS.values() for terms in kind]


def pad(terms):
    """Returns terms as an array of shape `(batch, num_terms, term_len)`."""
    array = np.zeros((len(terms), 3, 4), "int32")
    for row, own in zip(array, terms):
        for place, ids in zip(row, own):
            place[: len(ids)] = ids
    return array


def constraint_of(terms, continues_word=NO_WORDS, ends_word=~NO_WORDS):
    terms = ops.convert_to_tensor(pad(terms))
    return LexicalConstraint(terms, continues_word, ends_word)


def count(term, hypothesis, continues_word=NO_WORDS):
    """Counts a term from left to right, as `str.count` does."""
    number, place = 0, 0
    while place <= len(hypothesis) - len(term):
        end = place + len(term)
        if hypothesis[place:end] != term:
            place += 1
            continue
        number += not continues_word[hypothesis[end]]
        place = end
    return number


def count_missing(terms, hypothesis, **words):
    """Counts the ids of terms that a hypothesis lacks."""
    terms = list(filter(None, terms))
    missing = 0
    for term in set(terms):
        # As often as terms hold it, itself included. Padding ends a term.
        times = sum(
            any(
                count(term, (*other[i:], 0), **words) for i in range(len(other))
            )
            for other in terms
        )
        lacks = max(times - count(term, hypothesis, **words), 0)
        missing += lacks * len(term)
    return missing


def enumerate_all(language, sentence, terms, length=LENGTH, **words):
    """Returns all hypotheses that the constraint allows, best first."""
    scored = []
    for score, hypothesis in language.enumerate(sentence, length):
        missing = count_missing(terms, hypothesis, **words)
        if not missing or len(hypothesis) == length:
            scored.append((score - MISSING_ID * missing, hypothesis))
    return sorted(scored, reverse=True)


class LexicalConstraintTest:
    def test_a_wide_beam_equals_enumeration(self):
        language = TreeLanguage(4, LENGTH, num_sentences=len(ALL), end=1.0)
        hypotheses, scores = language.search(
            range(len(ALL)), 3**LENGTH, LENGTH, lexical=constraint_of(ALL)
        )
        for sentence, terms in enumerate(ALL):
            expected = enumerate_all(language, sentence, terms)
            met = [h for score, h in expected if score > -MISSING_ID]
            assert met
            assert hypotheses[sentence][: len(met)] == met
            np.testing.assert_allclose(
                scores[sentence, : len(expected)],
                [score for score, _ in expected],
                rtol=1e-5,
            )

    def test_a_term_may_repeat_ids_that_are_excluded(self):
        language = TreeLanguage(4, LENGTH)
        # With as many candidates as ids, the excluded one is among them.
        (hypotheses,), _ = language.search(
            [0],
            4,
            LENGTH,
            no_repeat_ngram_size=1,
            lexical=constraint_of([[(2,), (2,)]]),
        )
        assert count((2,), hypotheses[0]) == 2

    def test_at_the_limit_the_most_terms_come_out(self):
        language = TreeLanguage(4, 3, num_sentences=len(ALL))
        hypotheses, scores = language.search(
            range(len(ALL)), 3**3, 3, lexical=constraint_of(ALL)
        )
        for sentence, terms in enumerate(ALL):
            (score, best), *_ = enumerate_all(language, sentence, terms, 3)
            assert hypotheses[sentence][0] == best
            np.testing.assert_allclose(scores[sentence, 0], score, rtol=1e-5)

    @pytest.mark.parametrize("beam_size", [2, 4])
    def test_a_narrow_beam_writes_all_terms(self, beam_size):
        language = TreeLanguage(4, 7, num_sentences=len(ALL))
        hypotheses, _ = language.search(
            range(len(ALL)), beam_size, 7, lexical=constraint_of(ALL)
        )
        for own, terms in zip(hypotheses, ALL):
            assert count_missing(terms, own[0]) == 0

    def test_a_sentence_without_terms_is_searched_as_ever(self):
        beam_size = 3
        language = TreeLanguage(4, LENGTH, num_sentences=6)
        expected, scores = language.search(range(6), beam_size, LENGTH)
        terms = [[], [(2,)], [()], [(3, 2)], [], [(2, 2)]]
        hypotheses, constrained = language.search(
            range(6), beam_size, LENGTH, lexical=constraint_of(terms)
        )
        for sentence in (0, 2, 4):
            assert hypotheses[sentence] == expected[sentence]
            np.testing.assert_array_equal(
                constrained[sentence], scores[sentence]
            )

    def test_a_term_ends_where_its_last_word_ends(self):
        continues = np.array([False, False, False, True])
        terms = [[(2,)], [(2, 2)], [(2,), (2,)], [(3, 2)]]
        # A term may begin another word, as "dog" begins "dogs".
        terms += [[(2,), (2, 3)], [(2, 3), (2, 3, 3)], [(2,), (3, 2)]]
        language = TreeLanguage(4, 5, end=1.0, num_sentences=len(terms))
        hypotheses, _ = language.search(
            range(len(terms)), 3**5, 5, lexical=constraint_of(terms, continues)
        )
        for sentence, own in enumerate(terms):
            expected = enumerate_all(
                language, sentence, own, 5, continues_word=continues
            )
            met = [h for score, h in expected if score > -MISSING_ID]
            assert hypotheses[sentence][: len(met)] == met
        # After a term that does not end in a letter, anything may follow.
        anything = constraint_of(terms, continues, NO_WORDS)
        free, _ = language.search(range(len(terms)), 3**5, 5, lexical=anything)
        expected = enumerate_all(language, 0, terms[0], 5)
        assert free[0][:20] == [h for _, h in expected[:20]]

    def test_the_padding_of_terms_changes_nothing(self):
        language = TreeLanguage(4, LENGTH, num_sentences=2)
        terms = [[(3, 2), (2, 2)], [(2, 3), (3, 3)]]
        tight = LexicalConstraint(
            ops.convert_to_tensor(np.array(terms, "int32")), NO_WORDS, ~NO_WORDS
        )
        for lexical in (tight, constraint_of(terms)):
            hypotheses, _ = language.search(
                range(2), 3**LENGTH, LENGTH, lexical=lexical
            )
            for sentence, own in enumerate(terms):
                expected = [
                    h
                    for score, h in enumerate_all(language, sentence, own)
                    if score > -MISSING_ID
                ]
                assert hypotheses[sentence][: len(expected)] == expected

    def test_prefixes_count_for_the_terms(self):
        language = TreeLanguage(4, 5)
        terms = [[(2, 3)], [(3,)], [(2, 2)], []]
        prefixes = np.array([[2], [3], [0], [3]], "int32")
        hypotheses, _ = language.search(
            range(4), 3**5, 5, prefixes=prefixes, lexical=constraint_of(terms)
        )
        for sentence, own in enumerate(terms):
            prefix = tuple(prefixes[sentence][prefixes[sentence] > 0])
            expected = [
                h
                for score, h in enumerate_all(language, sentence, own, 5)
                if h[: len(prefix)] == prefix and score > -MISSING_ID
            ]
            assert hypotheses[sentence][: len(expected)] == expected

    @pytest.mark.skipif(not TENSORFLOW, reason="loops of fixed shapes")
    def test_shrinking_changes_no_result(self):
        language = TreeLanguage(4, LENGTH, end=1.0)
        terms = TERMS["common beginning"]
        limits = [5, 3, 1, 4]
        expected, scores = language.search(
            range(4), 3, limits, lexical=constraint_of(terms)
        )
        shrunk, same = language.search(
            range(4), 3, limits, shrinking=True, lexical=constraint_of(terms)
        )
        assert shrunk == expected
        np.testing.assert_allclose(same, scores, rtol=1e-6)


class FindWordBoundariesTest:
    def test_bytes_count_as_the_characters_that_they_are(self):
        """A byte from 0x80 on is a part of a character, so it counts as one."""
        boundaries = {
            "▁dog": (False, True),
            "n't": (True, True),
            "'": (False, False),
            "▁猫": (False, False),  # Japanese has no spaces between words
            "が": (False, False),
            "s'": (True, False),
            "<0x61>": (True, True),  # a
            "<0x2E>": (False, False),  # .
            "<0xC3>": (True, True),  # of é, for example
        }
        vocabulary = types.SimpleNamespace(all_pieces=lambda: [*boundaries])
        continues, ends = find_word_boundaries(vocabulary)
        found = list(zip(continues.tolist(), ends.tolist()))
        assert found == [*boundaries.values()]
