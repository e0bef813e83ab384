"""Consensus trees against all trees that the brackets of the parses allow."""

import collections
import itertools
import random

import pytest
from tree_examples import TAGGED_WORDS
from tree_examples import constituents
from tree_examples import needs_sample
from tree_examples import random_trees
from tree_examples import sample

from keras_transformer.parsing.consensus import THRESHOLD
from keras_transformer.parsing.consensus import LabelledSpan
from keras_transformer.parsing.consensus import estimate_f1
from keras_transformer.parsing.consensus import find_consensus
from keras_transformer.parsing.parseval import parseval
from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import build_trees
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree import walk


def random_parse(rng, num_words, marks=()):
    """Returns a tree over numbered words, with chains over some of them."""

    def node(start, stop):
        if stop - start == 1:
            tag = "," if start in marks else rng.choice(["NN", "VB"])
            tree = Tree(tag, (f"w{start}",))
        else:
            middle = rng.randrange(start + 1, stop)
            tree = Tree("X", (node(start, middle), node(middle, stop)))
        while rng.random() < 0.2:
            tree = Tree(rng.choice(["X", "Y"]), (tree,))
        return tree

    return Tree("TOP", (node(0, num_words),))


def random_parses(seed, number=3, num_words=5, marks=()):
    rng = random.Random(seed)
    parses = [random_parse(rng, num_words, marks) for _ in range(number)]
    return parses, [rng.uniform(0.1, 1) for _ in parses]


def without_punctuation(tree):
    (bare,) = build_trees(step for step in walk(tree) if step[1] != ",")
    return bare


def numbered_brackets(tree):
    """Returns the set of (label, start, stop, number of those before)."""
    counts = collections.Counter(constituents(tree))
    return {
        (*bracket, number)
        for bracket, count in counts.items()
        for number in range(count)
    }


def crosses(one, other):
    (_, start, stop, _), (_, other_start, other_stop, _) = sorted(
        (one, other), key=lambda bracket: bracket[1:3]
    )
    return start < other_start < stop < other_stop


def gains(parses, weights):
    """Returns the share of each bracket beyond the threshold."""
    total = sum(weights)
    shares = collections.Counter()
    for parse, weight in zip(parses, weights):
        for bracket in numbered_brackets(parse):
            shares[bracket] += weight / total
    return {bracket: share - THRESHOLD for bracket, share in shares.items()}


def greatest_gain(gain_of):
    """Returns the gain of the best of all sets without crossing brackets."""
    best = 0.0
    for size in range(len(gain_of) + 1):
        for brackets in itertools.combinations(gain_of, size):
            if not any(itertools.starmap(crosses, _pairs(brackets))):
                best = max(best, sum(map(gain_of.get, brackets)))
    return best


def _pairs(items):
    return itertools.combinations(items, 2)


class ConsensusTest:
    @pytest.mark.parametrize("seed", range(8))
    def test_no_set_of_brackets_has_a_greater_expected_gain(self, seed):
        parses, weights = random_parses(seed, num_words=4)
        gain_of = gains(parses, weights)
        tree = find_consensus(parses, weights)
        found = sum(gain_of[one] for one in numbered_brackets(tree))
        assert found == pytest.approx(greatest_gain(gain_of))

    @pytest.mark.parametrize("seed", range(50))
    def test_brackets_of_most_parses_are_always_chosen(self, seed):
        parses, weights = random_parses(seed, number=5, num_words=9)
        gain_of = gains(parses, weights)
        tree = find_consensus(parses, weights)
        brackets = numbered_brackets(tree)
        assert min(map(gain_of.get, brackets)) > 0
        assert all(
            bracket in brackets
            for bracket, gain in gain_of.items()
            if gain + THRESHOLD > 1 - THRESHOLD
        )
        assert tree.words() == parses[0].words()
        assert (
            find_consensus(parses, [3 * weight for weight in weights]) == tree
        )

    def test_a_parse_with_most_of_the_weight_is_the_consensus(self):
        for tree in random_trees(100, tagged_words=TAGGED_WORDS[:7]):
            assert find_consensus([tree], [0.2]) == tree
        for seed in range(50):
            (first, *others), _ = random_parses(seed, number=4)
            assert (
                find_consensus([first, *others], [1.6, 0.5, 0.3, 0.2]) == first
            )

    @pytest.mark.parametrize("seed", range(50))
    def test_punctuation_does_not_matter_to_the_other_words(self, seed):
        parses, weights = random_parses(
            seed, number=4, num_words=9, marks=(0, 3, 4, 8)
        )
        tree = find_consensus(parses, weights)
        assert tree.words() == parses[0].words()
        bare = list(map(without_punctuation, parses))
        assert without_punctuation(tree) == find_consensus(bare, weights)

    @needs_sample
    def test_punctuation_keeps_its_place_in_the_treebank(self):
        for tree in sample()[:300]:
            assert find_consensus([tree], [1]) == tree

    def test_nothing_but_punctuation_is_as_in_the_likeliest_parse(self):
        parses = ["(TOP (X (. .) (. .)))", "(TOP (. .) (. .))"]
        trees = list(map(parse_tree, parses))
        assert find_consensus(trees, [1, 2]) == trees[1]

    def test_a_word_may_stand_without_a_root(self):
        trees = [parse_tree("(NN a)"), parse_tree("(VB a)")]
        assert find_consensus(trees, [1, 2]) == trees[1]

    def test_parses_without_agreement_leave_words_below_the_root(self):
        one = parse_tree("(TOP (A (B (X a) (X b)) (X c)))")
        other = parse_tree("(TOP (C (X a) (X b) (X c)))")
        third = parse_tree("(TOP (X a) (B (X b) (X c)))")
        assert find_consensus([one, other, third], [1, 1, 1]) == parse_tree(
            "(TOP (X a) (X b) (X c))"
        )

    def test_a_parse_may_be_given_several_times(self):
        for seed in range(50):
            (first, *others), _ = random_parses(seed, marks=(0, 2))
            once = find_consensus([*others, first], [1, 1, 3])
            assert (
                find_consensus([first, *others, first, first], [1] * 5) == once
            )

    def test_chains_have_the_order_of_the_likeliest_parse(self):
        chains = ["(S (VP (X go)))", "(S (VP (X go)))", "(VP (S (X go)))"]
        trees = [parse_tree(f"(TOP {chain})") for chain in chains]
        assert find_consensus(trees, [1, 1, 1]) == trees[0]
        assert find_consensus(trees, [1, 1, 3]) == trees[2]

    def test_a_label_of_the_root_may_be_inside_a_tree(self):
        inside = parse_tree("(TOP (S (TOP (NP (X Ada)) (VP (X is))) (. .)))")
        without = parse_tree("(TOP (S (NP (X Ada)) (VP (X is)) (. .)))")
        assert find_consensus([inside, without], [2, 1]) == inside
        assert find_consensus([inside, without], [1, 2]) == without

    @pytest.mark.parametrize("seed", range(20))
    def test_different_roots_are_as_good_as_the_same(self, seed):
        parses, _ = random_parses(seed, marks=(0, 4))
        weights = [3, 2, 2]
        expected = find_consensus(parses, weights)
        roots = ["S", "X", "FRAG"]
        others = [tree._replace(label=r) for tree, r in zip(parses, roots)]
        assert find_consensus(others, weights) == expected._replace(label="S")

    def test_each_word_has_the_tag_with_the_greatest_weight(self):
        parses = ["(S (NN a) (NN b))", "(S (NN a) (VB b))", "(S (JJ a) (VB b))"]
        tree = find_consensus(list(map(parse_tree, parses)), [0.4, 0.35, 0.25])
        assert tree.tags() == ["NN", "VB"]

    def test_a_parse_without_tags_has_no_vote_on_them(self):
        parses = ["(S (NN a) (XX b))", "(S (XX a) (XX b))", "(S (XX a) (XX b))"]
        tree = find_consensus(list(map(parse_tree, parses)), [1, 1, 1])
        assert tree.tags() == ["NN", "XX"]


class ChartTest:
    @pytest.mark.parametrize("seed", range(30))
    def test_it_counts_as_much_as_all_parses(self, seed):
        # Each parse has every bracket once, as a chart does.
        parses = [
            Tree("TOP", (Tree("S", (parse,)),))
            for parse in _without_chains(random_parses(seed, 3)[0])
        ]
        *others, last = parses
        chart = [
            LabelledSpan(label, start, stop, 1.0)
            for label, start, stop in constituents(last)
            if label != "TOP"
        ]
        expected = find_consensus(parses, [0.3, 0.2, 0.5])
        found = find_consensus(others, [0.3, 0.2], chart)
        assert numbered_brackets(found) == numbered_brackets(expected)

    def test_a_constituent_that_no_parse_has_needs_most_of_the_chart(self):
        flat = parse_tree("(TOP (S (X I) (X saw) (X her)))")
        for share, expected in (
            (0.9, "(TOP (S (X I) (VP (X saw) (X her))))"),
            (0.7, str(flat)),
        ):
            chart = [LabelledSpan("VP", 1, 3, share)]
            chart.append(LabelledSpan("S", 0, 3, 1.0))
            assert find_consensus([flat], [1], chart) == parse_tree(expected)

    def test_spans_that_differ_in_punctuation_support_each_other(self):
        flat = parse_tree("(TOP (S (X I) (X saw) (X her) (. .)))")
        chart = [LabelledSpan("S", 0, 4, 1.0)]
        chart += [LabelledSpan("VP", 1, end, 0.45) for end in (3, 4)]
        assert find_consensus([flat], [1], chart) == parse_tree(
            "(TOP (S (X I) (VP (X saw) (X her)) (. .)))"
        )

    def test_nothing_but_punctuation_is_no_constituent(self):
        tree = parse_tree("(TOP (S (X Go) (. !) (. !)))")
        chart = [LabelledSpan("S", 0, 3, 1.0), LabelledSpan("X", 1, 3, 1.0)]
        assert find_consensus([tree], [1], chart) == tree


def _without_chains(trees):
    """Returns trees where no bracket is above one with the same words."""

    def strip(tree):
        if tree.is_preterminal:
            return tree
        children = tuple(map(strip, tree.children))
        if len(children) == 1 and not children[0].is_preterminal:
            return children[0]
        return Tree(tree.label, children)

    return [Tree("Y", strip(tree).children) for tree in trees]


class ExpectedF1Test:
    def test_it_is_the_mean_of_parseval_by_weight(self):
        parses, weights = random_parses(1)
        tree = find_consensus(parses, weights)
        repeated = [gold for gold in parses for _ in range(3)]
        mean = sum(parseval([gold], [tree]).f1 for gold in repeated) / 9
        assert 0 < mean < 100
        assert estimate_f1(tree, parses, [2, 2, 2]) == pytest.approx(mean)
        assert estimate_f1(tree, [tree, *parses], [1, 0, 0, 0]) == 100

    def test_a_chart_counts_as_much_as_all_parses(self):
        tree = parse_tree("(TOP (S (X I) (VP (X saw) (X her)) (. .)))")
        sure = [LabelledSpan("S", 0, 4, 1.0), LabelledSpan("VP", 1, 3, 1.0)]
        other = [LabelledSpan("S", 0, 4, 1.0), LabelledSpan("NP", 0, 2, 1.0)]
        unsure = [span._replace(share=0.5) for span in sure]
        assert estimate_f1(tree, [tree], [1], sure) == 100
        assert estimate_f1(tree, [tree], [1], other) == 75
        # Two halves are found of three brackets in all.
        expected = (100 + 200 * 1 / 3) / 2
        assert estimate_f1(tree, [tree], [1], unsure) == pytest.approx(expected)

    def test_it_is_at_most_100_if_a_chart_contradicts_itself(self):
        tree = parse_tree("(TOP (S (X I) (VP (X saw) (X her)) (. .)))")
        chart = [LabelledSpan("S", 0, end, 0.9) for end in (3, 4)]
        chart += [LabelledSpan("VP", 1, 3, 1.0)]
        assert estimate_f1(tree, [tree], [1], chart) == 100
