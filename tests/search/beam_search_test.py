"""Beam search against enumeration, on step functions that need no model."""

import itertools
import typing

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.search.beam_search import beam_search
from keras_transformer.search.beam_search import gather_beams

END = 1
TENSORFLOW = keras.backend.backend() == "tensorflow"


class PrefixState(typing.NamedTuple):
    """Where in a `TreeLanguage` each beam stands."""

    sentence: typing.Any  # (batch, beam)
    node: typing.Any  # a list of (batch, beam, 1): states may be nested
    room: typing.Any  # (batch, fixed_length or 0)

    @property
    def fixed_length(self):
        return self.room.shape[1] or None

    def reorder(self, beams):
        sentence, node = gather_beams((self.sentence, self.node), beams)
        return self._replace(sentence=sentence, node=node)


class TreeLanguage:
    """Random next-word logits that depend on the sentence and whole prefix.

    A prefix is a node of the vocabulary's tree. The node and the sentence
    travel in the state, so that a state in the wrong order gives wrong scores.
    """

    def __init__(self, vocab_size, length, num_sentences=4, seed=0, end=0.0):
        self.vocab_size = vocab_size
        num_nodes = sum(vocab_size**depth for depth in range(length))
        rng = np.random.default_rng(seed)
        shape = (num_sentences, num_nodes, vocab_size)
        self.logits = rng.normal(0.0, 2.0, shape).astype("float32")
        self.logits[..., END] += end
        shares = np.exp(self.logits.astype("float64"))
        self.log_probs = np.log(shares / shares.sum(-1, keepdims=True))
        self.num_steps = 0
        self.batches = []

    def search(self, sentences, beam_size, limits, shrinking=False, **options):
        """Returns per sentence its hypotheses, as tuples, and the scores."""
        sentences = np.asarray(sentences, "int32")
        limits = np.broadcast_to(np.asarray(limits), sentences.shape)
        fixed_length = None if shrinking else int(limits.max())
        return self.to_tuples(
            *beam_search(
                self.step,
                self.state(sentences, beam_size, fixed_length),
                beam_size,
                ops.convert_to_tensor(limits, dtype="int32"),
                **options,
            )
        )

    def state(self, sentences, beam_size, fixed_length):
        sentences = ops.cast(sentences, "int32")[:, None]
        sentences = ops.repeat(sentences, beam_size, axis=1)
        node = ops.zeros_like(sentences)[:, :, None]
        room = ops.zeros((ops.shape(sentences)[0], fixed_length or 0))
        return PrefixState(sentences, [node], room)

    def step(self, ids, position, state):
        self.num_steps += 1
        self.batches.append(ids.shape[0])
        _, num_nodes, vocab_size = self.logits.shape
        node = state.node[0][:, :, 0] * vocab_size + ids + 1
        node = ops.where(position == 0, 0, node)
        logits = ops.take(
            ops.reshape(self.logits, (-1, vocab_size)),
            state.sentence * num_nodes + node,
            axis=0,
        )
        return logits, state._replace(node=[node[:, :, None]])

    def to_tuples(self, sequences, scores):
        hypotheses = [
            [
                tuple(row[: list(row).index(END) + 1].tolist())
                for row in sentence
                if END in row
            ]
            for sentence in ops.convert_to_numpy(sequences)
        ]
        return hypotheses, ops.convert_to_numpy(scores)

    def next_log_probs(self, sentence, prefix):
        node = 0
        for word in prefix:
            node = node * self.vocab_size + word + 1
        return self.log_probs[sentence, node]

    def log_prob(self, sentence, sequence):
        return sum(
            self.next_log_probs(sentence, sequence[:i])[word]
            for i, word in enumerate(sequence)
        )

    def score(self, sentence, sequence, alpha=0.6):
        penalty = ((5 + len(sequence)) / 6) ** alpha
        return self.log_prob(sentence, sequence) / penalty

    def enumerate(self, sentence, max_length, alpha=0.6):
        """All hypotheses with their scores, best first."""
        words = [word for word in range(self.vocab_size) if word != END]
        hypotheses = [
            (*prefix, END)
            for length in range(max_length)
            for prefix in itertools.product(words, repeat=length)
        ]
        scored = [(self.score(sentence, h, alpha), h) for h in hypotheses]
        return sorted(scored, reverse=True)

    def plain_search(self, sentence, beam_size, max_length):
        """Beam search in lists, for beams narrower than the language."""
        alive, finished = [()], []
        for length in range(1, max_length + 1):
            words = [END] if length == max_length else range(self.vocab_size)
            candidates = [(*a, word) for a in alive for word in words]
            candidates.sort(key=lambda c: -self.log_prob(sentence, c))
            candidates = candidates[: 2 * beam_size]
            finished += [c for c in candidates if c[-1] == END]
            alive = [c for c in candidates if c[-1] != END][:beam_size]
        return sorted(finished, key=lambda h: -self.score(sentence, h))

    def greedy(self, sentence, max_length):
        sequence = ()
        while len(sequence) < max_length - 1 and END not in sequence:
            log_probs = self.next_log_probs(sentence, sequence)
            sequence = (*sequence, int(np.argmax(log_probs)))
        return sequence if END in sequence else (*sequence, END)


def cycling_sampler(logits, position, rows):
    """Says word `sentence + position`, whatever the logits."""
    words = (rows[:, None] + position) % logits.shape[-1]
    return ops.repeat(words, logits.shape[1], axis=1)


class BeamSearchTest:
    @pytest.mark.parametrize(
        "vocab_size,length,alpha",
        [(3, 5, 0.6), (3, 5, 0.0), (4, 4, 1.0), (5, 4, 0.6), (3, 1, 0.6)],
    )
    def test_a_wide_beam_equals_enumeration(self, vocab_size, length, alpha):
        language = TreeLanguage(vocab_size, length)
        wide = vocab_size**length
        found, scores = language.search(range(4), wide, length, alpha=alpha)
        for sentence in range(4):
            expected = language.enumerate(sentence, length, alpha)
            assert found[sentence] == [h for _, h in expected]
            np.testing.assert_allclose(
                scores[sentence, : len(expected)],
                [score for score, _ in expected],
                rtol=1e-5,
            )
            assert np.all(np.isneginf(scores[sentence, len(expected) :]))

    @pytest.mark.parametrize("beam_size", [2, 3, 4])
    def test_a_narrow_beam_equals_a_plain_search(self, beam_size):
        language = TreeLanguage(5, 5, num_sentences=8)
        found, _ = language.search(range(8), beam_size, 5)
        for sentence in range(8):
            expected = language.plain_search(sentence, beam_size, 5)
            assert found[sentence] == expected[:beam_size]

    @pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
    def test_a_beam_of_one_equals_greedy(self, alpha):
        language = TreeLanguage(5, 5, num_sentences=20)
        found, _ = language.search(range(20), 1, 5, alpha=alpha)
        expected = [[language.greedy(s, 5)] for s in range(20)]
        assert found == expected
        assert len({len(h[0]) for h in found}) > 2

    def test_a_score_is_the_normalised_log_probability(self):
        language = TreeLanguage(5, 5)
        found, scores = language.search(range(4), 3, 5, alpha=0.8)
        expected = [
            [language.score(s, h, alpha=0.8) for h in found[s]]
            for s in range(4)
        ]
        np.testing.assert_allclose(scores, expected, rtol=1e-5)

    def test_hypotheses_are_sorted_and_distinct(self):
        language = TreeLanguage(4, 6)
        found, scores = language.search(range(4), 6, 6)
        assert np.all(np.diff(scores, axis=1) <= 0)
        assert all(len(set(h)) == len(h) == 6 for h in found)

    def test_each_sentence_keeps_to_its_own_limit(self):
        language = TreeLanguage(3, 5, end=-3.0)
        limits = [1, 3, 5, 2]
        found, _ = language.search(range(4), 3**5, limits)
        for sentence, limit in enumerate(limits):
            expected = language.enumerate(sentence, limit)
            assert found[sentence] == [h for _, h in expected]

    def test_at_the_limit_the_end_counts_with_its_probability(self):
        language = TreeLanguage(5, 4, end=-30.0)
        found, scores = language.search(range(4), 2, 4)
        for sentence in range(4):
            assert [len(h) for h in found[sentence]] == [4, 4]
            expected = [language.score(sentence, h) for h in found[sentence]]
            np.testing.assert_allclose(scores[sentence], expected, rtol=1e-5)

    def test_the_other_sentences_of_a_batch_do_not_matter(self):
        language = TreeLanguage(5, 5)
        limits = [5, 2, 4, 3]
        together, scores = language.search([0, 1, 2, 3], 3, limits)
        for sentence, limit in enumerate(limits):
            alone, score = language.search([sentence], 3, limit)
            assert alone[0] == together[sentence]
            np.testing.assert_array_equal(score[0], scores[sentence])

    @pytest.mark.parametrize("seed", range(4))
    def test_stopping_early_never_loses_a_better_hypothesis(self, seed):
        language = TreeLanguage(3, 6, seed=seed, end=3.0)
        for number in (1, 2, 5):
            found, _ = language.search(range(4), 3**5, 6, num_hypotheses=number)
            for sentence in range(4):
                expected = language.enumerate(sentence, 6)[:number]
                assert found[sentence] == [h for _, h in expected]

    def test_fewer_hypotheses_are_the_first_of_more(self):
        language = TreeLanguage(5, 5, num_sentences=8)
        more, _ = language.search(range(8), 4, 5)
        fewer, _ = language.search(range(8), 4, 5, num_hypotheses=2)
        assert fewer == [h[:2] for h in more]

    @pytest.mark.parametrize("min_length", [1, 3, 9])
    def test_no_shorter_hypothesis_than_the_least(self, min_length):
        language = TreeLanguage(3, 5, end=1.0)
        limits = [5, 3, 1, 4]
        found, scores = language.search(
            range(4), 3**5, limits, min_length=min_length
        )
        for sentence, limit in enumerate(limits):
            least = min(min_length, limit - 1)
            expected = [
                (score, h)
                for score, h in language.enumerate(sentence, limit)
                if len(h) - 1 >= least
            ]
            assert found[sentence] == [h for _, h in expected]
            np.testing.assert_allclose(
                scores[sentence, : len(expected)],
                [score for score, _ in expected],
                rtol=1e-5,
            )

    def test_hypotheses_begin_with_their_prefixes(self):
        language = TreeLanguage(4, 5)
        prefixes = [(2,), (), (3, 2), (0, 0)]
        padded = np.array([(*p, 0, 0)[:2] for p in prefixes], "int32")
        found, scores = language.search(range(4), 4**5, 5, prefixes=padded)
        for sentence, prefix in enumerate(prefixes[:3]):
            expected = [
                (score, h)
                for score, h in language.enumerate(sentence, 5)
                if h[: len(prefix)] == prefix
            ]
            assert found[sentence] == [h for _, h in expected]
            np.testing.assert_allclose(
                scores[sentence, : len(expected)],
                [score for score, _ in expected],
                rtol=1e-5,
            )
        free, _ = language.search(range(4), 4**5, 5)
        assert found[3] == free[3]

    @pytest.mark.parametrize("sampler", [None, "first"])
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.skipif(not TENSORFLOW, reason="loops of fixed shapes")
    def test_shrinking_changes_no_result(self, seed, sampler):
        language = TreeLanguage(4, 7, num_sentences=9, seed=seed, end=1.0)
        limits = [7, 1, 3, 7, 5, 7, 2, 7, 6]
        options = {"num_hypotheses": 2}
        if sampler:
            options["sampler"] = cycling_sampler
        expected, scores = language.search(range(9), 2, limits, **options)
        language.batches.clear()
        found, same = language.search(
            range(9), 2, limits, shrinking=True, **options
        )
        assert found == expected
        np.testing.assert_allclose(same, scores, rtol=1e-6)
        assert language.batches[0] == 9
        assert 1 < len(set(language.batches))
        assert language.batches == sorted(language.batches, reverse=True)

    def test_a_sampler_decides_alone(self):
        language = TreeLanguage(4, 5, num_sentences=6)
        found, scores = language.search(range(6), 3, 5, sampler=cycling_sampler)
        for sentence in range(6):
            words = [(sentence + position) % 4 for position in range(4)]
            words = [*words, END][: [*words, END].index(END) + 1]
            assert found[sentence] == [tuple(words)] * 3
            np.testing.assert_allclose(
                scores[sentence],
                [language.score(sentence, tuple(words))] * 3,
                rtol=1e-5,
            )

    def test_sequences_end_in_the_end_id_and_are_padded_with_zeros(self):
        language = TreeLanguage(4, 5)
        sequences, _ = beam_search(
            language.step,
            language.state(range(4), 3, 5),
            3,
            ops.convert_to_tensor([5, 2, 4, 3], dtype="int32"),
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
    @pytest.mark.parametrize("batch", [None, 4])
    def test_the_compiled_search_equals_the_eager_one(self, batch):
        import tensorflow as tf

        language = TreeLanguage(5, 5)
        limits = [5, 3, 4, 2]
        expected, expected_scores = language.search(range(4), 3, limits)

        @tf.function(input_signature=[tf.TensorSpec([batch], tf.int32)] * 2)
        def search(sentences, limits):
            state = language.state(sentences, 3, None if batch is None else 5)
            return beam_search(language.step, state, 3, limits)

        found, scores = language.to_tuples(*search(range(4), limits))
        assert found == expected
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-6)

    @pytest.mark.skipif(TENSORFLOW, reason="jax.jit")
    def test_the_search_runs_under_jit(self):
        import jax

        language = TreeLanguage(5, 5)
        limits = np.array([5, 3, 4, 2], "int32")
        expected, _ = language.search(range(4), 3, limits)

        @jax.jit
        def search(sentences, limits):
            state = language.state(sentences, 3, 5)
            return beam_search(language.step, state, 3, limits)

        found, _ = language.to_tuples(*search(np.arange(4), limits))
        assert found == expected
