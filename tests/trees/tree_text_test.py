"""Tests of trees as text, of which linearization_test has the symbols."""

import random

import pytest
import tree_examples

from keras_transformer.trees.linearization import linearize
from keras_transformer.trees.target_text import FORMS
from keras_transformer.trees.target_text import form_of
from keras_transformer.trees.target_text import is_tree
from keras_transformer.trees.target_text import read_tree
from keras_transformer.trees.target_text import tree_symbols
from keras_transformer.trees.target_text import write_tree
from keras_transformer.trees.tree import clean
from keras_transformer.trees.tree import parse_tree

TREES = [clean(tree) for tree in tree_examples.random_trees(200)]
EACH_FORM = pytest.mark.parametrize("form", FORMS)


def lexicalised(symbols, words):
    words = iter(words)
    return [next(words) if s == "XX" else s for s in symbols]


class TreeTextTest:
    @EACH_FORM
    def test_what_is_written_is_read_again(self, form):
        for tree in TREES:
            text = write_tree(tree, form)
            again = read_tree(text, tree.words(), form)
            assert is_tree(text, tree.words(), form)
            assert write_tree(again, form) == text
            assert again.words() == tree.words()

    def test_lexicalised_is_normalised_with_the_words(self):
        for tree in TREES:
            symbols = linearize(tree)
            expected = lexicalised(symbols, tree.words())
            assert write_tree(tree, "lexicalised").split() == expected

    @EACH_FORM
    def test_other_words_or_fewer_are_no_tree(self, form):
        tree = parse_tree("(TOP (S (NP (NNS Dogs)) (VP (VBP bark)) (. .)))")
        text = write_tree(tree, form)
        assert is_tree(text, tree.words(), form)
        assert not is_tree(text, tree.words()[:-1], form)
        assert not is_tree(text, [*tree.words(), "!"], form)
        others = ["Dogs", "run", "."]
        assert is_tree(text, others, form) == (form != "lexicalised")

    @EACH_FORM
    def test_anything_is_read_as_a_tree_over_the_words(self, form):
        rng = random.Random(0)
        pieces = [*tree_symbols(TREES, form), "dog", "(", "<", "XX", "/>"]
        for number in range(300):
            words = ["w"] * rng.randint(1, 6)
            text = " ".join(rng.choices(pieces, k=rng.randint(0, 12)))
            tree = read_tree(text, words, form)
            assert tree.words() == words
            assert is_tree(write_tree(tree, form), words, form)


class FormOfTest:
    @EACH_FORM
    def test_symbols_tell_the_form(self, form):
        assert form_of(tree_symbols(TREES, form)) == form

    @pytest.mark.parametrize(
        "symbols", ["", "XX", "(A", "(A )B XX", "<a> </a>", "<a/>", "(A XX"]
    )
    def test_incomplete_ones_have_none(self, symbols):
        assert form_of(symbols.split()) is None
