"""Tests of trees as the text that a model writes."""

import random

import pytest
import tree_examples

from keras_transformer.parsing.linearization import LINEARIZATIONS
from keras_transformer.parsing.linearization import WITH_WORDS
from keras_transformer.parsing.linearization import collect_symbols
from keras_transformer.parsing.linearization import identify_linearization
from keras_transformer.parsing.linearization import linearize
from keras_transformer.parsing.target_text import is_tree
from keras_transformer.parsing.target_text import read_tree
from keras_transformer.parsing.target_text import write_tree
from keras_transformer.parsing.tree import clean
from keras_transformer.parsing.tree import parse_tree

TREES = [clean(tree) for tree in tree_examples.random_trees(200)]
EACH_LINEARIZATION = pytest.mark.parametrize("linearization", LINEARIZATIONS)


def lexicalised(symbols, words):
    words = iter(words)
    return [next(words) if s == "XX" else s for s in symbols]


class TreeTextTest:
    @EACH_LINEARIZATION
    def test_reading_is_the_inverse_of_writing(self, linearization):
        for tree in TREES:
            text = write_tree(tree, linearization)
            again = read_tree(text, tree.words(), linearization)
            assert is_tree(text, tree.words(), linearization)
            assert write_tree(again, linearization) == text
            assert again.words() == tree.words()

    def test_words_stand_in_the_places_of_leaves(self):
        for tree in TREES:
            symbols = linearize(tree)
            expected = lexicalised(symbols, tree.words())
            assert write_tree(tree, "lexicalised").split() == expected
            symbols = linearize(tree, "in_order")
            expected = lexicalised(symbols, tree.words())
            assert write_tree(tree, "in_order").split() == expected

    @EACH_LINEARIZATION
    def test_other_words_or_fewer_are_no_tree(self, linearization):
        tree = parse_tree("(TOP (S (NP (NNS Dogs)) (VP (VBP bark)) (. .)))")
        text = write_tree(tree, linearization)
        assert is_tree(text, tree.words(), linearization)
        assert not is_tree(text, tree.words()[:-1], linearization)
        assert not is_tree(text, [*tree.words(), "!"], linearization)
        others = ["Dogs", "run", "."]
        assert is_tree(text, others, linearization) == (
            linearization not in WITH_WORDS
        )

    @EACH_LINEARIZATION
    def test_any_text_is_read_as_a_tree_over_the_words(self, linearization):
        rng = random.Random(0)
        pieces = collect_symbols(TREES, linearization)
        pieces += ["dog", "(", "<", "XX", "/>"]
        for number in range(300):
            words = ["w"] * rng.randint(1, 6)
            text = " ".join(rng.choices(pieces, k=rng.randint(0, 12)))
            tree = read_tree(text, words, linearization)
            assert tree.words() == words
            assert is_tree(
                write_tree(tree, linearization), words, linearization
            )

    @pytest.mark.parametrize(
        "text, linearization",
        [
            ("the TOP( NP( cat TOP) NP) S( TOP( barks TOP) S)", "in_order"),
            ("(S (TOP (NP the )NP cat )TOP (TOP barks )TOP )S", "lexicalised"),
            ("(TOP (S (TOP XX )TOP XX (TOP XX", "normalised"),
        ],
    )
    def test_top_stands_only_at_the_root(self, text, linearization):
        tree = read_tree(text, ["the", "cat", "barks"], linearization)
        assert str(tree).count("TOP") == 1
        assert tree.label == "TOP"
        assert tree.words() == ["the", "cat", "barks"]


class LinearizationOfTest:
    @EACH_LINEARIZATION
    def test_symbols_tell_the_linearization(self, linearization):
        assert (
            identify_linearization(collect_symbols(TREES, linearization))
            == linearization
        )

    @pytest.mark.parametrize(
        "symbols",
        [
            "",
            "XX",
            "(A",
            "(A )B XX",
            "<a> </a>",
            "<a/>",
            "(A XX",
            "A( B)",
            "A( A) XX",
            "(A A)",
        ],
    )
    def test_incomplete_symbols_have_no_linearization(self, symbols):
        assert identify_linearization(symbols.split()) is None
