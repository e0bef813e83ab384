"""Tests of the rules that learn from the text, on a made-up language."""

import random
import tracemalloc
import warnings

import pytest

from keras_transformer.data.cleaning import alignment as alignment_module
from keras_transformer.data.cleaning.alignment import MIN_PAIRS
from keras_transformer.data.cleaning.alignment import AlignmentRule
from keras_transformer.data.cleaning.alignment import WrongSideRule

# Each word of the one language is a word of the other.
WORDS = {f"word{number}": f"wort{number}" for number in range(1000)}
# As in real text, a few words make up most of it.
WEIGHTS = [1 / (rank + 3) for rank in range(len(WORDS))]


def make_pairs(number, seed=0):
    draw = random.Random(seed)
    sources = [
        draw.choices(list(WORDS), WEIGHTS, k=draw.randint(3, 12))
        for _ in range(number)
    ]
    return [
        (" ".join(words), " ".join(WORDS[word] for word in reversed(words)))
        for words in sources
    ]


def measure_peak(number):
    """Returns the bytes that learning from some pairs takes."""
    pairs = make_pairs(number)
    pairs[0] = ("x" * 100_000, "y" * 100_000)
    peaks = []
    # In one of the two, Python's table of interned words may grow, too.
    for _ in range(2):
        tracemalloc.start()
        rule = AlignmentRule()
        rule.learn(pairs)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert sum(rule.find_drops(make_pairs(500, seed=1))) < 25
    return min(peaks)


@pytest.fixture(scope="module")
def alignment():
    rule = AlignmentRule()
    rule.learn(make_pairs(3000))
    return rule


class AlignmentRuleTest:
    def test_translations_stay_and_others_are_dropped(self, alignment):
        pairs = make_pairs(500, seed=1)
        assert sum(alignment.find_drops(pairs)) == 0
        sources, targets = zip(*pairs)
        shifted = list(zip(sources, targets[1:]))
        drops = alignment.find_drops(shifted)
        # A tenth of random pairs lies above the limit by its definition.
        assert 0.8 < sum(drops) / len(drops) < 1

    def test_shifted_pairs_do_not_teach_that_they_are_right(self):
        pairs = make_pairs(4000)
        positions = range(0, 4000, 20)
        for position in positions:
            pairs[position] = pairs[position][0], pairs[position + 1][1]
        rule = AlignmentRule()
        rule.learn(pairs)
        drops = rule.find_drops(pairs)
        assert sum(drops[position] for position in positions) > 100
        assert sum(drops) - sum(drops[p] for p in positions) < 10

    def test_a_target_of_many_sources_is_dropped(self):
        pairs = make_pairs(3000)
        message = "cette page n'existe plus sur notre site"
        for position in range(0, 1000, 100):
            pairs[position] = pairs[position][0], message
        rule = AlignmentRule()
        rule.learn(pairs)
        drops = rule.find_drops(pairs)
        dropped = [pair for pair, is_bad in zip(pairs, drops) if is_bad]
        assert sum(target == message for _, target in dropped) >= 7
        assert sum(target != message for _, target in dropped) < 10

    def test_unknown_and_few_words_are_no_reason(self, alignment):
        pairs = [("word1 word2", "wort8 wort9"), ("a b c d", "e f g h")]
        pairs += [("", "wort1 wort2 wort3"), ("!", "?")]
        assert alignment.find_drops(pairs) == [False] * 4
        assert alignment.find_drops([("Thanks!", "Danke!")]) == [False]
        assert alignment.find_drops([]) == []

    def test_memory_is_bounded(self, monkeypatch):
        """Neither many links nor a long word take more of it."""
        monkeypatch.setattr(alignment_module, "MAX_LINKS", 50_000)
        peaks = [measure_peak(1_500), measure_peak(7_500)]
        assert peaks[1] < 3 * peaks[0] < 30e6

    def test_a_short_text_teaches_nothing(self):
        for rule in (AlignmentRule(), WrongSideRule()):
            rule.learn(make_pairs(MIN_PAIRS - 1))
            bad = [pair[::-1] for pair in make_pairs(50, seed=1)]
            assert not any(rule.find_drops(bad))

    def test_a_text_of_signs_alone_teaches_nothing(self):
        rule = AlignmentRule()
        with warnings.catch_warnings(action="error"):
            rule.learn([("?!", "...")] * MIN_PAIRS)
        assert not any(rule.find_drops(make_pairs(50, seed=1)))


class WrongSideRuleTest:
    def test_exchanged_and_copied_sides_are_dropped(self):
        pairs = make_pairs(2000)
        rule = WrongSideRule()
        rule.learn([*pairs[100:], *(pair[::-1] for pair in pairs[:100])])
        assert not any(rule.find_drops(pairs))
        sources, targets = zip(*pairs)
        for bad in ((targets, sources), (sources, sources), (targets, targets)):
            drops = rule.find_drops(list(zip(*bad)))
            # Pairs of fewer than three frequent words stay.
            assert sum(drops) > 0.95 * len(drops)

    def test_words_of_both_sides_are_no_reason(self):
        names = ("Anna Berlin Otto", "Otto Berlin Anna")
        rule = WrongSideRule()
        rule.learn([*make_pairs(2000), *[names] * 20])
        assert (
            rule.find_drops([names, ("Anna Otto Berlin",) * 2]) == [False] * 2
        )

    def test_names_that_translations_keep_are_no_reason(self):
        # Rather more frequent in sources, because some translations lack them.
        names = "Anna Berlin Otto"
        sources = [(names, "wort1 wort2")] * 10
        rule = WrongSideRule()
        rule.learn([*make_pairs(2000), *[(names, names)] * 20, *sources])
        assert rule.find_drops([(names, names)]) == [False]
