"""Options of a translator: n-best lists, samples, scores, prefixes."""

import dataclasses
import typing

import keras
import numpy as np
import pytest
from keras import ops
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import CopyingModel
from small_translators import make_translator

from keras_transformer.decoding import preparation as windows
from keras_transformer.decoding.engines import batching
from keras_transformer.search.beam_search import beam_search
from keras_transformer.search.beams import gather_beams
from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.hypotheses import score_targets
from keras_transformer.search.options import DecodeOptions

TENSORFLOW = keras.backend.backend() == "tensorflow"
SIZES = [0, pytest.param(4, marks=pytest.mark.slow)]  # of neighbourhoods


class OptionsTest:
    @pytest.mark.slow
    def test_scores_and_hypotheses_have_the_same_form(self, translator):
        texts = ["two women run", "", "a book"]
        assert translator(texts, num_hypotheses=1) == [
            [text] for text in translator(texts)
        ]
        translations, scores = translator(
            texts, num_hypotheses=3, return_scores=True
        )
        assert [len(each) for each in translations] == [3, 1, 3]
        assert [len(each) for each in scores] == [3, 1, 3]
        assert translations[1] == [""] and scores[1] == [0.0]
        for each in (scores[0], scores[2]):
            assert each == sorted(each, reverse=True)
            assert each[0] < 0.0
        best, best_scores = translator(texts, return_scores=True)
        assert best == [each[0] for each in translations]
        np.testing.assert_allclose(
            best_scores, [each[0] for each in scores], atol=1e-5
        )

    def test_a_beam_grows_to_the_requested_hypotheses(self, translator):
        (translations,) = translator(["a dog runs"], num_hypotheses=6)
        assert len(translations) == 6
        with pytest.raises(ValueError, match="num_hypotheses=6, beam_size=2"):
            translator(["a dog runs"], num_hypotheses=6, beam_size=2)

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"beam": 3}, "options='beam'. Did you mean: beam_size"),
            ({"prefixes": "the man"}, "one str, 'the man'. Put it into"),
        ],
    )
    def test_wrong_arguments_are_explained(self, translator, options, message):
        with pytest.raises(ValueError, match=message):
            translator(["a dog"], **options)
        with pytest.raises(ValueError, match="one str, 'a book'"):
            translator.score(["a"] * 6, "a book")
        with pytest.raises(ValueError, match="text 2 is None"):
            translator(["a dog", None])

    @pytest.mark.parametrize(
        "alpha", [pytest.param(0.0, marks=pytest.mark.slow), 0.6]
    )
    def test_scoring_gives_the_scores_of_the_search(self, translator, alpha):
        sources = translator.codec.vocabulary.encode(
            [text for text in TEXTS if text.strip()]
        )
        results = translator.translate_ids(
            sources, beam_size=4, num_hypotheses=4, alpha=alpha
        )
        pairs = [
            (source, hypothesis)
            for source, hypotheses in zip(sources, results)
            for hypothesis in hypotheses
        ]
        scores = translator.score_ids(
            [source for source, _ in pairs],
            [hypothesis.ids for _, hypothesis in pairs],
            alpha,
        )
        expected = [hypothesis.score for _, hypothesis in pairs]
        np.testing.assert_allclose(scores, expected, atol=1e-4)
        assert len({round(score, 3) for score in scores}) > 10

    def test_texts_are_scored_in_their_order(self, translator, monkeypatch):
        texts = ["a dog runs", "", "two women on the street", "a book"]
        scores = translator.score(texts, texts[::-1])
        assert scores[1] == 0.0
        monkeypatch.setattr(batching, "CACHE_POSITIONS", 2)
        alone = translator.score(texts, texts[::-1])
        np.testing.assert_allclose(alone, scores, atol=1e-5)
        with pytest.raises(ValueError, match="3 translations of 4 texts"):
            translator.score(texts, texts[:3])

    def test_samples_depend_on_the_seed_and_on_nothing_else(
        self, translator, monkeypatch
    ):
        texts = [text for text in TEXTS if text.strip()]
        options = {"temperature": 1.0, "num_hypotheses": 3}
        first = translator(texts, seed=1, **options)
        assert first != translator(texts, seed=2, **options)
        assert len({text for each in first for text in each}) > 5
        monkeypatch.setattr(batching, "CACHE_POSITIONS", 1)
        assert translator(texts, seed=1, **options) == first

    @pytest.mark.slow
    def test_samples_are_the_same_from_a_later_start(
        self, translator, monkeypatch
    ):
        monkeypatch.setattr(windows, "WINDOW", 2)
        texts = ["a dog runs", "", "two women", "a book", "a dog runs"]
        options = {"temperature": 2.0, "num_hypotheses": 3, "seed": 1}
        whole = list(translator.hypotheses(texts, **options))
        for start in (2, 4):
            rest = translator.hypotheses(texts[start:], start=start, **options)
            assert list(rest) == whole[start:]

    @pytest.mark.slow
    def test_samples_among_one_token_are_greedy(self, translator):
        texts = [text for text in TEXTS if text.strip()]
        greedy = translator(texts, beam_size=1)
        assert translator(texts, temperature=0.5, top_k=1) == greedy
        assert translator(texts, temperature=0.5, top_p=1e-6) == greedy

    def test_translations_begin_with_their_prefixes(self, translator):
        texts = ["a dog runs", "", "two women", "a book"]
        prefixes = ["the man", "", "", "dogs and women on the street"]
        translations = translator(texts, prefixes=prefixes)
        for text, prefix in zip(translations, prefixes):
            assert text.startswith(prefix)
        assert translations[2] == translator(texts)[2]
        assert translations[0] != translator(texts)[0]
        with pytest.raises(ValueError, match="none for text 3"):
            translator(texts, prefixes=prefixes[:2])

    def test_no_translation_is_shorter_than_the_minimum(self, translator):
        sources = translator.codec.vocabulary.encode(
            ["a dog runs", "two women"]
        )
        for least in (0, 4):
            translated = translator.translate_ids(sources, min_length=least)
            assert all(len(best.ids) > least for best, *_ in translated)

    def test_attention_is_that_of_the_translation(self, translator):
        texts = ["two women run", "a dog"]
        translations, attention = translator(texts, return_attention=True)
        assert translations == translator(texts)
        for text, best, one in zip(texts, translations, attention):
            (ids,) = translator.codec.vocabulary.encode([text])
            assert one.source_tokens[:-1] == translator.codec.vocabulary.pieces(
                ids[:-1]
            )
            assert one.cross.shape[-1] == len(ids)
            assert one.cross.shape[-2] == len(one.target_tokens)

    def test_an_overlong_text_is_an_error_with_its_number(self, translator):
        texts = ["a dog", "a book " * 50_000]
        with pytest.raises(ValueError, match="at most 4,096.*sentence 2 with"):
            translator(texts)


class SilentModel(CopyingModel):
    """Prefers padding, then the unknown id, then word 5, to all others."""

    preferences = np.array([9.0, 1.0, 8.0, 0.0, 0.0, 5.0], "float32")

    def decode_step(self, ids, position, cache, num_ids=None):
        nothing = 0.0 * ops.cast(ids, "float32")[..., None]
        return self.preferences + nothing, cache

    def decode(self, features):
        return ops.zeros((*features["targets"].shape, 1))

    def logits(self, states):
        return self.preferences + 0.0 * states


class SilentIdsTest:
    """Ids 0 and 2 stand for no text."""

    @pytest.mark.parametrize(
        "options",
        [
            {"beam_size": 1},
            {"beam_size": 3, "num_hypotheses": 3},
            {"beam_size": 2, "min_length": 3},
            {"temperature": 1.0, "num_hypotheses": 4},
            {"temperature": 2.0, "top_k": 2, "num_hypotheses": 4},
            {"temperature": 1.0, "top_p": 0.9, "min_length": 2},
        ],
        ids=str,
    )
    def test_they_are_never_written_outside_a_prefix(self, options):
        model, inputs = SilentModel(6), np.array([[5, 5, 1], [5, 1, 0]])
        limits = np.array([6, 4], "int32")
        options = DecodeOptions(**options)
        prefixes = np.array([[0, 0], [2, 0]], "int32")
        sequences, scores = map(
            ops.convert_to_numpy,
            find_hypotheses(
                model,
                options,
                inputs.astype("int32"),
                limits,
                prefixes,
                seeds=np.arange(2, dtype="int32"),
                fixed_length=6,
            ),
        )
        assert np.all(np.isfinite(scores))
        for row, prefix in zip(sequences, ([], [2])):
            for ids in row.tolist():
                written = ids[: ids.index(1)]
                assert written[: len(prefix)] == prefix
                assert not {0, 2} & set(written[len(prefix) :])
                assert len(written) >= min(options.min_length, 3)
        # The probabilities are those of the model, not of the other ids.
        expected = [
            score_targets(model, inputs, sequences[:, i], options.alpha)
            for i in range(options.num_hypotheses)
        ]
        np.testing.assert_allclose(scores, np.transpose(expected), rtol=1e-5)

    def test_a_zero_before_other_ids_counts_in_a_score(self):
        targets = np.array([[5, 0, 1, 0], [5, 1, 0, 0]], "int32")
        scores = score_targets(SilentModel(6), targets, targets, alpha=0.0)
        preferences = SilentModel.preferences
        log_probs = preferences - np.log(np.sum(np.exp(preferences)))
        expected = [log_probs[[5, 0, 1]].sum(), log_probs[[5, 1]].sum()]
        np.testing.assert_allclose(scores, expected, rtol=1e-6)


class WrittenTargets(typing.NamedTuple):
    """Holds the ids of each beam in place of a cache."""

    targets: typing.Any  # (batch, beam, 9)

    def reorder(self, beams):
        return gather_beams(self, beams)


class CacheTest:
    @pytest.mark.slow
    @pytest.mark.parametrize("size", SIZES)
    def test_cached_and_uncached_search_find_the_same(self, translator, size):
        hparams = dataclasses.replace(HPARAMS, neighbourhood_size=size)
        model = make_translator(
            translator.codec.vocabulary, hparams
        ).engine.model
        generator = np.random.default_rng(0)
        vocab_size = translator.codec.vocabulary.vocab_size
        inputs = generator.integers(3, vocab_size, (4, 6), "int32")
        inputs[:, 1:] *= np.arange(5) < np.array([[5, 3, 1, 0]]).T
        limits = np.array([9, 7, 5, 4], "int32")
        options = DecodeOptions(beam_size=3, num_hypotheses=3)

        def step(ids, position, state):
            """Runs the whole decoder anew at each position."""
            before = ops.arange(9)[None, None] == position - 1
            targets = ops.where(before, ids[:, :, None], state.targets)
            logits = [
                model({"inputs": inputs, "targets": targets[:, beam]})
                for beam in range(3)
            ]
            at = ops.take(ops.stack(logits, axis=1), position, axis=2)
            return at, WrittenTargets(targets)

        expected = beam_search(
            step,
            WrittenTargets(ops.zeros((4, 3, 9), "int32")),
            beam_size=3,
            limits=limits,
            fixed_length=9,
        )
        finished = find_hypotheses(
            model, options, inputs, limits, fixed_length=9
        )
        np.testing.assert_array_equal(finished.sequences, expected.sequences)
        np.testing.assert_allclose(finished.scores, expected.scores, atol=1e-4)


@pytest.mark.skipif(not TENSORFLOW, reason="growing caches")
class FixedShapesTest:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize(
        "options",
        [pytest.param({}, marks=pytest.mark.slow), {"temperature": 1.0}],
    )
    def test_growing_and_fixed_caches_find_the_same(
        self, translator, options, size
    ):
        """Compares the search with the one that JAX runs, of fixed shapes."""
        hparams = dataclasses.replace(HPARAMS, neighbourhood_size=size)
        model = make_translator(
            translator.codec.vocabulary, hparams
        ).engine.model
        options = DecodeOptions(num_hypotheses=3, **options)
        generator = np.random.default_rng(0)
        vocab_size = translator.codec.vocabulary.vocab_size
        inputs = generator.integers(3, vocab_size, (6, 9), "int32")
        inputs[:, 1:] *= np.arange(8) < np.array([[8, 7, 3, 5, 1, 0]]).T
        limits = np.array([12, 9, 5, 3, 2, 1], "int32")
        seeds = np.arange(6, dtype="int32")
        finished = [
            find_hypotheses(
                model,
                options,
                inputs,
                limits,
                seeds=seeds,
                fixed_length=fixed_length,
            )
            for fixed_length in (None, 12)
        ]
        np.testing.assert_array_equal(
            finished[0].sequences, finished[1].sequences
        )
        np.testing.assert_allclose(
            finished[0].scores, finished[1].scores, atol=1e-5
        )
