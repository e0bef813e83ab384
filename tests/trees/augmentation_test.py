import collections
import itertools

import pytest

from keras_transformer.problems.toy_treebank.treebank import toy_trees
from keras_transformer.trees.augmentation import MAX_WORDS
from keras_transformer.trees.augmentation import NUM_PARTS
from keras_transformer.trees.augmentation import OPEN_CLASSES
from keras_transformer.trees.augmentation import PART_WORDS
from keras_transformer.trees.augmentation import augment
from keras_transformer.trees.tree import Tree
from keras_transformer.trees.tree import parse_tree
from keras_transformer.trees.tree import steps

TREES = toy_trees("dev")[:100]
NUM_ROUNDS = 4


def in_turn(trees, num_rounds, seed=0):
    """For each tree in each round: itself, the one made of it, its parts."""
    found = []
    origins = itertools.cycle(trees)
    origin = next(origins)
    for tree in augment(iter(trees), num_rounds, seed):
        if tree == origin and (not found or len(found[-1]) > 1):
            found.append([tree])
            origin = next(origins)
        else:
            found[-1].append(tree)
    return [(tree, made, parts) for tree, made, *parts in found]


@pytest.fixture(scope="module")
def turns():
    return in_turn(TREES, NUM_ROUNDS)


@pytest.fixture(scope="module")
def made(turns):
    return [made for _, made, _ in turns]


def rules(tree):
    """What each constituent consists of: (label, labels of its children)."""
    found, open_nodes = [], [[]]
    for step, label, _ in steps(tree):
        if step == "close":
            children = open_nodes.pop()
            found.append((label, tuple(children)))
        else:
            open_nodes[-1].append(label)
            if step == "open":
                open_nodes.append([])
    return found


def constituents(tree):
    return {tree}.union(
        *(constituents(t) for t in tree.children if isinstance(t, Tree))
    )


class AugmentTest:
    def test_without_rounds_each_tree_comes_once(self):
        assert list(augment(iter(TREES), 0)) == TREES

    def test_each_tree_comes_once_a_round_with_one_made_of_it(self, turns):
        assert [tree for tree, _, _ in turns] == TREES * NUM_ROUNDS

    def test_most_made_ones_differ_from_all_that_were_given(self, made):
        assert len(set(made) - set(TREES)) > 0.9 * len(made)

    def test_no_constituent_consists_of_what_none_consisted_of(self, made):
        known = set(itertools.chain.from_iterable(map(rules, TREES)))
        for tree in made:
            assert known.issuperset(rules(tree))

    def test_words_keep_a_tag_that_they_had(self, made):
        known = {
            pair for tree in TREES for pair in zip(tree.words(), tree.tags())
        }
        for tree in made:
            assert known.issuperset(zip(tree.words(), tree.tags()))

    def test_sentences_keep_their_root_and_kind(self, turns):
        for origin, tree, _ in turns:
            assert tree.label == "TOP"
            (sentence,), (before,) = tree.children, origin.children
            kinds = [child.label for child in sentence.children]
            assert sentence.label == before.label
            assert kinds == [child.label for child in before.children]

    def test_parts_are_different_constituents_of_the_made_tree(self, turns):
        for _, made, parts in turns:
            assert len(parts) <= NUM_PARTS
            for part in parts:
                assert part.label == "TOP"
                (constituent,) = part.children
                assert constituent in constituents(made)
                assert len(part.words()) in PART_WORDS
        assert sum(len(parts) == NUM_PARTS for *_, parts in turns) > 200

    def test_words_of_closed_classes_change_with_their_phrase_alone(self):
        tree = parse_tree("(TOP (S (NP (NN a) (DT x)) (VP (NN b) (DT y))))")
        counts = collections.Counter(
            tuple(made.words()) for _, made, _ in in_turn([tree], 200)
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
        lengths = {len(made.words()) for made in augment(trees, 50)}
        assert max(lengths) <= MAX_WORDS

    def test_the_same_seed_makes_the_same_trees(self, turns):
        assert in_turn(TREES, NUM_ROUNDS) == turns
        assert in_turn(TREES, NUM_ROUNDS, seed=1) != turns

    def test_a_tree_of_words_alone_is_kept(self):
        tree = Tree("TOP", (Tree("S", (Tree("DT", ("all",)),)),))
        assert list(augment([tree], 1)) == [tree, tree]
