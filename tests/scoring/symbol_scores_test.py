"""Exact match and error rates, against their definitions."""

import functools
import itertools

import pytest

from keras_transformer.scoring.comparison import compare
from keras_transformer.scoring.comparison import comparison_text
from keras_transformer.scoring.symbol_scores import count_edits
from keras_transformer.scoring.symbol_scores import symbol_report


@functools.cache
def count_by_recursion(first, second):
    if not first or not second:
        return len(first) + len(second)
    return min(
        count_by_recursion(first[1:], second[1:]) + (first[0] != second[0]),
        count_by_recursion(first[1:], second) + 1,
        count_by_recursion(first, second[1:]) + 1,
    )


class SymbolScoresTest:
    def test_edits_are_those_of_the_definition(self):
        texts = [
            "".join(letters)
            for length in range(5)
            for letters in itertools.product("ab", repeat=length)
        ]
        for first, second in itertools.product(texts, repeat=2):
            expected = count_by_recursion(first, second)
            assert count_edits(first, second) == expected

    @pytest.mark.parametrize(
        "output, references, expected",
        [
            ("s I t", ["s I t"], (100, 0, 0)),
            ("s  I t ", ["s I t"], (100, 0, 40)),  # of five characters
            ("S I t", ["s I t"], (0, 100 / 3, 20)),
            ("", ["s I t"], (0, 100, 100)),
            ("s I t", ["a", "s I d"], (0, 100 / 3, 20)),
            ("\xe3 t", ["a\u0303 t"], (100, 0, 0)),  # one nasal vowel
        ],
    )
    def test_scores_of_one_text(self, output, references, expected):
        first, *others = [[reference] for reference in references]
        scores = symbol_report([output], first, others).scores
        assert tuple(scores.values()) == pytest.approx(expected)

    def test_a_difference_says_which_is_better(self):
        references = ["a b c d"] * 40
        good = ["a b c d"] * 35 + ["a x c d"] * 5
        poor = ["a b c d"] * 5 + ["a x y d"] * 35
        rows = compare(good, poor, references, measure="symbol_error_rate")
        assert [row.this for row in rows] == pytest.approx(
            [87.5, 3.125, 12.5 / 7]
        )
        text = comparison_text(rows, ("good", "poor"))
        assert text.count("good is significantly better than poor.") == 3
