"""Reranking by a reverse model against enumeration."""

import numpy as np
import pytest
from enumeration import SEQUENCES
from enumeration import VOCAB_SIZE
from enumeration import make_tiny_models
from enumeration import padded_sequences
from layer_checks import to_numpy
from small_translators import HPARAMS
from small_translators import make_translator
from small_translators import make_tree_vocabulary
from small_translators import rerank_translator

from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.translator import Translator
from keras_transformer.token_ids import END_ID as END

PIECES = ["<pad>", "</s>", "<unk>", "one", "two", "ten"]
ALL = len(SEQUENCES)


class WordVocabulary:
    """The three words of the tiny models."""

    vocab_size = VOCAB_SIZE
    language_codes = ()
    has_capitals = False
    has_words = True

    def encode(self, texts):
        return [[*map(PIECES.index, text.split()), END] for text in texts]

    def decode(self, rows):
        return [" ".join(PIECES[id_] for id_ in ids if id_ > 2) for ids in rows]

    def pieces(self, ids):
        return [PIECES[id_] for id_ in ids]

    def all_pieces(self):
        return PIECES


def tiny_translators():
    """Returns a translator of each tiny model, one for each direction."""
    return [
        Translator(KerasEngine(model, WordVocabulary(), HPARAMS))
        for model in make_tiny_models()
    ]


def scores_by_numpy(model, inputs, targets, alpha):
    """Returns the score of each pair, float64 of shape `(ALL,)`."""
    features = {"inputs": inputs, "targets": targets}
    logits = to_numpy(model(features)).astype("float64")
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    chosen = np.take_along_axis(log_probs, targets[:, :, None], -1)[:, :, 0]
    lengths = (targets > 0).sum(axis=-1)
    return (chosen * (targets > 0)).sum(axis=-1) / ((5 + lengths) / 6) ** alpha


class EnumerationTest:
    def test_a_wide_beam_finds_the_best_of_all_outputs(self):
        weight, alpha = 0.3, 0.8
        forward, reverse = tiny_translators()
        text, source = "one ten", np.array([[3, 5, END]], "int32")
        (hypotheses,) = rerank_translator(forward, reverse, weight).hypotheses(
            [text],
            beam_size=ALL,
            num_hypotheses=ALL,
            extra_length=1,
            alpha=alpha,
        )
        sources, outputs = np.repeat(source, ALL, axis=0), padded_sequences()
        scores = scores_by_numpy(forward.engine.model, sources, outputs, alpha)
        scores += weight * scores_by_numpy(
            reverse.engine.model, outputs, sources, alpha
        )
        expected = np.argsort(-scores)
        assert [tuple(one.ids) for one in hypotheses] == [
            SEQUENCES[row] for row in expected
        ]
        np.testing.assert_allclose(
            [one.score for one in hypotheses], scores[expected], rtol=1e-4
        )


class RerankerTest:
    @pytest.fixture(scope="class")
    def translators(self):
        return tiny_translators()

    @pytest.mark.slow
    def test_without_weight_the_order_stays(self, translators):
        texts = ["one ten", "", "two two one", "ten"]
        options = {"num_hypotheses": 3, "beam_size": 3, "return_scores": True}
        found, scores = rerank_translator(*translators, weight=0.0)(
            texts, **options
        )
        expected, same = translators[0](texts, **options)
        assert found == expected
        for each, theirs in zip(scores, same):
            np.testing.assert_allclose(each, theirs, atol=1e-5)

    def test_the_best_of_the_beam_is_returned(self, translators):
        reranker = rerank_translator(*translators, weight=2.0)
        texts = ["one ten", "", "two two one", "ten"]
        options = {"beam_size": 6, "return_scores": True}
        several, scores = reranker(texts, num_hypotheses=6, **options)
        best, best_scores = reranker(texts, **options)
        assert best == [each[0] for each in several]
        assert best[1] == "" and best_scores[1] == 0.0
        before = translators[0](texts, num_hypotheses=6)
        assert several != before
        assert list(map(sorted, several)) == list(map(sorted, before))
        for text, each, theirs in zip(texts, several, scores):
            assert theirs == sorted(theirs, reverse=True)
            found = reranker.score([text] * len(each), each)
            np.testing.assert_allclose(found, theirs, atol=1e-4)

    def test_what_is_too_long_for_the_reverse_model_is_left_out(
        self, translators
    ):
        forward, reverse = translators
        limited = Translator(reverse.engine)
        texts = ["one ten", "", "two two one"]
        options = {"beam_size": 6, "num_hypotheses": 6, "return_scores": True}
        every, every_scores = rerank_translator(forward, reverse)(
            texts, **options
        )
        for limited.max_tokens in (2, 3):
            found, scores = rerank_translator(forward, limited)(
                texts, **options
            )
            for row in (0, 2):
                expected = [
                    (text, pytest.approx(score, rel=1e-5))
                    for text, score in zip(every[row], every_scores[row])
                    if len(text.split()) < limited.max_tokens
                ]
                assert 0 < len(expected) < 6
                assert list(zip(found[row], scores[row])) == expected
        limited.max_tokens = 0
        found = rerank_translator(forward, limited)(texts, **options)
        assert found == forward(texts, **options)

    @pytest.mark.slow
    def test_all_samples_are_reordered(self, translators):
        reranker = rerank_translator(*translators)
        options = {"temperature": 1.0, "num_hypotheses": 5, "seed": 1}
        (drawn,) = translators[0](["one ten"], **options)
        (ordered,) = reranker(["one ten"], **options)
        assert sorted(ordered) == sorted(drawn)

    def test_what_cannot_be_reordered_is_refused(self, translators, tmp_path):
        trees = make_tree_vocabulary(tmp_path / "trees")
        parser = make_translator(trees)
        for pair in ((parser, translators[0]), (translators[0], parser)):
            with pytest.raises(ValueError, match="one that parses"):
                rerank_translator(*pair)
        reranker = rerank_translator(*translators)
        with pytest.raises(ValueError, match="mbr_samples=4. Use temperature"):
            reranker(["one"], mbr_samples=4)
        with pytest.raises(ValueError, match="one str, 'one'"):
            reranker("one")

    def test_the_vocabularies_may_differ(self, translator, tmp_path):
        reverse = make_translator(make_tree_vocabulary(tmp_path / "reverse"))
        reverse.linearization = None  # its symbols count as text
        reranker = rerank_translator(translator, reverse)
        texts = ["a dog runs", "two women"]
        assert len(reranker.score(texts, texts[::-1])) == 2
