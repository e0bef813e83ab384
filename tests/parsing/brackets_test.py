"""Tests of finding trees in text and of naming faults."""

import random
import re

import pytest
import tree_examples

from keras_transformer.parsing.brackets import split_blocks
from keras_transformer.parsing.tree import clean
from keras_transformer.parsing.tree import parse_tree


def read(text):
    """Returns the first line of each tree, and the tree or its fault."""
    results = []
    for line, block in split_blocks(text.split("\n")):
        try:
            results.append((line, parse_tree(block, first_line=line)))
        except ValueError as error:
            results.append((line, error))
    return results


class ParseTreeTest:
    def test_layout_does_not_matter(self):
        texts = [
            tree_examples.INDENTED,
            " ".join(tree_examples.INDENTED.split()),
            re.sub(r"\s+([()])", r"\1", tree_examples.INDENTED),
            tree_examples.INDENTED.replace("\n", "\n\n").replace(" ", "\t"),
            tree_examples.INDENTED.replace("(", "( ").replace(")", " )"),
        ]
        (tree,) = {parse_tree(text) for text in texts}
        assert tree.label == ""

    @pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000\u2009"])
    def test_a_no_break_space_in_a_word_separates_nothing(self, space):
        tree = parse_tree(f"(NP (CD 1{space}000){space}(NN\u00a0a))")
        assert tree.words() == [f"1{space}000", "a"]
        assert clean(tree).words() == ["1_000", "a"]

    @pytest.mark.parametrize(
        "text, message",
        [
            ("", "must hold a tree.* line 1, which is empty"),
            ("  \n ", "must hold a tree"),
            ("()", "must hold words, and no empty bracket.*line 1, at '"),
            ("(TOP)", "must hold words"),
            ("( ( ))", "may lack a label.*line 1, at"),
            ("(S (NN a)\n (NP ))", r"must hold words.*line 2, at '\)\)'"),
            ("(S (NN a)", "must balance.* where 2 are opened and 1 are closed"),
            ("(S (NN a)))", "must balance.* where 2 are opened and 3 are"),
            ("S (NN a))", "must balance"),
            ("(S (NN a)) (S (NN b))", r"one tree and.*at '\(S \(NN b\)\)'"),
            ("(S (NN a)) (NN b)", "one tree and nothing else"),
            ("(S (NN a)) b", "one tree and nothing else.*at 'b'"),
            ("(S (NN f(x)))", r"hold no bracket.*at 'f\(x\)\)\)'.*-LRB-"),
            ("(S (NN a)b (NN c))", r"hold no bracket.*at 'b \(NN c"),
            ("(S (NN smi)ley))", "hold no bracket"),
            ("(S (: :)))", "must balance.*-RRB-"),
            ("(S (-LRB- () (NN a) (-RRB- )))", "may lack a label.*-LRB-"),
            ("(NP the dog)", "stand alone in a bracket with its tag"),
            ("(NP\n (DT the)\n dog)", r"stand alone.*line 3, at 'dog\)'"),
            ("(S ((NN a)))", "Only the root may lack a label"),
            ("dog", "stand alone.*at 'dog'"),
            ("(NN a\udce4)", "line 1 is not UTF-8: byte 6 is 0xe4"),
            ("(NN ä\n a\udce4)", "line 2 is not UTF-8: byte 3 is 0xe4"),
            ("(NN ä\udce4)", ": byte 7 is 0xe4"),
            ("(NN a\0)", "is not UTF-8: .*0x00"),
        ],
    )
    def test_fault_is_named_with_its_line(self, text, message):
        with pytest.raises(ValueError, match=message) as error:
            parse_tree(text)
        assert "\n" not in str(error.value)
        assert "the text, line" in str(error.value)

    def test_every_text_is_a_tree_or_a_value_error(self):
        rng = random.Random(2)
        pieces = ["(", ")", "(", ")", " ", "\n", "NP", "dog", "(NN a)"]
        num_good = 0
        for _ in range(3000):
            text = "".join(rng.choices(pieces, k=rng.randrange(12)))
            try:
                tree = parse_tree(text)
            except ValueError:
                continue
            num_good += 1
            assert parse_tree(str(tree)) == tree
            assert " ".join(str(tree).split()) == str(tree)
        assert num_good > 50


class ReadTreesTest:
    def test_trees_take_one_line_or_several(self):
        one_line = " ".join(tree_examples.INDENTED.split())
        indented = tree_examples.INDENTED
        results = read(f"{indented}\n{one_line}\n{one_line}\n\n{indented}\n")
        assert len({tree for _, tree in results}) == 1
        assert [number for number, _ in results] == [2, 12, 13, 16]

    def test_lone_brackets_and_any_indentation_belong_to_their_tree(self):
        text = "  (S\n\t(NN a)\n  )\n  (S\n   (NN b)\n  )\n(S (NN c)\n)"
        words = [tree.words() for _, tree in read(text)]
        assert words == [["a"], ["b"], ["c"]]

    def test_lines_may_all_begin_with_a_space(self):
        words = [t.words() for _, t in read("(NN a)\n (NN b)\n (NN c)")]
        assert words == [["a"], ["b"], ["c"]]

    @pytest.mark.parametrize("indent", [1, 2, 4])
    def test_surplus_bracket_never_makes_another_tree(self, indent):
        lines = ["(S", "(NN a))", "(NN b))", "(NN c)"]
        text = ("\n" + indent * " ").join(lines[:3]) + "\n" + lines[3]
        (number, error), (_, good) = read(text)
        assert number == 1
        assert "line 1, where 3 are opened and 4 are closed" in str(error)
        assert good.words() == ["c"]

    def test_lone_surplus_bracket_makes_the_tree_before_it_bad(self):
        (_, error), (_, good) = read("(NN a)\n)\n(NN b)")
        assert isinstance(error, ValueError)
        assert good.words() == ["b"]

    def test_numbers_in_errors_are_those_of_the_lines(self):
        results = read(
            f"{tree_examples.INDENTED}\n(S\n  (NN a)\n\n  (NP))\n(NN b)"
        )
        assert isinstance(results[1][1], ValueError)
        assert "line 15, at" in str(results[1][1])
        assert results[2] == (16, parse_tree("(NN b)"))

    def test_no_lines_give_no_trees(self):
        assert read("") == read("\n \n\n") == []
