"""The view of kt-studio that translates, on models that need no training."""

import math

import pytest

from keras_transformer import registry
from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.errors import UserError
from keras_transformer.studio import attention_view
from keras_transformer.studio import explanation_view
from keras_transformer.studio import search_view
from keras_transformer.studio import training_view
from keras_transformer.studio import translation_view
from keras_transformer.studio.models import MAX_TOKENS
from keras_transformer.studio.models import Studio

TEXT = "a b c d e"
LONG = "a b " * MAX_TOKENS


class TranslationTest:
    def test_hypotheses_are_those_of_a_translator(self, studio):
        results = translation_view.translate(studio, TEXT, num_hypotheses=3)
        ((expected, scores),) = zip(
            *studio.get_model().exact(
                [TEXT], num_hypotheses=3, return_scores=True
            )
        )
        # Of equal texts the first one is the best.
        best = dict(zip(expected[::-1], scores[::-1]))
        found = {one["text"]: one["score"] for one in results["hypotheses"]}
        assert found == pytest.approx(best, rel=1e-4)

    def test_a_correction_is_the_next_translation(
        self, translation_runs, tmp_path
    ):
        memory = TranslationMemory(tmp_path / "memory")
        studio = Studio(translation_runs[:1], memory=memory)
        (run,) = training_view.describe_runs(studio)["runs"]
        assert run["has_memory"]
        translation_view.correct(studio, f" {TEXT}\n", "better  text ")
        first, *others = translation_view.translate(studio, TEXT)["hypotheses"]
        assert first == {"text": "better text", "score": None}
        assert all(one["score"] < 0 for one in others)
        assert memory.find(TEXT).origin == "kt-studio"

    def test_pairs_that_may_explain_a_translation_are_found(
        self, translation_runs, parsing_run, tmp_path
    ):
        memory = TranslationMemory(tmp_path / "memory")
        memory.remember(TEXT, "better text")
        studio = Studio([translation_runs[0], parsing_run], memory=memory)
        find = translation_view.find_origins
        first, *others = find(studio, TEXT, "d c b a")["pairs"]
        assert first == {
            "source": TEXT,
            "target": "better text",
            "is_correction": True,
        }
        assert len(others) == 4
        for each in others:
            assert each["source"] == each["target"][::-1]
            assert not each["is_correction"]
        with pytest.raises(UserError, match="must be on this machine"):
            find(studio, TEXT, "d c b a", run=1)

    def test_without_a_memory_no_correction_is_kept(
        self, translation_runs, parsing_run, tmp_path, studio
    ):
        with pytest.raises(UserError, match="--memory"):
            translation_view.correct(studio, TEXT, "better text")
        memory = TranslationMemory(tmp_path / "memory")
        both = Studio([translation_runs[0], parsing_run], memory=memory)
        with pytest.raises(UserError, match="--memory"):
            translation_view.correct(both, TEXT, "better text", run=1)

    def test_a_prefix_begins_every_hypothesis(self, studio):
        results = translation_view.translate(studio, TEXT, " x  y ")
        assert results["hypotheses"]
        for one in results["hypotheses"]:
            assert one["text"].startswith("x y")

    def test_words_are_rated_as_the_translation_is(self, studio):
        translation = "a b, c"
        results = translation_view.rate_words(studio, TEXT, "a  b,\u00a0c")
        words = results["words"]
        assert results["text"] == translation
        found = [translation[word["start"] : word["stop"]] for word in words]
        assert found == ["a", "b", ",", "c"]
        (score,) = studio.get_model().exact.score([TEXT], [translation], 0)
        total = sum(word["log_prob"] for word in words)
        assert math.isclose(total, score, rel_tol=1e-4)

    def test_a_text_is_divided_into_sentences(self, studio):
        pytest.importorskip("sentencex")
        text = " A  dog. Two cats.\n\nOne\n"
        parts = translation_view.divide(studio, text)["parts"]
        assert parts[1::2] == ["A dog.", "Two cats.", "One"]
        assert "".join(parts[4:]) == "\n\nOne"

    def test_equal_hypotheses_are_one(self, studio, monkeypatch):
        pair = [Hypothesis("a b", -1.0, [4]), Hypothesis("a b", -2.0, [5])]
        fast = studio.get_model().fast
        monkeypatch.setattr(fast, "hypotheses", lambda *_, **__: [pair])
        found = translation_view.translate(studio, TEXT)
        assert found == {"hypotheses": [{"text": "a b", "score": -1.0}]}

    def test_examples_are_sentences_of_dev(self, studio):
        found = translation_view.list_examples(studio)["sentences"]
        problem = registry.get_problem(
            "reverse", studio.runs[0].record["data_dir"]
        )
        assert len(found) == 3
        assert set(found) <= set(problem.text_split("dev")[0])

    def test_too_many_sentences_are_refused(self, studio):
        with pytest.raises(UserError, match="at most 100 sentences"):
            translation_view.divide(studio, "a\n" * 101)

    @pytest.mark.parametrize("prefix", ["", "x", "x y"])
    def test_other_words_follow_the_prefix(self, studio, prefix):
        found = translation_view.find_alternatives(studio, TEXT, prefix)
        found = found["alternatives"]
        assert found
        for one in found:
            assert one["text"].startswith(prefix)
            assert one["text"][one["start"] :].startswith(one["word"])
        assert len({one["word"] for one in found}) == len(found)
        probabilities = [one["probability"] for one in found]
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) <= 1

    def test_a_blank_text_has_nothing(self, studio):
        for text in ("", " \n\t "):
            assert translation_view.translate(studio, text) == {
                "hypotheses": []
            }
            assert translation_view.rate_words(studio, text, "a") == {
                "words": []
            }
            assert search_view.search(studio, text) == {"steps": []}
            assert attention_view.show_attention(studio, text)["frame"] is None
            assert explanation_view.explain_head(studio, text)["tokens"] == []

    @pytest.mark.parametrize("text", ["\U0001f600", "\u2581", "\ufeff"])
    def test_a_text_without_tokens_is_like_a_blank_one(
        self, studio, parsing_studio, text
    ):
        assert translation_view.find_alternatives(studio, text) == {
            "alternatives": []
        }
        assert translation_view.translate(studio, text)["hypotheses"]
        # A parser reads an emoji as a word.
        others = [parsing_studio] if text != "\U0001f600" else []
        for each in (studio, *others):
            assert search_view.search(each, text) == {"steps": []}
            assert explanation_view.explain_head(each, text) == {"tokens": []}
            frame = attention_view.show_attention(each, text)["frame"]
            assert frame is None

    def test_a_parser_has_no_other_words(self, parsing_studio):
        with pytest.raises(UserError, match="one that translates"):
            translation_view.find_alternatives(parsing_studio, "a dog")

    @pytest.mark.parametrize(
        "function",
        [
            translation_view.translate,
            translation_view.find_alternatives,
            search_view.search,
            attention_view.show_attention,
            explanation_view.explain_head,
        ],
    )
    def test_a_long_text_is_refused(self, studio, function):
        with pytest.raises(UserError, match="at most 512 tokens"):
            function(studio, LONG)
