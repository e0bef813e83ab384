"""A text of several lines or sentences is translated sentence by sentence."""

import importlib.util

import numpy as np
import pytest

from keras_transformer.decoding.engines.attention import Word
from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.passages import Passages
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.translation import Translation

pytest.importorskip("sentencex")

TEXTS = [
    "A dog barks.",
    "A dog barks. Is it big? Yes!",
    "First line\nSecond line.\r\n\n  Third one. Fourth one.\n",
    "1. 2. 3.",
    "***\n17\n",
    "",
    " \n",
    "  Two  spaces.  ",
    "x.y.z a.b\tc. D",
]


def translate(sentences, links=None):
    return [
        Translation([Hypothesis(text.upper(), -1.0, [1])], [], links)
        for text in sentences
    ]


class PassagesTest:
    def test_every_character_comes_back_in_its_place(self):
        divided = Passages(Window(TEXTS), "en")
        joined = divided.join(translate(divided.window.texts))
        for text, translation in zip(TEXTS, joined, strict=True):
            assert translation.hypotheses[0].text == text.upper()

    def test_sentences_and_lines_are_translated_apart(self):
        sentences = Passages(Window(TEXTS[1:3]), "en").window.texts
        assert sentences[:3] == ["A dog barks.", "Is it big?", "Yes!"]
        assert sentences[3:] == [
            "First line",
            "Second line.",
            "Third one.",
            "Fourth one.",
        ]

    @pytest.mark.parametrize("text", [TEXTS[0], *TEXTS[3:4], TEXTS[5], " a "])
    def test_a_text_of_one_sentence_stays_as_it_is(self, text):
        assert Passages(Window([text]), "en").window.texts == [text]

    def test_without_the_library_line_ends_divide(self, monkeypatch):
        find = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name: None if name == "sentencex" else find(name),
        )
        sentences = Passages(Window(["Dog. Cat.\nOne."]), "en").window.texts
        assert sentences == ["Dog. Cat.", "One."]

    def test_sentences_without_a_space_between_them_get_one(self):
        divided = Passages(Window(["你好。再见。"]), "zh")
        assert divided.window.texts == ["你好。", "再见。"]
        ((best, *_), *_) = divided.join(translate(divided.window.texts))[0]
        assert best.text == "你好。 再见。"

    def test_sentences_of_a_prefix_begin_the_first_translations(self):
        prefixes = ["Eins. Zwei. D", "Hund. B", "", "Zu. Viele."]
        texts = ["One. Two.", "Dog. Cat. Man.", "Old. New.", "One"]
        divided = Passages(Window(texts, 0, prefixes), "en").window
        assert divided.prefixes == [
            *("Eins.", "Zwei. D"),
            *("Hund.", "B", ""),
            *("", ""),
            "Zu. Viele.",
        ]

    def test_warnings_are_joined_and_scores_averaged(self):
        divided = Passages(Window(["Dog. Cat. Man."]), "en")
        parts = [
            Translation([Hypothesis("a", -1.0)], ["loop"], None, 0.9),
            Translation([Hypothesis("b", -2.0)], ["loop", "split"], None, 0.2),
            Translation([Hypothesis("c", -6.0)], [], None, 0.5),
        ]
        (joined,) = divided.join(parts)
        assert joined.hypotheses[0].score == pytest.approx(-3)
        assert joined.warnings == ["loop", "split"]
        assert joined.quality == 0.2

    def test_links_count_the_words_of_the_whole_text(self):
        divided = Passages(Window(["a b.\n17\nc d."]), "en")
        words = [Word("a", 0, 1), Word("b.", 2, 4)]
        crossed = WordLinks(words, words, np.eye(2)[::-1], [-1.0, -2.0])
        (joined,) = divided.join(translate(["a b.", "c d."], crossed))
        pairs = [(1, 0), (0, 1), (2, 2), (4, 3), (3, 4)]
        assert joined.links.find_pairs() == pairs
        assert joined.links.scores == [-1.0, -2.0, 0.0, -1.0, -2.0]
        (joined,) = Passages(Window(["17\n+ 3"]), "en").join([])
        assert joined.links.find_pairs() == [(0, 0), (1, 1), (2, 2)]

    def test_links_count_what_no_model_reads(self):
        divided = Passages(Window(["a b 👍\nc d"]), "en")
        words = [Word("a", 0, 1), Word("b", 2, 3)]
        links = WordLinks(words, words, np.eye(2), [-1.0, -2.0])
        (joined,) = divided.join(translate(divided.window.texts, links))
        assert joined.links.find_pairs() == [(n, n) for n in range(5)]
        assert joined.links.scores == [-1.0, -2.0, 0.0, -1.0, -2.0]
