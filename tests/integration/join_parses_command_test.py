"""kt-join-parses joins what kt-decoder writes for several parsers."""

import pytest
from commands import assert_fails
from commands import call
from small_translators import make_run
from small_translators import make_tree_vocabulary
from small_treebank import split_of
from small_treebank import write_trees

from keras_transformer.bin import decoder
from keras_transformer.bin import join_parses
from keras_transformer.trees.tree import parse_tree

TEXT = "The dog barks.\n\nA dog runs in the park.\n"
OPTIONS = "num_hypotheses=3,extra_length=20"


@pytest.fixture(scope="module")
def parses(tmp_path_factory):
    """Files of the parses of two parsers with other linearizations."""
    folder = tmp_path_factory.mktemp("parses")
    text = folder / "text"
    text.write_text(TEXT, encoding="utf-8")
    paths = []
    for linearization in "in_order", "lexicalised":
        vocabulary = make_tree_vocabulary(
            folder / f"{linearization}.vocabulary", linearization
        )
        run = make_run(folder / linearization, vocabulary)
        paths.append(str(folder / f"{linearization}.tsv"))
        flags = (
            f"--output_dir={run.path}",
            f"--decode_from_file={text}",
            f"--decode_to_file={paths[-1]}",
            f"--decode_hparams={OPTIONS}",
        )
        assert call(decoder, *flags, "--alpha=0", "--write_scores") == 0
    return paths


class JoinParsesTest:
    def test_each_sentence_gets_one_tree_over_its_words(
        self, parses, tmp_path, capsys
    ):
        joined = tmp_path / "joined.trees"
        flags = f"--parses={','.join(parses)}", f"--joined={joined}"
        assert call(join_parses, *flags) == 0
        text = joined.read_text(encoding="utf-8")
        first, blank, second = text.splitlines()
        assert parse_tree(first).words() == ["The", "dog", "barks", "."]
        assert blank == ""
        assert parse_tree(second).words() == "A dog runs in the park .".split()
        capsys.readouterr()
        assert call(join_parses, flags[0]) == 0
        assert capsys.readouterr().out == text

    def test_the_parses_of_a_single_parser_stay(self, tmp_path, capsys):
        path = write_trees(tmp_path / "parser.trees", split_of("dev"))
        assert call(join_parses, f"--parses={path}") == 0
        with open(path, encoding="utf-8") as trees:
            assert capsys.readouterr().out == trees.read()

    def test_a_fault_leaves_the_output_as_it_was(
        self, parses, tmp_path, capsys
    ):
        joined, faulty = tmp_path / "joined.trees", tmp_path / "faulty.tsv"
        joined.write_text("before\n")
        with open(parses[0], encoding="utf-8") as lines:
            faulty.write_text(next(lines) + "\n(TOP\n", encoding="utf-8")
        flags = f"--parses={parses[0]},{faulty}", f"--joined={joined}"
        assert_fails(capsys, [f"{faulty}, line 3"], join_parses, *flags)
        assert joined.read_text() == "before\n"
        assert sorted(tmp_path.iterdir()) == [faulty, joined]

    def test_no_file_of_parses_is_replaced(self, parses, capsys):
        flags = f"--parses={','.join(parses)}", f"--joined={parses[1]}"
        assert_fails(capsys, ["must not be an input"], join_parses, *flags)
