"""Tests of trees as symbols, and of symbols as trees."""

import itertools

import pytest
import tree_examples
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.parsing.linearization import LINEARIZATIONS
from keras_transformer.parsing.linearization import collect_symbols
from keras_transformer.parsing.linearization import delinearize
from keras_transformer.parsing.linearization import find_tree
from keras_transformer.parsing.linearization import linearize
from keras_transformer.parsing.linearization import read_symbol
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree import walk

EACH_LINEARIZATION = pytest.mark.parametrize(
    "linearization", ["normalised", "tagged", "in_order"]
)
SYMBOLS = ["(A", ")A", "(B", ")B", "XX"]


def well_formed_up_to(length):
    """Returns all well-formed sequences of at most `length` symbols."""
    items = {1: {("XX",)}}  # possible children of a constituent, by length
    rows = {0: {()}}  # sequences of children, by length
    for size in range(1, length + 1):
        items.setdefault(size, set()).update(
            (f"({label}", *row, f"){label}")
            for label in "AB"
            for row in rows.get(size - 2, ())
            if row
        )
        rows[size] = {
            item + row
            for first in range(1, size + 1)
            for item in items[first]
            for row in rows[size - first]
        }
    return {item for size in range(2, length + 1) for item in items[size]}


def sequences_up_to(length, symbols, first):
    """Yields all shorter sequences, and those of the length from `first` on."""
    for shorter in range(length):
        yield from itertools.product(symbols, repeat=shorter)
    for rest in itertools.product(symbols, repeat=length - 1):
        yield first, *rest


class LinearizeTest:
    @EACH_LINEARIZATION
    @given(tree_examples.ANY_TREE)
    def test_tree_comes_back(self, linearization, tree):
        symbols = linearize(tree, linearization)
        words = tree.words()
        assert find_tree(symbols, len(words), linearization)
        again = delinearize(symbols, words, linearization)
        assert tree_examples.constituents(again) == tree_examples.constituents(
            tree
        )
        assert again.words() == words
        assert linearize(again, linearization) == symbols
        assert again == tree or linearization != "tagged"

    @EACH_LINEARIZATION
    @given(st.randoms(use_true_random=False))
    def test_any_label_comes_back(self, linearization, rng):
        labels = ["/", "/A", "A/", "<A>", "&", "&amp;", "XX", "A", "-A-"]
        tagged_words = [(label, label) for label in labels]
        tree = tree_examples.random_tree(rng, labels, tagged_words)
        symbols = linearize(tree, linearization)
        again = delinearize(symbols, tree.words(), linearization)
        assert tree_examples.constituents(again) == tree_examples.constituents(
            tree
        )
        assert again == tree or linearization != "tagged"

    def test_root_stands_only_where_it_is_needed(self):
        for text, expected in [
            ("(TOP (S (NN a)))", "(S XX )S"),
            ("(TOP (NN a))", "(TOP XX )TOP"),
            ("(TOP (S (NN a)) (. .))", "(TOP (S XX )S XX )TOP"),
            ("(TOP (TOP (NN a)))", "(TOP (TOP XX )TOP )TOP"),
            ("(S (NN a))", "(S XX )S"),
            ("(NN a)", "(TOP XX )TOP"),
        ]:
            assert linearize(parse_tree(text)) == expected.split()

    @EACH_LINEARIZATION
    def test_deep_trees_have_no_limit(self, linearization):
        tree = tree_examples.deep_tree()
        words = tree.words()
        symbols = linearize(tree, linearization)
        again = delinearize(symbols, words, linearization)
        assert again == tree or linearization != "tagged"

    @EACH_LINEARIZATION
    def test_symbols_are_all_that_trees_are_written_with(self, linearization):
        trees = tree_examples.random_trees(100)
        symbols = collect_symbols(trees, linearization)
        used = {s for tree in trees for s in linearize(tree, linearization)}
        brackets = {
            "normalised": ["(TOP", ")TOP"],
            "tagged": ["<TOP>", "</TOP>"],
            "in_order": ["TOP(", "TOP)"],
        }[linearization]
        if linearization == "in_order":
            used.remove("XX")  # the words stand in its place
        assert symbols == sorted(used.union(brackets))
        words = {word for tree in trees for word in tree.words()}
        assert not words & set(symbols)

    def test_step_and_label_read_what_was_written(self):
        for tree in tree_examples.random_trees(100):
            for linearization in ("normalised", "tagged"):
                written = linearize(tree, linearization)
                whole = list(walk(tree))
                if len(written) < len(whole):
                    whole = whole[1:-1]
                for symbol, (step, label, _) in zip(
                    written, whole, strict=True
                ):
                    is_leaf = step == "leaf"
                    is_bare = is_leaf and linearization == "normalised"
                    label = "XX" if is_bare else label
                    assert read_symbol(symbol)[:2] == (step, label)

    @pytest.mark.parametrize(
        "text",
        ["", "(", ")", "<>", "</>", "<//>", "</A/>", "A", "XXX", "xx", "(A B"]
        + ["((A", "(A)", "<A", "A>", "<A B>", "<A&B>", "dog", "(A\n"]
        + ["<A(>", "</)>", "<f(x)/>"],
    )
    def test_other_text_is_no_symbol(self, text):
        assert read_symbol(text) == (None, None, ())

    @tree_examples.needs_sample
    @EACH_LINEARIZATION
    def test_sample_comes_back(self, linearization):
        longest = 0
        for tree in tree_examples.sample():
            words = tree.words()
            symbols = linearize(tree, linearization)
            longest = max(longest, len(symbols) - len(words))
            again = delinearize(symbols, words, linearization)
            assert linearize(again, linearization) == symbols
            assert again.words() == words
            if linearization == "tagged":
                assert again == tree
            else:
                expected = tree_examples.constituents(tree)
                assert tree_examples.constituents(again) == expected
        assert longest == 324


class FindTreeTest:
    def test_in_order_symbols_are_those_of_trees(self):
        symbols = ["A(", "A)", "B(", "B)", "XX"]
        expected = {
            tuple(
                linearize(
                    find_tree(tree, tree.count("XX"), "normalised"), "in_order"
                )
            )
            for tree in well_formed_up_to(7)
        }
        well_formed = {
            each
            for each in sequences_up_to(7, symbols, "XX")  # the first child
            if find_tree(each, each.count("XX"), "in_order")
        }
        assert well_formed == expected

    def test_agrees_with_enumeration_by_rule(self):
        # The labels A and B are interchangeable.
        expected = {
            symbols
            for symbols in well_formed_up_to(7)
            if len(symbols) < 7 or symbols[0] == "(A"
        }
        well_formed = {
            symbols
            for symbols in sequences_up_to(7, SYMBOLS, "(A")
            if find_tree(symbols, symbols.count("XX"), "normalised")
        }
        assert well_formed == expected
        assert len(expected) > 40

    def test_number_of_words_must_be_right(self):
        for number in range(5):
            symbols = "(A XX (B XX )B )A".split()
            tree = find_tree(symbols, number, "normalised")
            assert bool(tree) == (number == 2)

    def test_linearizations_do_not_mix(self):
        for text, expected in [
            ("<A> <NN/> </A>", {"tagged"}),
            ("<A> XX </A>", set()),
            ("(A XX </A>", set()),
            ("XX A( A)", {"in_order"}),
            ("XX A( )A", set()),
            ("(A XX A)", set()),
        ]:
            names = {n for n in LINEARIZATIONS if find_tree(text.split(), 1, n)}
            assert names == expected


class DelinearizeTest:
    def test_root_may_stand_where_it_is_not_needed(self):
        tree, other = (
            delinearize(text.split(), ["a"], "normalised")
            for text in ("(TOP (S XX )S )TOP", "(S XX )S")
        )
        assert tree == other
        assert str(tree) == "(TOP (S (XX a)))"
