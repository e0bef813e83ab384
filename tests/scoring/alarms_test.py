import numpy as np
import pytest

from keras_transformer.decoding.engines.attention import SPACED_WORD
from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.decoding.engines.attention import find_words
from keras_transformer.scoring.alarms import count_repetitions
from keras_transformer.scoring.alarms import find_alarms
from keras_transformer.scoring.alarms import is_short
from keras_transformer.scoring.alarms import leaves_out

SOURCES = [
    "fragmentation",
    "Why don't we see if Tom wants to play cards with us?",
    "Archive value %s is out of %s range %s..%s",
    "It supports ISO 639, ISO 639-3, and ISO 639-5.",
    "No, no, no, no! Ha ha ha ha ha!",
    "----------------------------------------",
    "我们在公园里散步。",
]


class FindAlarmsTest:
    @pytest.mark.parametrize("source", SOURCES)
    def test_a_copy_raises_none(self, source):
        assert find_alarms(source, source) == []

    @pytest.mark.parametrize(
        "translation",
        [
            "frammenti di frammenti di frammenti",
            "Eso es es es es un poco.",
            "jugar a jugar a jugar a las cartas",
            "L'algegegegegegegegegegegege",
            "E e e e e e e e e e e",
            "我们我们我们我们我们我们我们我们我们我们",
            "Ein Huck-BBBan-Ban-Ban-Le-Le-Le-Le-Band-Band",
            "s s s s s s",
        ],
    )
    def test_a_loop_raises_one_unless_the_source_has_it(self, translation):
        assert find_alarms(SOURCES[1], translation) == ["loop"]
        assert find_alarms(translation, translation) == []

    @pytest.mark.parametrize(
        "translation",
        [
            "poco a poco",
            "Dice que no, que no quiere.",
            "%s: %s: %s %s..%s",
            "ISO 639, ISO 639-3 e ISO 639-5",
            "Son las 10000000.",
            "versione 1, versione 2 e versione 3",
            "Anna, Anna e Anna",
            "Il punto A, il punto B e il punto C",
            "%lu %lu %lu",
        ],
    )
    def test_usual_repetitions_raise_none(self, translation):
        assert find_alarms(SOURCES[2], translation) == []

    def test_lengths_raise_them_from_a_limit_on(self):
        words = [f"word{number}" for number in range(60)]
        text = " ".join(words[:20])
        long, short = " ".join(words), "word0"
        assert find_alarms(text, long) == ["much_longer"]
        assert find_alarms(text, short) == ["much_shorter"]
        assert find_alarms("Hi.", " ".join(words[:6])) == []
        # Characters of Chinese count for more.
        assert find_alarms(SOURCES[-1] * 3, " ".join(words[:15])) == []

    def test_a_blank_text_raises_none(self):
        assert find_alarms("  ", "x" * 999) == []

    def test_only_a_text_without_letters_may_lack_a_translation(self):
        assert find_alarms("Hi.", " ") == ["much_shorter"]
        assert find_alarms("\u200b...", "") == []


class LeavesOutTest:
    def link(self, source, kept):
        """Returns links of a word-by-word copy of the `kept` words."""
        words = find_words(source, SPACED_WORD)
        weights = np.full((len(kept), len(words)), 0.02)
        for row, word in zip(weights, kept):
            row[word] = 0.8
        return WordLinks(words, [words[word] for word in kept], weights)

    @pytest.mark.parametrize(
        "kept, expected",
        [
            (range(7), False),
            (range(4), False),
            (range(3), True),
            ([0, 5, 6], True),
            ([1, 3, 5], False),
            ([], True),
        ],
    )
    def test_four_words_in_a_row_are_left_out(self, kept, expected):
        links = self.link("a b c d e f g", list(kept))
        assert leaves_out(links) == expected

    def test_punctuation_neither_is_a_word_nor_ends_a_gap(self):
        assert not leaves_out(self.link("a ( b , (c) ! .", []))
        assert leaves_out(self.link("a , b - c ! d .", []))

    def test_a_text_without_words_has_nothing_to_leave_out(self):
        assert not leaves_out(self.link("", []))
        assert not leaves_out(self.link("...!!!", []))

    def test_a_translation_is_short_by_its_characters(self):
        assert is_short("a" * 31, "b" * 20)
        assert not is_short("a" * 30, "b" * 20)
        assert not is_short(SOURCES[-1], "x" * 18)


class CountRepetitionsTest:
    def test_it_counts_what_was_repeated(self):
        phrase = ["a", "b", "c"]
        for number in (2, 3, 5):
            units = ["x", *number * phrase, "y"]
            assert count_repetitions(units, 8) == number
            assert count_repetitions(units, 2) == 1

    def test_short_texts_have_none(self):
        assert count_repetitions([], 8) == count_repetitions(["a"], 8) == 1
