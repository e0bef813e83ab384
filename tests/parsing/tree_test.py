"""Tests of reading, cleaning and writing trees."""

import random
import re

import pytest
import tree_examples
from hypothesis import given
from printed_text import unescape

from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import build_trees
from keras_transformer.parsing.tree import clean
from keras_transformer.parsing.tree import cut
from keras_transformer.parsing.tree import escape
from keras_transformer.parsing.tree import find_smallest_constituents
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree import walk


class TreeTest:
    def test_words_and_tags_come_in_order(self):
        tree = clean(parse_tree(tree_examples.INDENTED))
        assert tree.words() == "Ada Weber , nine weeks old can smile .".split()
        assert tree.tags() == "NNP NNP , CD NNS JJ MD VB .".split()

    @given(tree_examples.ANY_TREE)
    def test_text_and_steps_give_the_same_tree(self, tree):
        assert parse_tree(str(tree)) == tree
        assert eval(repr(tree)) == tree
        assert build_trees(walk(tree)) == [tree]

    def test_trees_compare_and_hash_by_their_contents(self):
        texts = [str(tree) for tree in tree_examples.random_trees()]
        assert len({parse_tree(text) for text in texts}) == len(set(texts))
        for one, other in zip(texts, texts[1:]):
            assert (parse_tree(one) == parse_tree(other)) == (one == other)
            assert (parse_tree(one) != parse_tree(other)) == (one != other)

    def test_tree_differs_from_a_tuple_of_its_fields(self):
        assert Tree("NN", ("dog",)) != ("NN", ("dog",))

    def test_constituent_differs_from_the_word_of_its_name(self):
        assert parse_tree("(S (NP (NN a)))") != parse_tree("(S (NP NN) (a a))")

    def test_preterminal_is_a_tag_with_a_word(self):
        tree = parse_tree("(NP (NN dog))")
        assert not tree.is_preterminal
        assert tree.children[0].is_preterminal

    def test_brackets_in_words_are_escaped_when_written(self):
        tree = Tree("NP", (Tree("-LRB-", ("(",)), Tree("NN", ("f(x)",))))
        assert str(tree) == "(NP (-LRB- -LRB-) (NN f-LRB-x-RRB-))"

    def test_deep_trees_have_no_limit(self):
        one, other = tree_examples.deep_tree(), tree_examples.deep_tree()
        assert one == other and hash(one) == hash(other)
        assert one != tree_examples.deep_tree(4999)
        assert clean(one) == one
        assert len(one.words()) == len(one.tags()) == 5001
        assert repr(one)

    def test_text_is_nested_to_a_limit(self):
        # TOP and the innermost word have a bracket each.
        deepest = tree_examples.deep_tree(998)
        assert parse_tree(str(deepest)) == deepest
        for depth in (1001, 50_000):
            text = "(X " * depth + "(NN a)" + ")" * depth
            with pytest.raises(ValueError, match="most 1,000 deep.*, line 1"):
                parse_tree(text)


def slowly_cleaned(tree):
    """Returns a tree without traces and function tags, recursively."""
    if tree.is_preterminal:
        return None if tree.label == "-NONE-" else tree
    below = [slowly_cleaned(child) for child in tree.children]
    below = tuple(child for child in below if child)
    return Tree(re.match("[A-Z]+", tree.label)[0], below) if below else None


class CleanTest:
    def test_agrees_with_a_recursive_implementation(self):
        rng = random.Random(3)
        tagged = [*tree_examples.TAGGED_WORDS, *8 * [("-NONE-", "*T*-1")]]
        labels = ["NP-SBJ-1", "NP=2", "S-TPC-1", "VP", "ADVP|PRT", "PP-LOC=3"]
        num_empty = 0
        for _ in range(500):
            tree = tree_examples.random_tree(rng, labels, tagged)
            cleaned = clean(tree)
            assert cleaned == slowly_cleaned(tree)
            num_empty += cleaned is None
            assert cleaned is None or clean(cleaned) == cleaned
        assert 10 < num_empty < 250

    @pytest.mark.parametrize(
        "label, expected",
        [
            ("NP-SBJ-1", "NP"),
            ("NP=2", "NP"),
            ("NP-SBJ=1-3", "NP"),
            ("ADVP|PRT", "ADVP"),
            ("-LRB-", "-LRB-"),
            ("-NONE-", "-NONE-"),
            ("PRP$", "PRP$"),
            ("``", "``"),
            ("=", "="),
            ("", ""),
        ],
    )
    def test_function_tags_and_indices_go(self, label, expected):
        assert cut(label) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "( (S (NN a)))",
            "(TOP (S (NN a)))",
            "(ROOT (S (NN a)))",
            "(S1 (S (NN a)))",
            "( (ROOT (S (NN a))))",
            "(S (NN a))",
            "( (S (NN a)) (NP (-NONE- *)))",
        ],
    )
    def test_root_is_top(self, text):
        assert str(clean(parse_tree(text))) == "(TOP (S (NN a)))"

    def test_root_keeps_several_trees(self):
        tree = clean(parse_tree("( (S (NN a)) (. .))"))
        assert str(tree) == "(TOP (S (NN a)) (. .))"

    def test_root_stands_over_a_lone_word(self):
        assert str(clean(parse_tree("(UH Yes)"))) == "(TOP (UH Yes))"
        assert str(clean(parse_tree("( (UH Yes))"))) == "(TOP (UH Yes))"

    def test_star_is_a_word_unless_tagged_as_a_trace(self):
        text = "( (NP (SYM *) (NN note) (NP (-NONE- *))))"
        assert clean(parse_tree(text)).words() == ["*", "note"]

    @pytest.mark.parametrize("space", [*"\x1c\x1d\x1e\x1f\x85", "\u00a0\u3000"])
    def test_no_word_is_divided_where_a_text_is_split(self, space):
        tree = clean(parse_tree(f"(NP (CD 1{space}000) (NN dogs))"))
        assert " ".join(tree.words()).split() == ["1_000", "dogs"]

    def test_traces_alone_are_no_tree(self):
        text = "( (S (NP (-NONE- *)) (VP (-NONE- *T*-1))))"
        assert clean(parse_tree(text)) is None

    @tree_examples.needs_sample
    def test_sample_keeps_all_its_words_and_no_function_tag(self):
        tagged_words = []
        for path in sorted(tree_examples.SAMPLE.iterdir()):
            tagged_words += re.findall(
                r"\(([^\s()]+)\s+([^\s()]+)\)", path.read_text()
            )
        sample = tree_examples.sample()
        assert len(sample) == 3669
        assert [pair for pair in tagged_words if pair[0] != "-NONE-"] == [
            pair for tree in sample for pair in zip(tree.tags(), tree.words())
        ]
        labels = {
            label
            for tree in sample
            for step, label, _ in walk(tree)
            if step == "open"
        }
        assert all(re.fullmatch("[A-Z]+", label) for label in labels)
        assert {tree.label for tree in sample} == {"TOP"}
        assert all(clean(tree) == tree for tree in sample)
        assert all(parse_tree(str(tree)) == tree for tree in sample)


class EscapeTest:
    def test_escapes_are_undone(self):
        for word in [
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "f(x)[1]",
            ":-)",
            "dog",
            "-",
        ]:
            escaped = escape(word)
            assert not set(escaped) & set("()[]{}")
            assert unescape(escaped) == word

    def test_slashes_are_left_alone(self):
        assert escape("1\\/2") == unescape("1\\/2") == "1\\/2"


class SmallestConstituentsTest:
    @pytest.mark.parametrize(
        "text, spans",
        [
            ("(S (NN a))", [(0, 1)]),
            ("(S (NP (NP (NN a))) (VP (VB b)))", [(0, 2), (0, 2)]),
            (
                "(S (A (X a) (B (X b) (X c))) (X d))",
                [(0, 3), (1, 3), (1, 3), (0, 4)],
            ),
        ],
    )
    def test_the_innermost_of_several_words(self, text, spans):
        assert find_smallest_constituents(parse_tree(text)) == spans
