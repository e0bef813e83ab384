"""Joined parses against the consensus of all parses with their weights."""

import gzip
import itertools
import math
import random
import subprocess

import pytest
from tree_examples import constituents
from tree_examples import deep_tree

from keras_transformer.trees.consensus import find_consensus
from keras_transformer.trees.joining import join_parses
from keras_transformer.trees.joining import read_best_parses
from keras_transformer.trees.joining import read_parses
from keras_transformer.trees.tree import Tree
from keras_transformer.trees.tree import parse_tree

NOUN = "(TOP (NP (XX time) (XX flies)))"
VERB = "(TOP (VP (XX time) (XX flies)))"
OTHER = "(TOP (NP (XX time) (XX runs)))"


def random_parse(rng, words):
    """Returns a tree over words with two to three children at each node."""
    nodes = [Tree("XX", (word,)) for word in words]
    while len(nodes) > 1:
        start = rng.randrange(len(nodes) - 1)
        children = tuple(nodes[start : start + rng.choice([2, 3])])
        nodes[start : start + len(children)] = [
            Tree(rng.choice(["S", "NP", "VP"]), children)
        ]
    return Tree("TOP", tuple(nodes))


def random_parses(rng, words):
    """Returns pairs of a parse and its log-probability, the best first."""
    number = rng.choice([1, 2, 5])
    scores = sorted((rng.uniform(-900, -1) for _ in range(number)))[::-1]
    return [(random_parse(rng, words), score) for score in scores]


def line_of(parses):
    return "\t".join(f"{tree}\t{score:.6f}" for tree, score in parses) + "\n"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def join(tmp_path, *texts):
    paths = [
        write(tmp_path / f"{number}.tsv", text)
        for number, text in enumerate(texts)
    ]
    return list(join_parses(paths))


class JoinedParsesTest:
    def test_every_parser_has_the_same_weight(self, tmp_path):
        rng = random.Random(3)
        sentences = [[f"w{n}" for n in range(size)] for size in range(2, 9)]
        of_parsers = [
            [random_parses(rng, words) for words in sentences] for _ in range(3)
        ]
        texts = ["".join(map(line_of, parses)) for parses in of_parsers]
        joined = join(tmp_path, *texts)
        for tree, *parses in zip(joined, *of_parsers, strict=True):
            trees, weights = [], []
            for of_parser in parses:
                top = max(score for _, score in of_parser)
                total = sum(math.exp(score - top) for _, score in of_parser)
                trees += [one for one, _ in of_parser]
                weights += [
                    math.exp(score - top) / total for _, score in of_parser
                ]
            expected = find_consensus(trees, weights)
            assert constituents(tree) == constituents(expected)
            assert tree.words() == trees[0].words()

    def test_the_majority_of_single_parses_wins(self, tmp_path):
        for order in itertools.permutations([NOUN, NOUN, VERB]):
            (tree,) = join(tmp_path, *(f"{text}\n" for text in order))
            assert tree == parse_tree(NOUN)

    def test_a_parser_shares_its_weight_by_probability(self, tmp_path):
        sure = f"{VERB}\t-0.01\t{NOUN}\t-5\n"
        unsure = f"{NOUN}\t-0.5\t{VERB}\t-1.2\n"
        assert join(tmp_path, sure, unsure) == [parse_tree(VERB)]
        assert join(tmp_path, unsure, unsure) == [parse_tree(NOUN)]

    def test_parses_without_scores_share_equally(self, tmp_path):
        two = f"{NOUN}\t{VERB}\n"
        assert join(tmp_path, two, f"{VERB}\n") == [parse_tree(VERB)]
        assert join(tmp_path, two, f"{NOUN}\n") == [parse_tree(NOUN)]

    def test_a_parser_without_a_parse_does_not_count(self, tmp_path):
        first = f"\n{NOUN}\t-2\n\t0.000000\n"
        second = f"{VERB}\t-9\n \n\n"
        assert join(tmp_path, first, second) == [
            parse_tree(VERB),
            parse_tree(NOUN),
            None,
        ]

    def test_roots_of_other_parsers_are_the_same_root(self, tmp_path):
        bare = "(S (NP (NN time)) (VP (VBZ flies)))\n"
        trees = join(
            tmp_path, bare, f"(ROOT {bare.strip()})\n", f"( {bare.strip()})\n"
        )
        assert trees == [parse_tree(f"(TOP {bare.strip()})")]

    def test_deep_trees_are_joined(self, tmp_path):
        tree = deep_tree(900)
        assert join(tmp_path, f"{tree}\t-1\n", f"{tree}\t-5\n") == [tree]


class ReadParsesTest:
    def test_the_weights_of_a_line_have_the_sum_one(self, tmp_path):
        path = tmp_path / "parses.gz"
        lines = f"{NOUN}\t-1e5\t{VERB}\t-100001\r\n{NOUN}\n\n"
        path.write_bytes(gzip.compress(lines.encode()))
        two, one, none = read_parses(str(path))
        assert [weight for _, weight in one] == [1]
        assert none == []
        (_, first), (_, second) = two
        assert first + second == pytest.approx(1)
        assert first / second == pytest.approx(math.e)

    @pytest.mark.parametrize(
        "line, words",
        [
            (f"{NOUN}\t1e-9", "'1e-9'"),
            (f"{NOUN}\t83.2", "at most 0"),
            (f"{NOUN}\tnan", "'nan'"),
            (f"{NOUN}\t-inf", "'-inf'"),
            (f"{NOUN}\t-1\t{VERB}", "2 parses and 1 scores"),
            (f"{NOUN}\t-1\t{VERB}\tbest", "'best'"),
            (f"{NOUN}\t-1\t{VERB}\t{VERB}", "(TOP (VP"),
            (f"{NOUN}\t{VERB}\t-1", "stand alone"),
            (f"{NOUN}\tbest", "'best'"),
            (f"{NOUN}\t-1_0", "'-1_0'"),
            (f"{NOUN}\t -1", "' -1'"),
            (f"-1\t{NOUN}", "stand alone"),
            ("no tree", "stand alone"),
            ("(TOP (NP (XX time))", "balance"),
            ("(TOP (NP (-NONE- *)))", "traces alone"),
        ],
    )
    def test_a_fault_is_named_with_its_line(self, line, words, tmp_path):
        path = write(tmp_path / "parses.tsv", f"{NOUN}\t-1\n{line}\n")
        with pytest.raises(ValueError) as caught:
            list(read_parses(path))
        assert words in str(caught.value)
        assert f"{path}, line 2" in str(caught.value)


class ReadBestParsesTest:
    @pytest.mark.parametrize(
        "line",
        ["", "\u00a0", "(())", "( ( ) )", "()", "( )\t0", "(TOP)", "(S1 ())"],
    )
    def test_a_line_without_words_is_a_failed_parse(self, tmp_path, line):
        path = tmp_path / "parses"
        path.write_text(f"{NOUN}\n{line}\n{VERB}\t{NOUN}\n")
        noun, verb = map(parse_tree, (NOUN, VERB))
        assert read_best_parses(str(path), 3) == [noun, None, verb]
        first, failed, last = read_parses(path)
        assert (failed, len(first), len(last)) == ([], 1, 2)

    def test_an_empty_tree_of_a_treebank_is_a_failed_parse(self, tmp_path):
        path = tmp_path / "parses"
        path.write_text(f"{NOUN}\n\n(())\n\n{VERB}\n")
        noun, verb = map(parse_tree, (NOUN, VERB))
        assert read_best_parses(str(path), 3) == [noun, None, verb]

    @pytest.mark.parametrize("line", ["((", "(NP)", "(TOP (NP))", "null"])
    def test_another_line_without_a_tree_is_a_fault(self, tmp_path, line):
        path = tmp_path / "parses"
        path.write_text(f"{NOUN}\n{line}\n")
        with pytest.raises(ValueError, match="parses, line 2, "):
            read_best_parses(str(path), 2)

    def test_what_follows_the_first_parse_does_not_matter(self, tmp_path):
        path = tmp_path / "parses"
        path.write_text(f"{NOUN}\t85.0\n\t0.0\n{VERB}\t?\n")
        noun, verb = map(parse_tree, (NOUN, VERB))
        assert read_best_parses(str(path), 3) == [noun, None, verb]

    @pytest.mark.parametrize("number", [2, 3])
    def test_a_pipe_is_read_as_a_file(self, tmp_path, number):
        path = tmp_path / "parses"
        path.write_text(f"{NOUN}\n\n{VERB}\n")
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
            pipe = f"/dev/fd/{cat.stdout.fileno()}"
            from_pipe = read_best_parses(pipe, number)
        assert from_pipe == read_best_parses(str(path), number)
        assert from_pipe.count(None) == number - 2

    def test_a_fault_is_named_whatever_the_number_of_lines(self, tmp_path):
        path = tmp_path / "parses"
        path.write_bytes(
            f"{NOUN}\n(NN \udcfc)\n".encode(errors="surrogateescape")
        )
        for number in (2, 3):
            with pytest.raises(ValueError, match="parses, line 2 is not UTF-8"):
                read_best_parses(str(path), number)

    def test_a_treebank_needs_no_line_for_each_sentence(self, tmp_path):
        path = tmp_path / "wsj.mrg"
        path.write_text(
            f"{NOUN}\n\n{VERB.replace(' (VP', chr(10) + '  (VP')}\n"
        )
        trees = [parse_tree(NOUN), parse_tree(VERB)]
        assert read_best_parses(str(path), 2) == trees
        assert read_best_parses(str(tmp_path), 6) == trees


class FaultyFilesTest:
    def test_files_must_have_a_line_for_each_sentence(self, tmp_path):
        for texts in itertools.permutations([f"{NOUN}\n", f"{NOUN}\n\n"]):
            with pytest.raises(ValueError, match="ends before line 2"):
                join(tmp_path, *texts)

    def test_the_parses_must_have_the_same_words(self, tmp_path):
        for texts in ([NOUN, OTHER], [f"{NOUN}\t-1\t{OTHER}\t-2"]):
            with pytest.raises(ValueError) as caught:
                join(tmp_path, *(f"\n{text}\n" for text in texts))
            message = str(caught.value)
            assert "line 2" in message
            assert "'time flies'" in message and "'time runs'" in message
