"""Wrong attributes of a user's own problem are named with their class."""

import os
import re

import pytest
from number_problem import with_pairs

ENTRY = {"name": "half", "sha256": [], "weight": 1}


def two_corpora(data_dir):
    """Returns the problem with each split divided into two corpora."""
    problem = with_pairs(data_dir)
    problem.text_corpora = lambda split, tmp_dir: [
        problem.pairs[split][::2],
        problem.pairs[split][1::2],
    ]
    return problem


class AttributesTest:
    @pytest.mark.parametrize(
        "name, value",
        [
            ("vocab_size", None),
            ("vocab_size", 320.0),
            ("vocab_size", "320"),
            ("vocab_size", 0),
            ("vocab_size", True),
            ("source_vocab_size", 300.0),
            ("vocabulary_temperature", 0),
            ("vocabulary_temperature", 0.5),
            ("vocabulary_temperature", float("nan")),
            ("vocabulary_temperature", "5"),
            ("character_coverage", 0),
            ("character_coverage", "0.9"),
            ("splits", ("dev",)),
            ("splits", "train"),
            ("splits", ("train", "dev", "dev")),
            ("splits", ("train", 1)),
            ("splits", ("train", "")),
            ("splits", ("train", "a/../b")),
            ("splits", None),
            ("user_symbols", "<num>"),
            ("user_symbols", ("<num>", 1)),
            ("user_symbols", None),
            ("inputs_language", None),
            ("targets_language", 1),
        ],
    )
    def test_a_wrong_value_is_named_with_its_class(self, tmp_path, name, value):
        problem = with_pairs(tmp_path)
        setattr(problem, name, value)
        words = re.escape(f"Received: Numbers.{name} = {value!r}. Write for ")
        with pytest.raises(ValueError, match=f"`{name}` of a .*{words}"):
            problem.generate(None)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("symbol", ["a b", "<pad>", ""])
    def test_a_text_that_is_no_symbol_is_named_with_the_class(
        self, tmp_path, symbol
    ):
        problem = with_pairs(tmp_path)
        problem.user_symbols = (symbol,)
        words = f"Received: '{symbol}', which .* Correct Numbers.user_symbols"
        with pytest.raises(ValueError, match=words):
            problem.generate(None)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(
        "described",
        [
            [ENTRY],
            [ENTRY, {"name": "b", "weight": 1}],
            [ENTRY, {**ENTRY, "sha256": "0"}],
            [ENTRY, {**ENTRY, "weight": 0}],
            [ENTRY, {**ENTRY, "weight": "1"}],
            [ENTRY, {**ENTRY, "tag": 1}],
            [ENTRY, "b"],
        ],
    )
    def test_a_wrong_description_of_corpora_is_refused_before_encoding(
        self, tmp_path, described
    ):
        problem = two_corpora(tmp_path)
        problem.describe_corpora = {
            "train": [ENTRY, ENTRY],
            "dev": described,
            "test": [],
        }.get
        words = r"Numbers.describe_corpora\('dev'\) = .* returns 2. Give each"
        with pytest.raises(ValueError, match=words):
            problem.generate(None)
        assert os.listdir(tmp_path) == []

    def test_a_description_of_each_corpus_is_recorded(self, tmp_path):
        problem = two_corpora(tmp_path)
        problem.describe_corpora = lambda split: [ENTRY, ENTRY]
        splits = problem.generate(None)["splits"]
        assert splits["train"]["corpora"] == [
            {**ENTRY, "pairs": 30},
            {**ENTRY, "pairs": 30},
        ]

    def test_no_size_is_needed_for_given_symbols(self, tmp_path):
        problem = with_pairs(tmp_path)
        problem.vocab_size = None
        pairs = problem.pairs["train"]
        symbols = {word for pair in pairs for word in " ".join(pair).split()}
        problem.bpe_symbols = lambda tmp_dir: sorted(symbols)
        manifest = problem.generate(None)
        assert manifest["made_from"]["vocab_size"] is None
        # Separate vocabularies are always trained.
        problem.shared_vocabulary = False
        with pytest.raises(ValueError, match="Numbers.vocab_size = None"):
            problem.generate(None)
