"""Tests of the rules about duplicates and of their set of hashes."""

import numpy as np

from keras_transformer.data.cleaning.alignment import DuplicateRule
from keras_transformer.data.cleaning.alignment import HashSet
from keras_transformer.data.cleaning.rules import normal_form

MANY = 200_000


class HashSetTest:
    def test_it_agrees_with_a_set_of_python(self):
        generator = np.random.default_rng(0)
        hashes = HashSet()
        before = set()
        for length in [0, 1, 7, 100, 1, 1, 3000, 20, 20, 500] * 3:
            new = generator.integers(0, 8000, length, np.uint64)
            expected = []
            for value in new.tolist():
                expected.append(value in before)
                before.add(value)
            assert hashes.add(new).tolist() == expected
        assert sum(map(len, hashes._arrays)) == len(before)

    def test_extreme_values_are_kept_apart(self):
        hashes = HashSet()
        extremes = np.array([0, 2**64 - 1, 2**63], np.uint64)
        assert hashes.add(extremes).tolist() == [False] * 3
        assert hashes.add(extremes + 1).tolist() == [False, True, False]

    def test_it_takes_8_bytes_for_each_value(self):
        hashes = HashSet()
        for start in range(0, MANY, 10_000):
            hashes.add(np.arange(start, start + 10_000, dtype=np.uint64))
        arrays = hashes._arrays
        assert sum(array.nbytes for array in arrays) == 8 * MANY
        assert all(array.base is None for array in arrays)
        assert len(arrays) <= 5


class DuplicateRuleTest:
    def test_only_later_pairs_are_dropped(self):
        rule = DuplicateRule("duplicate", str)
        assert rule.find_drops([("a", "b"), ("a", "c"), ("a", "b")]) == [
            0,
            0,
            1,
        ]
        assert rule.find_drops([("a", "c"), ("a", "d")]) == [1, 0]

    def test_both_sides_have_to_be_the_same(self):
        rule = DuplicateRule("duplicate", str)
        pairs = [("a", "b c"), ("a b", "c"), ("b c", "a"), ("", "a"), ("a", "")]
        assert rule.find_drops(pairs) == [False] * 5

    def test_near_duplicates_differ_in_signs_only(self):
        rule = DuplicateRule("near_duplicate", normal_form)
        pairs = [
            ("It's 3:10!", "Es ist 3.10 Uhr!"),
            ("its 4 10", "ES IST 4.10 UHR"),
            ("It's 3:10!", "Es ist bald 3.10 Uhr!"),
        ]
        assert rule.find_drops(pairs) == [False, True, False]

    def test_no_pair_is_no_error(self):
        assert DuplicateRule("duplicate", str).find_drops([]) == []
