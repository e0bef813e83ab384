"""The functions of the views, on models that need no training."""

import math

import numpy as np
import pytest
from attention_examples import Page
from attention_examples import decoded
from layer_checks import to_numpy
from studio_runs import path_of_ids

from keras_transformer.errors import UserError
from keras_transformer.layers.attention import MASKED_SCORE
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree import walk
from keras_transformer.studio import attention_view
from keras_transformer.studio import explanation_view
from keras_transformer.studio import search_view
from keras_transformer.studio import training_view
from keras_transformer.studio import tree_view
from keras_transformer.studio.models import MAX_TOKENS
from keras_transformer.studio.models import Studio

TEXT = "a b c d e"
LONG = "a b " * MAX_TOKENS


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

    def test_a_long_curve_ends_with_its_newest_point(self):
        rows = [{"step": str(n), "train_loss": "1"} for n in range(1, 1000)]
        points = training_view._read_curves(rows)["train_loss"]
        assert training_view.MAX_POINTS / 2 < len(points)
        assert len(points) <= training_view.MAX_POINTS
        assert points[-1] == [999, 1.0]

    def test_runs_are_described_before_a_model_is_open(
        self, translation_runs, parsing_run
    ):
        studio = Studio([*translation_runs, parsing_run])
        runs = training_view.describe_runs(studio)["runs"]
        assert [run["parses"] for run in runs] == [False, False, True]
        assert [run["steps"] for run in runs] == 3 * [[7]]
        assert not any(run["is_open"] for run in runs)
