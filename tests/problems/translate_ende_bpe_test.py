"""Tests of the problem with the paper's own tokens, on a small corpus."""

import pytest
from bpe_corpus import COUNTS
from bpe_corpus import STEMS
from bpe_corpus import SYMBOLS
from bpe_corpus import make_corpus

from keras_transformer import registry
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import UNKNOWN_ID

NAME = "translate_ende_wmt_bpe32k"


@pytest.fixture
def tmp_dir(tmp_path):
    path = tmp_path / "tmp"
    path.mkdir()
    return path


@pytest.fixture
def lines(tmp_dir, monkeypatch):
    return make_corpus(tmp_dir, monkeypatch)


@pytest.fixture
def problem(tmp_path):
    return registry.get_problem(NAME, str(tmp_path / "data"))


def ids_of(line):
    """Returns the ids of a line, which are the places in the vocabulary."""
    return [*(SYMBOLS.index(symbol) for symbol in line.split(" ")), END_ID]


class TranslateEndeBpeTest:
    def test_the_model_sees_exactly_these_tokens(self, problem, lines, tmp_dir):
        problem.generate(str(tmp_dir))
        assert problem.vocabulary.vocab_size == len(SYMBOLS)
        for split in STEMS:
            for tokens, side in zip(problem.token_pairs(split), lines[split]):
                assert len(tokens.lengths) == COUNTS[split]
                for number, line in enumerate(side):
                    assert list(tokens[number]) == ids_of(line)

    def test_references_are_joined_and_sources_are_not(
        self, problem, lines, tmp_dir
    ):
        problem.generate(str(tmp_dir))
        sources, references = problem.text_split("test")
        assert sources == lines["test"][0]
        assert references == [t.replace("@@ ", "") for t in lines["test"][1]]
        assert references == problem.vocabulary.decode(
            [problem.token_pairs("test").targets[n] for n in range(4)]
        )

    def test_reverse_problem_swaps_the_sides(self, problem, lines, tmp_dir):
        problem.generate(str(tmp_dir))
        reverse = registry.get_problem(NAME + "_rev", problem.data_dir)
        sources, references = reverse.text_split("dev")
        assert sources == lines["dev"][1]
        assert references == [t.replace("@@ ", "") for t in lines["dev"][0]]
        assert list(reverse.token_pairs("dev").inputs[0]) == ids_of(sources[0])

    def test_a_word_of_dev_may_be_unknown(self, problem, lines, tmp_dir):
        path = tmp_dir / f"{STEMS['dev']}.en"
        path.write_text(path.read_text().replace("in\n", "new\n"))
        problem.generate(str(tmp_dir))
        assert problem.token_pairs("dev").inputs[0][-2] == UNKNOWN_ID

    def test_missing_files_are_named_in_one_line(self, problem, tmp_dir):
        with pytest.raises(ValueError) as error:
            problem.generate(str(tmp_dir))
        message = str(error.value)
        assert "\n" not in message
        for stem in STEMS.values():
            assert stem + ".{en,de}" in message
        assert "vocab.bpe.32000" in message
        assert "wmt16_en_de.tar.gz" in message
        assert f"Place in {tmp_dir}" in message

    def test_one_missing_file_is_named(self, problem, lines, tmp_dir):
        (tmp_dir / "vocab.bpe.32000").unlink()
        with pytest.raises(
            ValueError, match="lacks some files.*: vocab.bpe.32000. Place"
        ):
            problem.generate(str(tmp_dir))

    def test_another_count_is_an_error(self, problem, lines, tmp_dir):
        for code in ("en", "de"):
            with open(tmp_dir / f"{STEMS['test']}.{code}", "a") as file:
                file.write("in\n")
        with pytest.raises(ValueError, match="must have 4 pairs.*with 5"):
            problem.generate(str(tmp_dir))

    def test_numbers_of_pairs_are_those_of_newstest(self, problem):
        assert problem.num_pairs == {"dev": 3000, "test": 3003}
