"""Tests of repairing symbols that are no tree."""

import itertools
import random

import pytest
import tree_examples

from keras_transformer.parsing.linearization import MAX_UNARY
from keras_transformer.parsing.linearization import collect_symbols
from keras_transformer.parsing.linearization import delinearize
from keras_transformer.parsing.linearization import find_tree
from keras_transformer.parsing.linearization import linearize
from keras_transformer.parsing.linearization import read_symbol

EACH_LINEARIZATION = pytest.mark.parametrize(
    "linearization",
    [
        pytest.param("normalised", marks=pytest.mark.slow),
        pytest.param("tagged", marks=pytest.mark.slow),
        "in_order",
    ],
)
SYMBOLS = ["(A", ")A", "(B", ")B", "XX"]


def repair(symbols, num_words, linearization):
    """Returns the symbols of the tree that is closest to some symbols."""
    if find_tree(symbols, num_words, linearization):
        return list(symbols)
    tree = delinearize(symbols, ["dog"] * num_words, linearization)
    return linearize(tree, linearization)


class RepairTest:
    @pytest.mark.slow
    def test_all_short_sequences_become_trees(self):
        for length in range(6):
            for symbols in itertools.product(SYMBOLS, repeat=length):
                for num_words in (1, 3):
                    repaired = repair(symbols, num_words, "normalised")
                    assert find_tree(repaired, num_words, "normalised")
                    words = ["dog"] * num_words
                    trees = [
                        delinearize(each, words, "normalised")
                        for each in (symbols, repaired)
                    ]
                    assert trees[0] == trees[1]

    @EACH_LINEARIZATION
    def test_any_strings_become_a_tree_that_is_then_kept(self, linearization):
        rng = random.Random(4)
        pieces = collect_symbols(tree_examples.random_trees(20), linearization)
        pieces += [
            "dog",
            "",
            "(",
            "▁(N",
            "<unk>",
            "XX",
            "<NN/>",
            "(NP",
            "</NP>",
        ]
        for _ in range(1000):
            symbols = rng.choices(pieces, k=rng.randrange(40))
            num_words = rng.randrange(1, 20)
            repaired = repair(symbols, num_words, linearization)
            assert find_tree(repaired, num_words, linearization)
            assert repair(repaired, num_words, linearization) == repaired
            words = ["dog"] * num_words
            again = delinearize(repaired, words, linearization)
            assert again.words() == words
            if linearization != "tagged":
                assert linearize(again, linearization) == repaired

    # What is complete of an in-order tree looks like the whole sentence.
    @pytest.mark.parametrize("linearization", ["normalised", "tagged"])
    def test_truncated_output_keeps_its_complete_constituents(
        self, linearization
    ):
        rng = random.Random(5)
        num_cut = 0
        for tree in tree_examples.random_trees():
            words = tree.words()
            symbols = linearize(tree, linearization)
            kinds = [read_symbol(symbol)[0] for symbol in symbols]
            if ["open"] * 5 in [kinds[i : i + 5] for i in range(len(kinds))]:
                continue  # once cut off, more of them than allowed share words
            num_cut += 1
            cut = symbols[: rng.randrange(1, len(symbols))]
            repaired = delinearize(cut, words, linearization)
            # The constituents whose closing brackets are still present.
            number = kinds[: len(cut)].count("close")
            complete = tree_examples.constituents(tree)[:number]
            assert set(complete) <= set(tree_examples.constituents(repaired))
        assert num_cut > 100

    @EACH_LINEARIZATION
    def test_lost_last_brackets_are_all_restored(self, linearization):
        for seed in range(300):
            # Unary chains are excluded because `repair` cuts them.
            (tree,) = tree_examples.random_trees(1, seed, numbers=[2, 3])
            symbols = linearize(tree, linearization)
            number = len(tree.words())
            end = len(symbols)
            while read_symbol(symbols[end - 1])[0] == "close":
                end -= 1
                assert repair(symbols[:end], number, linearization) == symbols

    @pytest.mark.parametrize(
        "symbols, num_words, expected",
        [
            ("", 2, "(TOP XX XX )TOP"),
            ("XX", 1, "(TOP XX )TOP"),
            ("XX XX )NP", 2, "(NP XX XX )NP"),
            ("(NP XX )NP )S", 1, "(NP XX )NP"),
            ("(NP XX )NP (VP XX )VP )S", 2, "(S (NP XX )NP (VP XX )VP )S"),
            ("(S (NP XX (VP XX )VP )S", 2, "(S (NP XX (VP XX )VP )NP )S"),
            ("(S (NP XX )VP XX )NP )S", 2, "(S (NP XX XX )NP )S"),
            ("(S XX XX XX )S", 2, "(S XX XX )S"),
            ("(S (NP XX )NP )S", 3, "(S (NP XX )NP XX XX )S"),
            ("(S XX )S XX", 2, "(S XX XX )S"),
            ("XX (S XX )S", 2, "(S XX XX )S"),
            ("(S XX )S (S XX )S", 2, "(TOP (S XX )S (S XX )S )TOP"),
            ("(S (NP )NP XX )S", 1, "(S XX )S"),
            ("(S the XX (N )S", 1, "(S XX )S"),
            ("(TOP (S XX )S", 2, "(TOP (S XX )S XX )TOP"),
            ("(TOP (S XX )S", 1, "(S XX )S"),
            ("(NP (NP (NP (NP XX", 1, "(NP (NP XX )NP )NP"),
            ("(NP XX )NP XX )S )NP", 2, "(S (NP XX )NP XX )S"),
            ("(TOP (A (B (C (D XX", 1, "(A (B (C (D XX )D )C )B )A"),
            ("<S> <NN/>", 2, "<S> <NN/> <NN/> </S>"),
            ("<S> XX <VB/>", 1, "<S> <VB/> </S>"),
            ("XX NP( XX NP) S( XX VP(", 3, "XX NP( XX NP) S( XX VP( VP) S)"),
            ("XX NP( S( XX", 2, "XX NP( XX S( S) NP)"),
            ("NP( XX", 1, "XX NP( NP)"),
            ("XX NP( VP) S)", 1, "XX NP( NP)"),
            ("XX NP( XX S)", 2, "XX NP( XX NP)"),
        ],
    )
    def test_repairs_change_as_little_as_possible(
        self, symbols, num_words, expected
    ):
        expected = expected.split()
        linearization = read_symbol(expected[-1])[2][0]
        assert repair(symbols.split(), num_words, linearization) == expected

    def test_other_linearizations_are_dropped(self):
        expected = "<TOP> <NN/> </TOP>".split()
        assert repair([], 1, "tagged") == expected
        assert repair("(S XX )S".split(), 1, "tagged") == expected

    def test_constituents_over_the_same_words_are_bounded(self):
        rng = random.Random(6)
        for _ in range(200):
            opened = [f"({rng.choice('ABCD')}" for _ in range(50)]
            tree = delinearize([*opened, "XX"], list("abc"), "normalised")
            spans = tree_examples.constituents(tree)
            for label, start, end in spans:
                same = [span for span in spans if span[1:] == (start, end)]
                assert len(same) <= MAX_UNARY + 1
                assert same.count((label, start, end)) <= 2

    def test_deep_trees_have_no_limit(self):
        tree = tree_examples.deep_tree()
        symbols, num_words = linearize(tree), len(tree.words())
        for part in (symbols[:-9], symbols[9:], symbols[:5001]):
            repaired = repair(part, num_words, "normalised")
            assert find_tree(repaired, num_words, "normalised")
