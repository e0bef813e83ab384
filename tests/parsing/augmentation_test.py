"""Tests of the trees that augmentation makes."""

import collections
import itertools
import tracemalloc

import pytest

from keras_transformer.parsing.augmentation import MAX_WORDS
from keras_transformer.parsing.augmentation import NUM_PARTS
from keras_transformer.parsing.augmentation import OPEN_CLASSES
from keras_transformer.parsing.augmentation import PART_WORDS
from keras_transformer.parsing.augmentation import augment
from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree import walk
from keras_transformer.problems.toy import ParsingToy

TREES = list(ParsingToy().trees("dev", None))[:100]
NUM_ROUNDS = 4


def in_turn(trees, num_rounds, seed=0):
    """Returns (tree, new tree made from it, its parts) for every turn."""
    turns = []
    origins = itertools.cycle(trees)
    origin = next(origins)
    for tree in augment(iter(trees), num_rounds, seed):
        if tree == origin and (not turns or len(turns[-1]) > 1):
            turns.append([tree])
            origin = next(origins)
        else:
            turns[-1].append(tree)
    return [(tree, new_tree, parts) for tree, new_tree, *parts in turns]


@pytest.fixture(scope="module")
def turns():
    return in_turn(TREES, NUM_ROUNDS)


@pytest.fixture(scope="module")
def new_trees(turns):
    return [new_tree for _, new_tree, _ in turns]


def rules(tree):
    """Returns the list of (label, labels of its children) of constituents."""
    expansions, open_nodes = [], [[]]
    for step, label, _ in walk(tree):
        if step == "close":
            children = open_nodes.pop()
            expansions.append((label, tuple(children)))
        else:
            open_nodes[-1].append(label)
            if step == "open":
                open_nodes.append([])
    return expansions


def constituents(tree):
    return {tree}.union(
        *(constituents(t) for t in tree.children if isinstance(t, Tree))
    )


class AugmentTest:
    def test_without_rounds_each_tree_comes_once(self):
        assert list(augment(iter(TREES), 0)) == TREES

    def test_without_rounds_trees_pass_one_at_a_time(self):
        endless = itertools.cycle(TREES)
        assert list(itertools.islice(augment(endless, 0), 3)) == TREES[:3]

    def test_each_tree_comes_once_a_round_with_one_made_from_it(self, turns):
        assert [tree for tree, _, _ in turns] == TREES * NUM_ROUNDS

    def test_most_new_trees_differ_from_all_original_ones(self, new_trees):
        assert len(set(new_trees) - set(TREES)) > 0.9 * len(new_trees)

    def test_new_trees_use_no_rule_that_none_had(self, new_trees):
        original = set(itertools.chain.from_iterable(map(rules, TREES)))
        for tree in new_trees:
            assert original.issuperset(rules(tree))

    def test_words_keep_a_tag_that_they_had(self, new_trees):
        original = {
            pair for tree in TREES for pair in zip(tree.words(), tree.tags())
        }
        for tree in new_trees:
            assert original.issuperset(zip(tree.words(), tree.tags()))

    def test_sentences_keep_their_root_and_kind(self, turns):
        for origin, tree, _ in turns:
            assert tree.label == "TOP"
            (sentence,), (before,) = tree.children, origin.children
            kinds = [child.label for child in sentence.children]
            assert sentence.label == before.label
            assert kinds == [child.label for child in before.children]

    def test_parts_are_different_constituents_of_the_new_tree(self, turns):
        for _, new_tree, parts in turns:
            assert len(parts) <= NUM_PARTS
            for part in parts:
                assert part.label == "TOP"
                (constituent,) = part.children
                assert constituent in constituents(new_tree)
                assert len(part.words()) in PART_WORDS
        assert sum(len(parts) == NUM_PARTS for *_, parts in turns) > 200

    def test_words_of_closed_classes_change_with_their_phrase_alone(self):
        tree = parse_tree("(TOP (S (NP (NN a) (DT x)) (VP (NN b) (DT y))))")
        counts = collections.Counter(
            tuple(new.words()) for _, new, _ in in_turn([tree], 200)
        )
        assert {words[1::2] for words in counts} == {("x", "y")}
        assert {words[::2] for words in counts} == set(
            itertools.product("ab", repeat=2)
        )
        assert "DT" not in OPEN_CLASSES

    def test_no_tree_grows_beyond_the_limit(self):
        long = "(TOP (S " + "(NP (NN a)) " * 60 + "(NP (NN b) (NN b))))"
        holder = "(TOP (S (NP (S (NP (NN c))) (NN d))))"
        nested = f"(TOP (S (NP {long[5:-1]})))"
        trees = [parse_tree(text) for text in (holder, nested)]
        lengths = {len(tree.words()) for tree in augment(trees, 50)}
        assert max(lengths) <= MAX_WORDS

    @pytest.mark.slow
    def test_memory_does_not_grow_with_the_square_of_the_depth(self):
        depth = 900
        text = "(TOP " + "(S " * depth + "(NN a) (NN b)" + ")" * (depth + 1)
        trees = [parse_tree(text)]
        tracemalloc.start()
        next(augment(trees, 1))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2**20

    def test_the_same_seed_makes_the_same_trees(self, turns):
        assert in_turn(TREES, NUM_ROUNDS) == turns
        assert in_turn(TREES, NUM_ROUNDS, seed=1) != turns

    def test_a_tree_of_words_alone_is_kept(self):
        tree = Tree("TOP", (Tree("S", (Tree("DT", ("all",)),)),))
        assert list(augment([tree], 1)) == [tree, tree]
