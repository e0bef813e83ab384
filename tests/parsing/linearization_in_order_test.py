"""Tests of brackets after the first child."""

import itertools
import random

import tree_examples

from keras_transformer.parsing.linearization import to_in_order
from keras_transformer.parsing.linearization import to_top_down
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree import walk


def shown(all_steps):
    """Shows steps: the word of a leaf, and a label with its bracket."""
    brackets = {"open": "(", "close": ")"}
    return " ".join(
        word if step == "leaf" else label + brackets[step]
        for step, label, word in all_steps
    )


class InOrderTest:
    def test_brackets_follow_the_first_child(self):
        for text, expected in [
            ("(A (x a))", "a A( A)"),
            ("(A (B (x a)))", "a B( B) A( A)"),
            ("(A (x a) (x b))", "a A( b A)"),
            ("(A (B (x a) (x b)) (x c))", "a B( b B) A( c A)"),
            ("(A (x a) (B (C (x b)) (x c)))", "a A( b C( C) B( c B) A)"),
        ]:
            tree = parse_tree(text)
            assert shown(to_in_order(walk(tree))) == expected

    def test_the_order_from_the_top_comes_back(self):
        trees = [*tree_examples.random_trees(), tree_examples.deep_tree()]
        for tree in trees:
            from_the_top = list(walk(tree))
            again = list(to_top_down(to_in_order(from_the_top)))
            assert again == from_the_top

    def test_no_step_of_any_sequence_is_lost(self):
        rng = random.Random(0)
        kinds = [
            *itertools.product(["open", "close"], "AB"),
            ("leaf", "x"),
        ]
        for _ in range(300):
            some_steps = rng.choices(kinds, k=rng.randrange(12))
            assert sorted(to_top_down(some_steps)) == sorted(some_steps)
