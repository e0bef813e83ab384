"""Beam search against enumeration, on step functions that need no model."""

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from keras import ops
from tree_language import TreeLanguage

from keras_transformer.search.beam_search import _add_next_ids
from keras_transformer.search.beam_search import beam_search
from keras_transformer.token_ids import END_ID as END

TENSORFLOW = keras.backend.backend() == "tensorflow"
SEEDS = [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))]


def cycling_sampler(logits, position, rows):
    """Chooses word `sentence + position`, whatever the logits are."""
    words = (rows[:, None] + position) % logits.shape[-1]
    return ops.repeat(words, logits.shape[1], axis=1)


class BeamSearchTest:
    @settings(max_examples=12)
    @given(
        st.sampled_from([(3, 5), (4, 3), (5, 3), (3, 1)]),
        st.floats(0, 2),
        st.integers(0, 1000),
    )
    def test_a_wide_beam_equals_enumeration(self, sizes, alpha, seed):
        vocab_size, length = sizes
        language = TreeLanguage(vocab_size, length, seed=seed)
        wide = vocab_size**length
        hypotheses, scores = language.search(
            range(4), wide, length, alpha=alpha
        )
        for sentence in range(4):
            expected = language.enumerate(sentence, length, alpha)
            assert hypotheses[sentence] == [h for _, h in expected]
            np.testing.assert_allclose(
                scores[sentence, : len(expected)],
                [score for score, _ in expected],
                rtol=1e-5,
                atol=1e-6,
            )
            assert np.all(np.isneginf(scores[sentence, len(expected) :]))

    @settings(max_examples=12)
    @given(st.integers(2, 4), st.integers(0, 1000))
    def test_a_narrow_beam_equals_a_plain_search(self, beam_size, seed):
        language = TreeLanguage(5, 5, num_sentences=8, seed=seed)
        hypotheses, _ = language.search(range(8), beam_size, 5)
        for sentence in range(8):
            expected = language.plain_search(sentence, beam_size, 5)
            assert hypotheses[sentence] == expected[:beam_size]

    @pytest.mark.skipif(not TENSORFLOW, reason="needs loops that run eagerly")
    def test_an_observer_sees_every_step_of_the_search(self):
        language, observed = TreeLanguage(5, 5), []
        _, scores = language.search(
            [2], 3, 5, observe=lambda *step: observed.append(step)
        )
        assert len(observed) == language.num_steps
        alive = np.zeros((1, 3), "float32")
        for candidates, search in observed:
            log_probs, beams, ids = map(
                ops.convert_to_numpy,
                (candidates.log_probs, candidates.beams, candidates.ids),
            )
            assert np.all(log_probs <= np.take(alive, beams) + 1e-6)
            goes_on = (ids[0] != END) & np.isfinite(log_probs[0])
            alive = ops.convert_to_numpy(search.alive.log_probs)
            np.testing.assert_array_equal(
                alive[np.isfinite(alive)], log_probs[0][goes_on][:3]
            )
        finished = ops.convert_to_numpy(search.finished.scores)
        np.testing.assert_array_equal(finished, scores)

    @pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
    def test_a_beam_of_one_equals_greedy(self, alpha):
        language = TreeLanguage(5, 5, num_sentences=20)
        hypotheses, _ = language.search(range(20), 1, 5, alpha=alpha)
        expected = [[language.greedy(s, 5)] for s in range(20)]
        assert hypotheses == expected
        assert len({len(h[0]) for h in hypotheses}) > 2

    def test_a_score_is_the_normalised_log_probability(self):
        language = TreeLanguage(5, 5)
        hypotheses, scores = language.search(range(4), 3, 5, alpha=0.8)
        expected = [
            [language.score(s, h, alpha=0.8) for h in hypotheses[s]]
            for s in range(4)
        ]
        np.testing.assert_allclose(scores, expected, rtol=1e-5)

    def test_hypotheses_are_sorted_and_distinct(self):
        language = TreeLanguage(4, 6)
        hypotheses, scores = language.search(range(4), 6, 6)
        assert np.all(np.diff(scores, axis=1) <= 0)
        assert all(len(set(h)) == len(h) == 6 for h in hypotheses)

    def test_each_sentence_keeps_to_its_own_limit(self):
        language = TreeLanguage(3, 5, end=-3.0)
        limits = [1, 3, 5, 2]
        hypotheses, _ = language.search(range(4), 3**5, limits)
        for sentence, limit in enumerate(limits):
            expected = language.enumerate(sentence, limit)
            assert hypotheses[sentence] == [h for _, h in expected]

    def test_at_the_limit_the_end_counts_with_its_probability(self):
        language = TreeLanguage(5, 4, end=-30.0)
        hypotheses, scores = language.search(range(4), 2, 4)
        for sentence in range(4):
            assert [len(h) for h in hypotheses[sentence]] == [4, 4]
            expected = [
                language.score(sentence, h) for h in hypotheses[sentence]
            ]
            np.testing.assert_allclose(scores[sentence], expected, rtol=1e-5)

    def test_the_other_sentences_of_a_batch_do_not_matter(self):
        language = TreeLanguage(5, 5)
        limits = [5, 2, 4, 3]
        together, scores = language.search([0, 1, 2, 3], 3, limits)
        for sentence, limit in enumerate(limits):
            alone, score = language.search([sentence], 3, limit)
            assert alone[0] == together[sentence]
            np.testing.assert_array_equal(score[0], scores[sentence])

    @pytest.mark.parametrize("seed", SEEDS)
    def test_stopping_early_never_loses_a_better_hypothesis(self, seed):
        language = TreeLanguage(3, 6, seed=seed, end=3.0)
        for number in (1, 2, 5):
            hypotheses, _ = language.search(
                range(4), 3**5, 6, num_hypotheses=number
            )
            for sentence in range(4):
                expected = language.enumerate(sentence, 6)[:number]
                assert hypotheses[sentence] == [h for _, h in expected]

    def test_fewer_hypotheses_are_the_first_of_more(self):
        language = TreeLanguage(5, 5, num_sentences=8)
        more, _ = language.search(range(8), 4, 5)
        fewer, _ = language.search(range(8), 4, 5, num_hypotheses=2)
        assert fewer == [h[:2] for h in more]

    @pytest.mark.parametrize("min_length", [1, 3, 9])
    def test_no_hypothesis_is_shorter_than_the_minimum(self, min_length):
        language = TreeLanguage(3, 5, end=1.0)
        limits = [5, 3, 1, 4]
        hypotheses, scores = language.search(
            range(4), 3**5, limits, min_length=min_length
        )
        for sentence, limit in enumerate(limits):
            least = min(min_length, limit - 1)
            expected = [
                (score, h)
                for score, h in language.enumerate(sentence, limit)
                if len(h) - 1 >= least
            ]
            assert hypotheses[sentence] == [h for _, h in expected]
            np.testing.assert_allclose(
                scores[sentence, : len(expected)],
                [score for score, _ in expected],
                rtol=1e-5,
            )

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_no_ngram_of_this_size_occurs_twice(self, size):
        language = TreeLanguage(3, 6, end=-1.0)
        limits = [6, 3, 1, 5]
        hypotheses, scores = language.search(
            range(4), 3**6, limits, no_repeat_ngram_size=size
        )
        for sentence, limit in enumerate(limits):
            expected = [
                (score, h)
                for score, h in language.enumerate(sentence, limit)
                if len(
                    set(ngrams := list(zip(*(h[i:-1] for i in range(size)))))
                )
                == len(ngrams)
            ]
            assert hypotheses[sentence] == [h for _, h in expected]
            np.testing.assert_allclose(
                scores[sentence, : len(expected)],
                [score for score, _ in expected],
                rtol=1e-5,
            )

    def test_without_ids_left_a_short_hypothesis_ends(self):
        language = TreeLanguage(4, 6)
        hypotheses, _ = language.search(
            range(4),
            4,
            6,
            min_length=4,
            no_repeat_ngram_size=1,
            forbidden=(0,),
        )
        for sentence in hypotheses:
            assert sorted(sentence) == [(2, 3, END), (3, 2, END)]

    def test_a_prefix_may_repeat_itself(self):
        language = TreeLanguage(4, 6, end=-5.0)
        prefixes = np.array([(2, 3, 2, 3)] * 4, "int32")
        hypotheses, _ = language.search(
            range(4), 4**6, 6, prefixes=prefixes, no_repeat_ngram_size=2
        )
        # Neither 2 nor the end may follow: "3 2" has occurred.
        for sentence in hypotheses:
            assert {h[4] for h in sentence} == {0, 3, END}

    def test_hypotheses_begin_with_their_prefixes(self):
        language = TreeLanguage(4, 5)
        prefixes = [(2,), (), (3, 2), (0, 0)]
        padded = np.array([(*p, 0, 0)[:2] for p in prefixes], "int32")
        hypotheses, scores = language.search(range(4), 4**5, 5, prefixes=padded)
        for sentence, prefix in enumerate(prefixes[:3]):
            expected = [
                (score, h)
                for score, h in language.enumerate(sentence, 5)
                if h[: len(prefix)] == prefix
            ]
            assert hypotheses[sentence] == [h for _, h in expected]
            np.testing.assert_allclose(
                scores[sentence, : len(expected)],
                [score for score, _ in expected],
                rtol=1e-5,
            )
        free, _ = language.search(range(4), 4**5, 5)
        assert hypotheses[3] == free[3]

    @pytest.mark.parametrize("beam_size", [4, 64])
    def test_forbidden_ids_occur_in_prefixes_alone(self, beam_size):
        language = TreeLanguage(4, 5)
        prefixes = np.array([(0, 0), (2, 0), (3, 2), (0, 0)], "int32")
        hypotheses, scores = language.search(
            range(4), beam_size, 5, prefixes=prefixes, forbidden=(0, 2)
        )
        for sentence in range(4):
            prefix = tuple(prefixes[sentence][prefixes[sentence] > 0])
            expected = [
                (score, h)
                for score, h in language.enumerate(sentence, 5)
                if h[: len(prefix)] == prefix
                and not {0, 2} & set(h[len(prefix) :])
            ]
            # Word 3 alone is left, so no more hypotheses than these exist.
            assert hypotheses[sentence] == [h for _, h in expected][:beam_size]
            np.testing.assert_allclose(
                scores[sentence, : len(expected)],
                [score for score, _ in expected][:beam_size],
                rtol=1e-5,
            )

    @pytest.mark.parametrize("sampler", [None, "first"])
    @pytest.mark.parametrize("seed", SEEDS)
    @pytest.mark.skipif(not TENSORFLOW, reason="loops of fixed shapes")
    def test_shrinking_changes_no_result(self, seed, sampler):
        language = TreeLanguage(4, 7, num_sentences=9, seed=seed, end=1.0)
        limits = [7, 1, 3, 7, 5, 7, 2, 7, 6]
        options = {"num_hypotheses": 2}
        if sampler:
            options["sampler"] = cycling_sampler
        expected, scores = language.search(range(9), 2, limits, **options)
        language.batches.clear()
        shrunk, same = language.search(
            range(9), 2, limits, shrinking=True, **options
        )
        assert shrunk == expected
        np.testing.assert_allclose(same, scores, rtol=1e-6)
        assert language.batches[0] == 9
        assert 1 < len(set(language.batches))
        assert language.batches == sorted(language.batches, reverse=True)

    def test_a_sampler_decides_alone(self):
        language = TreeLanguage(4, 5, num_sentences=6)
        hypotheses, scores = language.search(
            range(6), 3, 5, sampler=cycling_sampler
        )
        for sentence in range(6):
            words = [(sentence + position) % 4 for position in range(4)]
            words = [*words, END][: [*words, END].index(END) + 1]
            assert hypotheses[sentence] == [tuple(words)] * 3
            np.testing.assert_allclose(
                scores[sentence],
                [language.score(sentence, tuple(words))] * 3,
                rtol=1e-5,
            )

    def test_sequences_end_in_the_end_id_and_are_padded_with_zeros(self):
        language = TreeLanguage(4, 5)
        sequences, _ = beam_search(
            language.step,
            language.state(range(4), 3),
            3,
            ops.convert_to_tensor([5, 2, 4, 3], dtype="int32"),
            fixed_length=5,
        )
        sequences = ops.convert_to_numpy(sequences)
        assert sequences.shape == (4, 3, 5)
        ended = np.cumsum(sequences == END, axis=-1)
        assert np.all(ended[..., -1] == 1)
        assert not np.any(sequences[(ended == 1) & (sequences != END)])

    @pytest.mark.skipif(not TENSORFLOW, reason="a traced loop has no count")
    def test_the_search_stops_when_no_beam_can_win(self):
        language = TreeLanguage(3, 9, end=12.0)
        language.search(range(4), 2, 9, num_hypotheses=1)
        assert language.num_steps == 1
        language = TreeLanguage(3, 9, end=12.0)
        language.search(range(4), 2, 9)
        assert 1 < language.num_steps < 9

    @pytest.mark.skipif(not TENSORFLOW, reason="tf.function")
    @pytest.mark.parametrize(
        "batch", [pytest.param(None, marks=pytest.mark.slow), 4]
    )
    def test_the_compiled_search_equals_the_eager_one(self, batch):
        import tensorflow as tf

        language = TreeLanguage(5, 5)
        limits = [5, 3, 4, 2]
        expected, expected_scores = language.search(range(4), 3, limits)

        @tf.function(input_signature=[tf.TensorSpec([batch], tf.int32)] * 2)
        def search(sentences, limits):
            state = language.state(sentences, 3)
            fixed_length = None if batch is None else 5
            return beam_search(
                language.step, state, 3, limits, fixed_length=fixed_length
            )

        hypotheses, scores = language.to_tuples(*search(range(4), limits))
        assert hypotheses == expected
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-6)

    @pytest.mark.skipif(TENSORFLOW, reason="jax.jit")
    def test_the_search_runs_under_jit(self):
        import jax

        language = TreeLanguage(5, 5)
        limits = np.array([5, 3, 4, 2], "int32")
        expected, _ = language.search(range(4), 3, limits)

        @jax.jit
        def search(sentences, limits):
            state = language.state(sentences, 3)
            return beam_search(language.step, state, 3, limits, fixed_length=5)

        hypotheses, _ = language.to_tuples(*search(np.arange(4), limits))
        assert hypotheses == expected


def test_next_ids_of_terms_join_the_best_ones_unless_they_are_there():
    logits = np.array([[[-5.0, -4.0, -1.0, -3.0, -2.0]]], "float32")
    best, ids = logits[:, :, [2, 4]], np.array([[[2, 4]]], "int32")
    next_ids = np.array([[[4, 3, 3, 0]]], "int32")  # 0 is no id
    best, ids = map(
        ops.convert_to_numpy, _add_next_ids(best, ids, logits, next_ids)
    )
    is_added = best > -100.0
    assert ids[is_added].tolist() == [2, 4, 3]
    assert best[is_added].tolist() == [-1.0, -2.0, -3.0]
