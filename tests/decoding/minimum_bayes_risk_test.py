"""Minimum Bayes risk against sacreBLEU, plain loops and enumeration."""

import pathlib

import numpy as np
import pytest
from enumeration import INPUTS
from enumeration import LENGTH
from enumeration import SEQUENCES
from enumeration import make_tiny_models
from enumeration import mean_probabilities
from enumeration import search
from sacrebleu.metrics import CHRF
from small_translators import make_translator
from small_translators import make_tree_vocabulary

from keras_transformer.decoding import load
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.selection import compute_chrf
from keras_transformer.decoding.selection import sort_by_agreement
from keras_transformer.parsing.consensus import find_consensus
from keras_transformer.parsing.parseval import parseval
from keras_transformer.parsing.tree import parse_tree

TEXTS = [
    "a dog",
    "two dogs run",
    "",
    "x",
    "a dog",
    "ab  ab\tab",
    "Äpfel, läuft",
]
SENTENCES = ["a dog runs", "", "two women over the street"]
NAMES = {3: "on", 4: "one", 5: "two"}  # words of the tiny models


def chrf(text, reference):
    return CHRF().sentence_score(text, [reference]).score


def samples_of(texts):
    return [Hypothesis(text, -float(n), [n]) for n, text in enumerate(texts)]


def plain_choice(texts):
    """Returns the mean chrF of each text against the others, by loops."""
    return {
        text: np.mean([chrf(text, t) for t in texts[:i] + texts[i + 1 :]])
        for i, text in enumerate(texts)
    }


def spell(sequence):
    return " ".join(NAMES[id_] for id_ in sequence if id_ in NAMES)


class SentenceChrfTest:
    def test_scores_are_those_of_sacrebleu(self):
        expected = [[chrf(text, other) for other in TEXTS] for text in TEXTS]
        np.testing.assert_allclose(compute_chrf(TEXTS), expected, rtol=1e-12)

    def test_random_texts_score_as_with_sacrebleu(self):
        generator = np.random.default_rng(0)
        texts = [
            "".join(generator.choice(list("ab "), generator.integers(0, 30)))
            for _ in range(20)
        ]
        expected = [[chrf(text, other) for other in texts] for text in texts]
        np.testing.assert_allclose(compute_chrf(texts), expected, rtol=1e-12)


class ByAgreementTest:
    @pytest.mark.parametrize(
        "texts", [TEXTS, TEXTS[::-1], ["a b", "a b"], ["", ""], ["a", "b", "c"]]
    )
    def test_the_order_is_that_of_plain_loops(self, texts):
        expected = plain_choice(texts)
        ordered = sort_by_agreement(samples_of(texts))
        assert {one.text for one in ordered} == set(texts)
        assert len(ordered) == len(set(texts))
        scores = [one.score for one in ordered]
        np.testing.assert_allclose(
            scores, [expected[one.text] for one in ordered], atol=1e-9
        )
        assert scores == sorted(scores, reverse=True)

    def test_among_equals_the_earlier_sample_comes_first(self):
        ordered = sort_by_agreement(samples_of(["abc", "xyz", "abc", "xyz"]))
        assert [one.text for one in ordered] == ["abc", "xyz"]
        assert [one.ids for one in ordered] == [[0], [1]]

    def test_many_samples_choose_what_enumeration_chooses(self):
        """Compares the mean chrF of samples with its expectation."""
        (model, _) = make_tiny_models()
        shares = mean_probabilities([model], 0)
        shares[:, :, [0, 2]] = 0.0  # ids that are never drawn
        shares /= shares.sum(axis=-1, keepdims=True)
        shares[:, -1] = 1.0  # the end is certain at the last position
        places = np.arange(LENGTH)
        probabilities = [
            np.prod(rows[places[: len(ids)], ids])
            for rows, ids in zip(shares, SEQUENCES)
        ]
        np.testing.assert_allclose(np.sum(probabilities), 1.0, rtol=1e-5)
        texts = list(map(spell, SEQUENCES))
        expected = dict(zip(texts, compute_chrf(texts) @ probabilities))
        sequences, _ = search(
            model,
            inputs=INPUTS[:1],
            seeds=np.array([7], "int32"),
            temperature=1.0,
            num_hypotheses=1000,
        )
        ordered = sort_by_agreement(
            samples_of(map(spell, sequences[0].tolist()))
        )
        assert ordered[0].text == max(expected, key=expected.get)
        # Scores are from 0 to 100, so their deviation is at most 50.
        tolerance = 4 * 50 / 1000**0.5
        for sample in ordered:
            assert abs(sample.score - expected[sample.text]) < tolerance


class TranslatorTest:
    def test_the_best_of_its_samples_is_the_translation(self, translator):
        texts = ["a dog runs", "", "two women"]
        drawn = translator(texts, num_hypotheses=8, temperature=1.0, seed=3)
        translations, scores = translator(
            texts, mbr_samples=8, seed=3, return_scores=True
        )
        assert translations[1] == "" and scores[1] == 0.0
        for row in (0, 2):
            expected = plain_choice(drawn[row])
            assert expected[translations[row]] == max(expected.values())
            assert scores[row] == pytest.approx(max(expected.values()))
        best = translator(texts, mbr_samples=8, num_hypotheses=3, seed=3)
        assert [each[0] for each in best] == translations
        assert all(len(set(each)) == len(each) <= 3 for each in best)

    def test_a_ctranslate2_model_refuses(self):
        pytest.importorskip("ctranslate2")
        path = pathlib.Path(__file__).parents[1] / "fixtures/v0.1/ctranslate2"
        with pytest.raises(ValueError, match="mbr_samples=4. Use the"):
            load(str(path))(["a b c"], mbr_samples=4)


class ParserTest:
    @pytest.fixture(scope="class")
    def parser(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("vocabulary")
        vocabulary = make_tree_vocabulary(folder / "model", "lexicalised")
        return Parser(make_translator(vocabulary).engine)

    @pytest.fixture(scope="class")
    def drawn(self, parser):
        """Eight samples of the tree of each sentence."""
        return parser(SENTENCES, num_hypotheses=8, temperature=1.0, seed=3)

    @pytest.mark.slow
    def test_its_samples_are_joined_into_their_consensus(self, parser, drawn):
        trees, scores = parser(
            SENTENCES, mbr_samples=8, seed=3, return_scores=True
        )
        assert trees[1] == "" and scores[1] == 0.0
        for row in (0, 2):
            samples = list(map(parse_tree, drawn[row]))
            expected = find_consensus(samples, [1] * 8)
            assert trees[row] == str(expected)
            f1 = [parseval([gold], [expected]).f1 for gold in samples]
            assert scores[row] == pytest.approx(np.mean(f1))

    def test_its_ids_are_those_of_its_tree(self, parser):
        hypotheses = list(parser.hypotheses(SENTENCES, mbr_samples=8, seed=3))
        for (hypothesis,) in hypotheses:
            text = hypothesis.text
            decoded = parser.codec.vocabulary.decode([hypothesis.ids])
            assert decoded == [text and parser.trees.write(text)]
        assert len(parser.attention(SENTENCES, hypotheses)) == len(SENTENCES)

    def test_there_is_one_consensus_alone(self, parser):
        with pytest.raises(ValueError, match="num_hypotheses=2, mbr_samples=8"):
            parser(SENTENCES, mbr_samples=8, num_hypotheses=2)
