"""The parses of a file, of which some failed."""

import subprocess

import pytest

from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.treebank import read_best_parses

NOUN = "(TOP (NP (XX time) (XX flies)))"
VERB = "(TOP (VP (XX time) (XX flies)))"


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
