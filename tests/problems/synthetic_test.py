"""Tests of the synthetic problems."""

import pytest

from keras_transformer.problems.toy import Copy
from keras_transformer.problems.toy import Reverse
from keras_transformer.registry import get_problem

SPLITS = {"train": 10_000, "dev": 200, "test": 200}


class SyntheticTest:
    def test_copy_repeats_the_source(self):
        pairs = list(Copy().text_pairs("dev", None))
        assert all(source == target for source, target in pairs)

    def test_reverse_turns_the_words_around(self):
        for source, target in Reverse().text_pairs("dev", None):
            assert target.split() == source.split()[::-1]

    def test_no_source_occurs_twice_in_any_split(self):
        sources = [
            source
            for split, num_pairs in SPLITS.items()
            for source, _ in Copy().text_pairs(split, None)
        ]
        assert len(sources) == len(set(sources)) == sum(SPLITS.values())

    def test_the_text_is_always_the_same(self):
        first, second = (
            list(Reverse().text_pairs("test", None)) for _ in range(2)
        )
        assert first == second
        assert first[0][0] == "m m l q a"

    @pytest.mark.parametrize("name", ["copy", "reverse"])
    def test_each_symbol_is_one_token(self, name, tmp_path):
        problem = get_problem(name, data_dir=str(tmp_path))
        problem.generate(None)
        for split, num_pairs in SPLITS.items():
            lengths = problem.token_pairs(split).inputs.lengths
            assert len(lengths) == num_pairs
            assert (lengths.min(), lengths.max()) == (4, 13)
