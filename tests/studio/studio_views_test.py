"""The functions of the views, on models that need no training."""

import math

import numpy as np
import pytest
from attention_examples import Page
from attention_examples import decoded
from layer_checks import to_numpy
from studio_runs import path_of_ids

from keras_transformer import registry
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.errors import UserError
from keras_transformer.layers.attention import MASKED_SCORE
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.memory.store import TranslationMemory
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree import walk
from keras_transformer.studio import attention_view
from keras_transformer.studio import explanation_view
from keras_transformer.studio import search_view
from keras_transformer.studio import training_view
from keras_transformer.studio import translation_view
from keras_transformer.studio import tree_view
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


class SearchTest:
    @pytest.mark.parametrize(
        "beam_size,alpha",
        [
            pytest.param(1, 0.6, marks=pytest.mark.slow),
            pytest.param(2, 0.0, marks=pytest.mark.slow),
            (4, 1.5),
        ],
    )
    def test_it_is_the_search_of_a_translator(self, studio, beam_size, alpha):
        results = search_view.search(studio, TEXT, beam_size, alpha)
        translator = studio.get_model().exact
        options = {"beam_size": beam_size, "alpha": alpha}
        ((best,),) = translator.hypotheses([TEXT], **options)
        assert results["text"] == best.text
        assert math.isclose(results["score"], best.score, rel_tol=1e-4)
        assert path_of_ids(results, translator.codec.vocabulary) == best.ids

    def test_the_outcomes_follow_from_the_figures(self, studio):
        results = search_view.search(studio, TEXT, 3)
        best = -math.inf
        for number, column in enumerate(results["steps"]):
            log_probs = [one["log_prob"] for one in column]
            assert log_probs == sorted(log_probs, reverse=True)
            outcomes = [one["outcome"] for one in column]
            going_on = [o for o in outcomes if o in ("kept", "cut")]
            assert going_on[:3].count("kept") == outcomes.count("kept")
            for one in column:
                before = results["steps"][number - 1][one["parent"]]
                assert number == 0 or before["outcome"] == "kept"
                assert number == 0 or before["log_prob"] >= one["log_prob"]
                penalty = ((6 + number) / 6) ** 0.6
                assert math.isclose(one["score"], one["log_prob"] / penalty)
                if one["token"] == "(end)":
                    expected = "best" if one["score"] > best else "worse"
                    assert one["outcome"] == expected
                    best = max(best, one["score"])
        assert math.isclose(best, results["score"], rel_tol=1e-6)
        for one in results["bounds"]:
            assert one["bound"] <= best

    def test_a_parser_searches_within_its_trees(self, parsing_studio):
        results = search_view.search(parsing_studio, "a dog runs", 2)
        tokens = [one["token"] for one in results["steps"][0]]
        assert all(token.startswith("\u2581(") for token in tokens)
        path = results["path"]
        written = [
            column[place]["token"]
            for column, place in zip(results["steps"], path)
        ]
        num_pieces = sum(token == search_view.NEXT_PIECE for token in written)
        assert num_pieces >= 3

    @pytest.mark.parametrize("beam_size", [0, 11])
    def test_a_beam_that_nobody_can_follow_is_refused(self, studio, beam_size):
        with pytest.raises(UserError, match="`beam_size` must be"):
            search_view.search(studio, TEXT, beam_size)


class AttentionTest:
    def test_layers_are_sent_on_demand(self, studio):
        name = attention_view.show_attention(studio, TEXT, "x y")["frame"]
        frame = studio.get_frame(name)
        page = Page(frame.html)
        translator = studio.get_model().exact
        (attention,) = translator.engine.attend(
            translator.encode([TEXT]),
            translator.encode(["x y"], of_targets=True),
        )
        for kind in page.data["kinds"]:
            assert not kind["weights"]
            layer = np.frombuffer(frame.read_part(f"{kind['name']}/1"), "<u2")
            weights = attention.select(kind["name"])[2][0]
            np.testing.assert_allclose(
                layer.reshape(weights.shape) / 65535, weights, atol=1e-4
            )

    def test_the_saved_page_holds_all_weights(self, studio):
        page = attention_view.save_attention(studio, TEXT)["html"]
        assert "fetch(" not in page and "connect-src" not in page
        attention = studio.get_model().exact([TEXT], return_attention=True)[1]
        for kind in Page(page).data["kinds"]:
            np.testing.assert_allclose(
                decoded(attention[0], kind),
                attention[0].select(kind["name"])[2],
                atol=1e-4,
            )


def project_to_head(attention, name, vectors, head):
    """Returns one projection of the vectors, `(length, d_k)`, by NumPy."""
    projected = vectors @ to_numpy(getattr(attention, f"{name}_kernel"))
    if attention.biases:
        projected = projected + to_numpy(attention.biases[name])
    return np.split(projected, attention.num_heads, axis=-1)[head]


class ExplanationTest:
    def test_the_numbers_are_those_of_the_model(self, studio):
        results = explanation_view.explain_head(studio, TEXT, head=2)
        attention = studio.get_model().exact([TEXT], return_attention=True)[1]
        expected = attention[0].encoder[0, 1]
        assert results["is_sinusoidal"]
        assert results["tokens"] == attention[0].source_tokens
        np.testing.assert_allclose(results["weights"], expected, atol=2e-3)
        np.testing.assert_allclose(
            np.array(results["weights"]) @ results["values"],
            results["output"],
            atol=0.02,
        )

    def test_a_long_sentence_is_read_whole(self, studio):
        text = " ".join("abcdefgh" * 5)
        results = explanation_view.explain_head(studio, text)
        attention = studio.get_model().exact([text], return_attention=True)[1]
        shown = len(results["tokens"])
        assert shown < results["num_tokens"] == len(attention[0].source_tokens)
        assert len(results["queries"]) == len(results["output"]) == shown
        np.testing.assert_allclose(
            results["weights"],
            attention[0].encoder[0, 0, :shown, :shown],
            atol=2e-3,
        )

    @pytest.mark.parametrize(
        "options",
        [{}, {"neighbourhood_size": 3}, {"attention_bias": True, "d_v": 3}],
    )
    def test_one_head_is_computed_by_the_equation(self, options):
        attention = MultiHeadAttention(8, 2, **{"d_k": 4, "d_v": 4, **options})
        vectors = np.random.default_rng(0).normal(size=(6, 8))
        vectors = vectors.astype("float32")
        attention(vectors[None])
        for bias in attention.biases.values():
            bias.assign(np.arange(bias.shape[0]) / 8)
        _, layer_weights = attention(vectors[None], return_weights=True)
        distances = np.abs(np.subtract.outer(range(6), range(6)))
        visible = distances <= options.get("neighbourhood_size", 12) // 2
        for head in range(2):
            queries, keys, values = (
                project_to_head(attention, name, vectors, head)
                for name in ("query", "key", "value")
            )
            scores = queries @ keys.T / np.sqrt(4)
            weights = np.where(visible, np.exp(scores), 0)
            weights /= weights.sum(axis=-1, keepdims=True)
            expected = {
                "queries": queries,
                "keys": keys,
                "values": values,
                "scores": np.where(visible, scores, MASKED_SCORE),
                "weights": weights,
                "output": weights @ values,
            }
            found = explanation_view.compute_head(attention, vectors, head)
            assert found.keys() == expected.keys()
            for name, array in expected.items():
                np.testing.assert_allclose(found[name], array, atol=1e-5)
            np.testing.assert_allclose(
                found["weights"], to_numpy(layer_weights)[0, head], atol=1e-5
            )

    @pytest.mark.parametrize("choice", [{"layer": 2}, {"head": 0}])
    def test_a_head_that_does_not_exist_is_refused(self, studio, choice):
        with pytest.raises(UserError, match="must be from 1 to"):
            explanation_view.explain_head(studio, TEXT, **choice)

    def test_relative_positions_are_refused(self, studio, monkeypatch):
        model = studio.get_model().exact.engine.model
        attention = model.encoder.stack[0].self_attention
        monkeypatch.setattr(attention, "max_relative_position", 20)
        with pytest.raises(
            UserError, match="one with max_relative_position=20"
        ):
            explanation_view.explain_head(studio, TEXT)


class TreeTest:
    def test_a_tree_is_drawn_by_the_steps_through_it(self, parsing_studio):
        results = tree_view.parse(parsing_studio, "a dog runs")
        tree = parse_tree(results["brackets"])
        assert tree.words() == ["a", "dog", "runs"]
        assert results["steps"] == list(walk(tree))
        again = tree_view.draw_tree(parsing_studio, results["brackets"])
        assert again == results

    @pytest.mark.parametrize("brackets", ["(S", "(S (NP a)) b", ")"])
    def test_what_is_no_tree_is_refused(self, parsing_studio, brackets):
        with pytest.raises(UserError, match="brackets"):
            tree_view.draw_tree(parsing_studio, brackets)

    def test_a_translator_does_not_parse(self, studio):
        with pytest.raises(UserError, match="one that parses"):
            tree_view.parse(studio, TEXT)


class TrainingTest:
    def test_curves_are_the_complete_rows(self, studio):
        for run in training_view.show_training(studio)["runs"]:
            assert run["curves"] == {
                "train_loss": [[1, 3.0], [2, 2.0]],
                "dev_loss": [[2, 2.5]],
                "dev_bleu": [[2, 7.0]],
            }
            assert run["samples_step"] == 10
            assert run["samples"] == 2 * [["s10", "r", "t"]]

    def test_runs_are_described_before_a_model_is_open(
        self, translation_runs, parsing_run
    ):
        studio = Studio([*translation_runs, parsing_run])
        runs = training_view.describe_runs(studio)["runs"]
        assert [run["parses"] for run in runs] == [False, False, True]
        assert [run["steps"] for run in runs] == 3 * [[7]]
        assert not any(run["is_open"] for run in runs)
