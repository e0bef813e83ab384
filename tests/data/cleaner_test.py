"""Tests of the cleaner and its report."""

import random

import pytest

from keras_transformer.data.cleaning import cleaner as cleaner_module
from keras_transformer.data.cleaning.cleaner import DEFAULT_RULES
from keras_transformer.data.cleaning.cleaner import NUM_SAMPLES
from keras_transformer.data.cleaning.cleaner import RULES
from keras_transformer.data.cleaning.cleaner import Cleaner
from keras_transformer.data.cleaning.cleaner import CleaningOptions
from keras_transformer.data.cleaning.cleaner import Report

# A pair for each rule that drops it, and good short ones.
BAD = {
    "empty": ("Yes.", " "),
    "too_long": ("long " * 300, "lang " * 300),
    "length_ratio": ("@@", "Girls weave corn stalks into designs."),
    "identical": ("Nobody has translated this sentence.",) * 2,
    "encoding": ("A bear", "Ein BÃ¤r"),
    "markup": ("<p class='x'>A bear</p>", "<p class='x'>Ein Bär</p>"),
    "script": ("Москва", "Moskau"),
    "held_out": ("a man sleeps", "Er schläft."),
    "duplicate": ("Yes.", "Ja."),
    "near_duplicate": ("Yes!", "Ja!"),
}
GOOD = [
    ("Yes.", "Ja."),
    ("Help!", "Zu Hilfe! Zu Hilfe!"),
    ("Tom.", "Tom."),
    ("I", "Ich"),
]
ALL = CleaningOptions(
    rules=RULES,
    source_scripts=frozenset({"latin"}),
    held_out=("A man sleeps.",),
)


class CleanerTest:
    def test_each_rule_drops_its_pair_and_no_good_one(self):
        judged = list(Cleaner(ALL).judge([*GOOD, *BAD.values()]))
        assert judged == [
            *((pair, None) for pair in GOOD),
            *((pair, name) for name, pair in BAD.items()),
        ]

    def test_a_rule_that_is_off_drops_nothing(self):
        for name in RULES:
            others = tuple(other for other in RULES if other != name)
            cleaner = Cleaner(CleaningOptions(rules=others))
            assert name not in {rule for _, rule in cleaner.judge(BAD.values())}
        nothing = Cleaner(CleaningOptions(rules=()))
        assert list(nothing.filter_pairs(BAD.values())) == list(BAD.values())

    def test_near_duplicates_stay_by_default(self):
        assert set(RULES) - set(DEFAULT_RULES) == {"near_duplicate"}
        pairs = [
            ("You're here?", "Du bist da?"),
            ("You're here.", "Du bist da."),
        ]
        assert list(Cleaner().filter_pairs(pairs)) == pairs

    def test_a_dropped_pair_makes_no_later_one_a_duplicate(self):
        options = CleaningOptions(rules=("encoding", "near_duplicate"))
        pairs = [("Yes.\ufffd", "Ja."), ("Yes.", "Ja."), ("Yes!", "Ja!")]
        names = [name for _, name in Cleaner(options).judge(pairs)]
        assert names == ["encoding", None, "near_duplicate"]

    def test_size_of_the_chunks_changes_nothing(self, monkeypatch):
        generator = random.Random(0)
        pairs = generator.choices([*GOOD, *BAD.values()], k=300)
        expected = Cleaner(ALL)
        judged = list(expected.judge(pairs))
        for size in (1, 7, 300):
            monkeypatch.setattr(cleaner_module, "_PAIRS_AT_ONCE", size)
            cleaner = Cleaner(ALL)
            assert list(cleaner.judge(pairs)) == judged
            assert cleaner.report.samples == expected.report.samples

    def test_report_counts_what_was_judged(self):
        cleaner = Cleaner(ALL)
        assert list(cleaner.filter_pairs([*GOOD, *BAD.values()])) == GOOD
        assert cleaner.report.num_read == len(GOOD) + len(BAD)
        assert cleaner.report.num_kept == len(GOOD)
        # Few pairs teach nothing.
        expected = dict.fromkeys(BAD, 1) | dict.fromkeys(
            ("wrong_side", "alignment"), 0
        )
        assert cleaner.report.dropped == expected

    @pytest.mark.parametrize(
        "options, words",
        [
            ({"rules": ("empti",)}, "'empti'. Did you mean: empty"),
            ({"rules": ("script",)}, "follow from their options"),
            ({"max_ratio": 0.5}, "max_ratio=0.5"),
        ],
    )
    def test_wrong_option_is_an_error(self, options, words):
        with pytest.raises(ValueError, match=words):
            CleaningOptions(**options)


class ReportTest:
    def test_the_same_text_gives_the_same_samples(self):
        reports = [Report(["empty"]), Report(["empty"])]
        for report in reports:
            for number in range(50):
                report.add((str(number), ""), "empty")
            assert len(report.samples["empty"]) == NUM_SAMPLES
        assert reports[0].samples == reports[1].samples

    def test_every_pair_is_sampled_equally_often(self):
        report = Report(["empty"])
        counts = [0] * 20
        for _ in range(2000):
            report.dropped["empty"] = 0
            report.samples["empty"].clear()
            for number in range(20):
                report.add((number, number), "empty")
            for number, _ in report.samples["empty"]:
                counts[number] += 1
        assert 400 < min(counts) <= max(counts) < 600

    def test_control_characters_do_not_reach_the_terminal(self):
        report = Report(["encoding"])
        report.num_read = 1
        report.add(("\x1b[2Jx\r", "y" * 100), "encoding")
        (line,) = [line for line in report.lines() if "x" in line]
        assert "'\\x1b[2Jx\\r'" in line
        assert line.endswith(f"'{'y' * 60}...'")

    def test_no_pair_gives_a_table(self):
        assert list(Report([]).lines())[-1].split() == ["read", "0"]
