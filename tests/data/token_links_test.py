"""Links between words become links between their tokens."""

import os

import numpy as np
import pytest
from number_problem import with_pairs

from keras_transformer.data.generation import token_links
from keras_transformer.data.generation.token_arrays import TokenArray
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.problems.translate_files import TranslateFiles
from keras_transformer.token_ids import WORD_START

SOURCES = ["the old house", "", "two green trees", "a house"] * 20
TARGETS = ["das alte Haus", "leer", "zwei grüne Bäume", "ein Haus"] * 20
LINKS = ["0-0 1-1  2-2", "", "2-2 0-0", "1-1 1-0"] * 20


@pytest.fixture
def files(tmp_path):
    for name, lines in (
        ("en", SOURCES),
        ("de", TARGETS),
        ("links", LINKS),
    ):
        text = "".join(f"{line}\n" for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return [str(tmp_path / name) for name in ("en", "de", "links")]


def generated(files, data_dir, **options):
    problem = TranslateFiles(str(data_dir))
    pair = tuple(files[:2])
    problem.use_files(
        {"train": pair, "dev": pair}, 300, alignments=files[2], **options
    )
    problem.generate(None)
    return problem


def texts_of_words(vocabulary, ids):
    """Returns the number of the word of each id, by its marks."""
    text, numbers = "", []
    for piece in vocabulary.pieces(ids[:-1]):
        text += piece
        numbers.append(text.count(WORD_START) - 1)
    return numbers


class WriteLinksTest:
    @pytest.mark.parametrize("shared", [True, False])
    def test_all_tokens_of_linked_words_are_linked(
        self, files, tmp_path, shared
    ):
        problem = generated(files, tmp_path / "d", shared_vocabulary=shared)
        token_links.read_links(problem)
        path = os.path.join(problem.directory, token_links.FILE)
        links = TokenArray(path)
        pairs = problem.token_pairs("train")
        # The pair with an empty side is left out, together with its line.
        expected = [line for line, text in zip(LINKS, SOURCES) if text]
        assert len(links) == len(pairs.inputs) == len(expected)
        for line, own, source, target in zip(expected, links, *pairs):
            sources = texts_of_words(problem.source_vocabulary, source)
            targets = texts_of_words(problem.vocabulary, target)
            by_hand = {
                (i, j)
                for i, source_word in enumerate(sources)
                for j, target_word in enumerate(targets)
                if f"{source_word}-{target_word}" in line.split()
            }
            assert set(map(tuple, own.reshape(-1, 2))) == by_hand

    @pytest.mark.parametrize(
        "line, message",
        [
            ("0-0 1:1", "line 3, '0-0 1:1'"),
            ("0-0,1-1", "pairs of word numbers"),
            ("0-9", "line 3 with 0-9, .* 3 words and the target 3"),
            ("0-0\n0-0", "81 lines, for 80 pairs"),
        ],
    )
    def test_a_faulty_file_is_an_error(self, files, tmp_path, line, message):
        lines = [*LINKS[:2], line, *LINKS[3:]]
        (tmp_path / "links").write_text("".join(f"{x}\n" for x in lines))
        with pytest.raises(ValueError, match=message):
            generated(files, tmp_path / "d")

    def test_a_file_without_links_is_an_error(self, files, tmp_path):
        (tmp_path / "links").write_text("\n" * len(LINKS))
        with pytest.raises(ValueError, match="no links"):
            generated(files, tmp_path / "d")

    def test_cleaning_would_lose_the_pairs(self, files, tmp_path):
        with pytest.raises(ValueError, match="with --clean"):
            generated(files, tmp_path / "d", clean=True)

    def test_other_alignments_are_other_data(self, files, tmp_path):
        generated(files, tmp_path / "d")
        (tmp_path / "links").write_text("0-0\n" * len(LINKS))
        with pytest.raises(ValueError, match="train_alignments=sha256"):
            generated(files, tmp_path / "d")

    @pytest.mark.parametrize("suffix", [".ids", ".offsets.npy"])
    def test_a_file_of_the_user_is_not_replaced(self, files, tmp_path, suffix):
        path = tmp_path / "d" / "translate_files" / f"train.links{suffix}"
        path.parent.mkdir(parents=True)
        path.write_text("my notes")
        with pytest.raises(ValueError, match="Move it elsewhere"):
            generated(files, tmp_path / "d")
        assert path.read_text() == "my notes"

    def test_links_disappear_with_the_data_that_had_them(self, tmp_path):
        problem = with_pairs(tmp_path)
        num_pairs = len(problem.pairs["train"])
        problem.settings = lambda: {token_links.SETTING: "by hand"}
        problem.training_alignments = lambda _: [("", [(0, 0)])] * num_pairs
        problem.generate(None)
        with_links = set(os.listdir(problem.directory))
        with_pairs(tmp_path).generate(None)
        assert with_links - set(os.listdir(problem.directory)) == {
            "train.links.ids",
            "train.links.offsets.npy",
        }

    def test_data_without_links_and_turned_data_guide_nothing(
        self, files, tmp_path
    ):
        problem = generated(files, tmp_path / "d")
        turned = TranslateFiles(problem.data_dir, reverse=True)
        plain = generated([*files[:2], None], tmp_path / "plain")
        for other in (turned, plain):
            with pytest.raises(ValueError, match="--train_alignments"):
                token_links.read_links(other)


class TokenLinksTest:
    @pytest.mark.parametrize("position", [-1, 9, 2**30])
    def test_a_position_without_a_token_is_named_before_training(
        self, files, tmp_path, position
    ):
        problem = generated(files, tmp_path / "d")
        path = os.path.join(problem.directory, token_links.FILE + ".ids")
        positions = np.fromfile(path, np.int32)
        positions[3] = position
        positions.tofile(path)
        with pytest.raises(ValueError, match="train.links.ids, whose links"):
            token_links.read_links(problem)

    def test_each_row_has_the_links_of_its_pair(self):
        links = TokenSequences(
            np.array([0, 1, 2, 0, 1, 1]), np.array([0, 4, 4, 6])
        )
        rows = np.array([2, -1, 1, 0])
        dense = token_links.TokenLinks(links).read(None, rows, (4, 4, 3))
        assert dense.shape == (4, 3, 4)
        assert dense.dtype == np.int32
        assert dense.max() == 1
        assert np.argwhere(dense).tolist() == [[0, 1, 1], [3, 0, 2], [3, 1, 0]]

    def test_a_generated_pair_has_the_links_of_its_file(self, files, tmp_path):
        problem = generated(files, tmp_path / "d")
        pairs = problem.token_pairs("train")
        sizes = [int(side.lengths.max()) for side in pairs]
        dense = token_links.read_links(problem).read(
            pairs, np.array([0]), (1, *sizes)
        )
        words = [
            texts_of_words(vocabulary, side[0])
            for vocabulary, side in zip(
                (problem.source_vocabulary, problem.vocabulary), pairs
            )
        ]
        # Line 0 links the words of both sides in order.
        linked = np.equal.outer(words[1], words[0])
        height, width = linked.shape
        np.testing.assert_array_equal(dense[0, :height, :width], linked)
        assert dense.sum() == linked.sum()
