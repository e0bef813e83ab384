"""A chart reads constituents from the encoder of a parser."""

import dataclasses
import math

import numpy as np
import pytest
from layer_checks import to_numpy
from small_translators import HPARAMS
from small_translators import make_run
from small_translators import make_tree_vocabulary

from keras_transformer.decoding import load
from keras_transformer.decoding.parser import Parser
from keras_transformer.parsing import chart as chart_module
from keras_transformer.parsing.chart import SMALLEST
from keras_transformer.parsing.chart import Chart
from keras_transformer.parsing.consensus import LabelledSpan
from keras_transformer.parsing.consensus import find_consensus
from keras_transformer.parsing.span_targets import find_labels
from keras_transformer.parsing.tokenizer import tokenize
from keras_transformer.parsing.tree import find_spans
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.runs.model import load_model
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.token_ids import WORD_START

WITH_SPANS = dataclasses.replace(HPARAMS, span_labels=5)
SENTENCES = ["a dog runs over the street".split(), [], ["dogs"], ["two"] * 20]
SENTENCES += [["a"] * length for length in [*range(1, 20)] * 2]  # two batches
TEXTS = ["a dog runs over the street .", "", "two women , dogs"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs whose spans have probabilities of all sizes."""
    folder = tmp_path_factory.mktemp("parsers")
    vocabulary = make_tree_vocabulary(folder / "vocabulary", "lexicalised")
    runs = []
    for seed in (1, 2):
        run = make_run(folder / str(seed), vocabulary, WITH_SPANS)
        step = run.checkpoints.find()
        arrays = dict(run.checkpoints.load(step))
        generator = np.random.default_rng(seed)
        for name in ("labels", "labels_bias"):
            shape = arrays[f"model/spans/{name}"].shape
            arrays[f"model/spans/{name}"] = 0.5 * generator.normal(
                size=shape
            ).astype("float32")
        run.checkpoints.save(step, arrays)
        runs.append(RunDirectory(run.path))
    return runs


@pytest.fixture(scope="module")
def charts(runs):
    vocabularies = runs[0].vocabularies
    return [Chart([load_model(run)], vocabularies) for run in runs]


class ChartTest:
    def test_it_has_the_probabilities_of_spans_of_words(self, runs, charts):
        vocabulary, model = runs[0].source_vocabulary, charts[0].models[0]
        labels = find_labels(vocabulary)
        words = SENTENCES[0]
        (ids,) = vocabulary.encode([" ".join(words)])
        logits = to_numpy(model.spans(model.encode(np.array([ids]))[0]))[0]
        shares = 1 / (1 + np.exp(-logits))
        pieces = vocabulary.pieces(ids[:-1])
        starts = [i for i, p in enumerate(pieces) if p[0] == WORD_START]
        ends = [*starts[1:], len(pieces)]
        (chart,) = charts[0]([words])
        found = {span[:3]: span.share for span in chart}
        for first in range(len(words)):
            for end in range(first + 1, len(words) + 1):
                for number, label in enumerate(labels):
                    share = shares[starts[first], ends[end - 1] - 1, number]
                    kept = label != "TOP" and share > SMALLEST
                    expected = share if kept else 0.0
                    assert found.pop((label, first, end), 0.0) == pytest.approx(
                        expected, abs=1e-5
                    )
        assert not found

    def test_each_sentence_has_the_chart_that_it_has_alone(self, charts):
        chart = charts[0]
        found = chart(SENTENCES)
        assert list(map(bool, found)) == list(map(bool, SENTENCES))
        for words, spans in zip(SENTENCES, found):
            (alone,) = chart([words])
            assert [span[:3] for span in spans] == [span[:3] for span in alone]
            np.testing.assert_allclose(
                [span.share for span in spans],
                [span.share for span in alone],
                atol=1e-5,
            )

    def test_a_sentence_too_long_for_the_memory_has_none(
        self, charts, monkeypatch
    ):
        monkeypatch.setattr(chart_module, "MAX_CELLS", 20 * 20)
        monkeypatch.setattr(chart_module, "MAX_TOKENS", 30)
        # A word "a" is one token, and the end is another.
        sentences = [["a"] * length for length in (30, 3, 29, 50, 28)]
        found = charts[0](sentences)
        assert list(map(bool, found)) == [False, True, True, False, True]

    def test_several_models_have_the_mean(self, runs, charts):
        models = [chart.models[0] for chart in charts]
        (joined,) = Chart(models, runs[0].vocabularies)([SENTENCES[0]])
        one, other = (
            {span[:3]: span.share for span in chart([SENTENCES[0]])[0]}
            for chart in charts
        )
        assert one != other
        for span in joined:
            if span[:3] in one and span[:3] in other:
                mean = (one[span[:3]] + other[span[:3]]) / 2
                assert span.share == pytest.approx(mean, abs=1e-5)


class ParserTest:
    @pytest.mark.parametrize("beam_size", [1, 4])
    def test_the_tree_is_the_consensus_of_beam_and_chart(self, runs, beam_size):
        parser = load(runs[0].path, tokenized=True)
        options = {"beam_size": beam_size, "alpha": 0.7}
        beams = list(
            parser.hypotheses(
                TEXTS, num_hypotheses=max(2, beam_size), **options
            )
            if beam_size > 1
            else without_chart(runs[0]).hypotheses(TEXTS, **options)
        )
        found = list(parser.hypotheses(TEXTS, **options))
        charts = parser.chart([text.split() for text in TEXTS])
        for text, each, (tree,), chart in zip(TEXTS, beams, found, charts):
            if not text:
                assert tree.text == ""
                continue
            assert len(each) == beam_size
            weights = [
                math.exp(one.score * ((5 + len(one.ids)) / 6) ** 0.7)
                for one in each
            ]
            trees = [parse_tree(one.text) for one in each]
            assert tree.text == str(find_consensus(trees, weights, chart))
            assert 0 <= tree.score <= 100

    @pytest.mark.parametrize(
        "options",
        [
            {"beam_size": 4},
            pytest.param({"mbr_samples": 4}, marks=pytest.mark.slow),
        ],
    )
    def test_lines_of_punctuation_have_trees(self, runs, options):
        texts = ["?", "a dog", "...", "! !", "", ", .", "two women"]
        trees = load(runs[0].path)(texts, **options)
        words = [parse_tree(tree).words() if tree else [] for tree in trees]
        assert words == list(map(tokenize, texts))

    def test_a_no_break_space_separates_no_tokens(self, runs):
        parser = load(runs[0].path, tokenized=True)
        (tree,) = parser(["10\u00a0000 dogs\u3000 run\t."])
        assert parse_tree(tree).words() == ["10_000", "dogs", "run", "."]

    @pytest.mark.parametrize(
        "options",
        [
            {"beam_size": 3},
            pytest.param({"mbr_samples": 3}, marks=pytest.mark.slow),
        ],
    )
    def test_all_joined_outputs_are_counted(self, runs, options):
        parser = load(runs[0].path, tokenized=True)
        parser(TEXTS, constrained=False, **options)
        assert parser.trees.num_outputs == 3 * sum(map(bool, TEXTS))
        assert parser.trees.num_malformed <= parser.trees.num_outputs

    def test_a_chart_can_change_the_tree(self, runs):
        with_chart = load(runs[0].path, tokenized=True)(TEXTS)
        assert with_chart != without_chart(runs[0])(TEXTS)

    @pytest.mark.slow
    def test_several_trees_and_samples_are_those_of_the_decoder(self, runs):
        parser = load(runs[0].path, tokenized=True)
        alone = without_chart(runs[0])
        for options in ({"num_hypotheses": 3}, {"temperature": 1.0}):
            options = {"beam_size": 4, **options}
            assert parser(TEXTS, **options) == alone(TEXTS, **options)

    @pytest.mark.slow
    def test_samples_are_joined_with_the_chart(self, runs):
        parser = load(runs[0].path, tokenized=True)
        sure = [
            LabelledSpan("NP", first, first + 2, 1.0)
            for first in range(0, 6, 2)
        ]
        parser.chart = lambda sentences: [
            sure if len(words) == 7 else [] for words in sentences
        ]
        tree, *_ = parser(TEXTS[:1], mbr_samples=8, seed=3)
        alone, *_ = without_chart(runs[0])(TEXTS[:1], mbr_samples=8, seed=3)
        assert tree != alone
        spans = list(find_spans(parse_tree(tree)))
        assert any(("NP", span.first, span.end) in spans for span in sure)

    def test_an_ensemble_has_the_charts_of_its_runs(self, runs):
        paths = [run.path for run in runs]
        parser = Parser.load(paths, tokenized=True)
        assert len(parser.chart.models) == 2
        assert all(parser(TEXTS[::2]))

    def test_a_run_without_spans_has_no_chart(self, runs, tmp_path):
        run = make_run(tmp_path / "run", runs[0].vocabulary)
        assert load(run.path).chart is None


def without_chart(run):
    parser = load(run.path, tokenized=True)
    parser.chart = None
    return parser
