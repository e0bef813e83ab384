"""Tests of the files for EVALB, read by its rules and by EVALB itself."""

import dataclasses
import re
import shutil
import subprocess

import pytest
from parse_pairs import PUNCTUATION
from parse_pairs import random_pairs
from tree_examples import SAMPLE
from tree_examples import needs_sample

from keras_transformer.parsing.parseval import DELETED
from keras_transformer.parsing.parseval import parseval
from keras_transformer.parsing.parseval import write_evalb
from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.treebank import read_treebank

COLLINS = "\n".join(
    ["LABELED 1", "DELETE_LABEL_FOR_LENGTH -NONE-", "EQ_LABEL ADVP PRT"]
    + [f"DELETE_LABEL {label}" for label in sorted(DELETED)]
)


def read_as_evalb(line):
    """Returns the counted words, the brackets and the length of a line."""
    tokens = re.findall(r"[()]|[^\s()]+", line)
    terminals, brackets, stack, length = [], [], [], 0
    while tokens:
        token = tokens.pop(0)
        if token == ")":
            brackets[stack.pop()][2] = len(terminals)
            continue
        assert token == "("
        label = tokens.pop(0)
        if tokens[0] == "(":
            stack.append(len(brackets))
            brackets.append([re.split("[-=]", label)[0], len(terminals), None])
            continue
        word, end = tokens.pop(0), tokens.pop(0)
        assert end == ")"
        length += label != "-NONE-"
        if label not in DELETED:
            terminals.append((word, label))
    assert not stack
    brackets = [b for b in brackets if b[1] < b[2] and b[0] not in DELETED]
    return terminals, brackets, length


def evalb(gold_path, test_path, cut_off):
    """Returns the totals of sentences up to a length, in the report's order."""
    totals = [0] * 8
    lines = [p.read_text("utf-8").splitlines() for p in (gold_path, test_path)]
    for gold_line, test_line in zip(*lines, strict=True):
        gold_words, gold, length = read_as_evalb(gold_line)
        words, test, _ = read_as_evalb(test_line)
        if length > cut_off:
            continue
        is_error = [w for w, _ in gold_words] != [w for w, _ in words]
        free, matched = list(test), 0
        for label, *span in gold:
            same = ["ADVP", "PRT"] if label in ("ADVP", "PRT") else [label]
            matches = [b for b in free if b[0] in same and b[1:] == span]
            for bracket in matches[:1]:
                free.remove(bracket)
                matched += 1
        row = [1, is_error or not words, len(gold), len(test), matched]
        row += [matched == len(gold) == len(test), len(words)]
        row += [sum(a == b for a, b in zip(gold_words, words))]
        totals = [total + number for total, number in zip(totals, row)]
    return totals


class WriteEvalbTest:
    LABELS = ("S", "NP", "NP-SBJ-1", "NP=2", "ADVP", "PRT", "VP", "TOP", ":")
    TAGS = ("NN", "VB", "-LRB-", "NN-X", *PUNCTUATION)

    def corpus(self, num, max_words=15):
        gold, test = random_pairs(num, self.LABELS, self.TAGS, max_words)
        other = parse_tree("(TOP (S (NN other)))")
        return gold, [
            None if i % 20 == 0 else other if i % 20 == 1 else tree
            for i, tree in enumerate(test)
        ]

    def write(self, folder, gold, test):
        paths = folder / "gold.txt", folder / "test.txt"
        with paths[0].open("w") as gold_file, paths[1].open("w") as test_file:
            return paths, write_evalb(gold_file, test_file, gold, test)

    def test_evalb_reads_the_counts_of_parseval(self, tmp_path):
        gold, test = self.corpus(1000, max_words=50)
        paths, _ = self.write(tmp_path, gold, test)
        report = parseval(gold, test)
        assert report.num_failed == 100
        for cut_off, scores in ((1000, report), (40, report.up_to_40)):
            expected = dataclasses.astuple(scores)[:8]
            totals = evalb(*paths, cut_off)
            assert totals.pop(1) == 0  # errors and skips
            assert tuple(totals) == expected[:1] + expected[2:]

    @pytest.mark.skipif(not shutil.which("evalb"), reason="needs EVALB")
    def test_evalb_itself_prints_the_scores(self, tmp_path):
        gold, test = self.corpus(1500, max_words=50)
        paths, too_large = self.write(tmp_path, gold, test)
        assert not too_large
        (tmp_path / "COLLINS.prm").write_text(COLLINS)
        command = ["evalb", "-p", tmp_path / "COLLINS.prm", *paths]
        done = subprocess.run(command, capture_output=True, check=True)
        assert done.stderr == b""
        output = done.stdout.decode()
        report = parseval(gold, test)
        for name, key in (
            ("Number of Valid sentence", "num_sentences"),
            ("Bracketing Recall", "recall"),
            ("Bracketing Precision", "precision"),
            ("Bracketing FMeasure", "f1"),
            ("Complete match", "exact_match"),
            ("Tagging accuracy", "tag_accuracy"),
        ):
            printed = re.findall(rf"{name} *= *([\d.]+)", output)
            for value, scores in zip(printed, (report, report.up_to_40)):
                assert float(value) == round(getattr(scores, key), 2)

    def test_each_line_is_a_tree_under_one_top(self, tmp_path):
        texts = [
            "(TOP (S (NN a) (-LRB- -LRB-) (CD 1\\/2)))",
            "( (S (NN a)))",
            "(S (NN a))",
            "(NN a)",
        ]
        trees = [parse_tree(text) for text in texts]
        trees.append(Tree("", trees[2:3]))
        (gold_path, test_path), _ = self.write(tmp_path, trees, trees)
        lines = gold_path.read_text().splitlines()
        assert lines == test_path.read_text().splitlines()
        assert lines[0] == texts[0]
        assert lines[1] == lines[2] == lines[4] == "(TOP (S (NN a)))"
        assert lines[3] == "(TOP (NN a))"

    def test_failed_sentence_is_a_flat_tree_with_no_right_tag(self, tmp_path):
        gold = parse_tree("(TOP (S (NP (NN a) (-NONE- *)) (VP (VB b)) (. .)))")
        (_, path), _ = self.write(tmp_path, [gold], [None])
        assert path.read_text() == "(TOP (* a) (* b) (. .))\n"

    def test_words_that_count_are_those_of_the_gold_tree(self, tmp_path):
        gold = parse_tree("(TOP (S (NN a) (: -) (CD x) (VB b) (, ,)))")
        test = "(TOP (S (NN a) (SYM -) (-NONE- *) (. x) (JJ b) (: ,)))"
        (_, path), _ = self.write(tmp_path, [gold], [parse_tree(test)])
        expected = "(TOP (S (NN a) (: -) (-NONE- *) (.* x) (JJ b) (: ,)))\n"
        assert path.read_text() == expected

    @pytest.mark.parametrize(
        "text, fits",
        [
            ("(TOP" + " (NN a)" * 200 + ")", True),
            ("(TOP" + " (NN a)" * 200 + " (. .))", True),
            ("(TOP" + " (NN a)" * 201 + ")", False),
            ("(TOP " + "(NP " * 199 + "(NN a)" + ")" * 200, True),
            ("(TOP " + "(NP " * 200 + "(NN a)" + ")" * 201, False),
            (f"(TOP (NN {'ä' * 49}))", True),
            (f"(TOP (NN {'ä' * 50}))", False),
            ("(TOP" + f" (NN {'a' * 90})" * 60 + ")", False),
        ],
    )
    def test_trees_too_large_for_evalb_are_named(self, tmp_path, text, fits):
        small, tree = parse_tree("(TOP (NN a))"), parse_tree(text)
        _, too_large = self.write(tmp_path, [small, tree], [small, tree])
        assert too_large == ([] if fits else [2])

    def test_a_parse_alone_can_be_too_large_for_evalb(self, tmp_path):
        small = parse_tree("(TOP (NN a))")
        deep = parse_tree("(NP " * 200 + "(NN a)" + ")" * 200)
        _, too_large = self.write(tmp_path, [small] * 2, [deep, small])
        assert too_large == [1]

    def test_unequal_counts_are_an_error(self, tmp_path):
        with pytest.raises(ValueError, match="2 gold trees and 0 parses"):
            self.write(tmp_path, [Tree("NN", ("a",))] * 2, [])

    @needs_sample
    def test_treebank_comes_back_from_the_files(self, tmp_path):
        gold = list(read_treebank([f"{SAMPLE}:0160-0179"]))
        paths, too_large = self.write(tmp_path, gold, gold)
        assert not too_large
        for path in paths:
            assert list(read_treebank([str(path)])) == gold
        totals = evalb(*paths, 1000)
        report = parseval(gold, gold)
        assert report.f1 == report.tag_accuracy == report.exact_match == 100
        assert tuple(totals) == dataclasses.astuple(report)[:8]
