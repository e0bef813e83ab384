"""Emoji at the end of a text go around the model."""

import pathlib

import numpy as np
import pytest
from growth import assert_linear
from small_translators import TEXTS
from small_translators import make_translator
from small_translators import make_vocabulary

from keras_transformer import load
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.steps.affixes import FinalEmoji
from keras_transformer.decoding.translator import Translator

RUN = pathlib.Path(__file__).parents[1] / "fixtures/v0.1/run"
# A skin tone, a joined family, a flag, a heart with its variant, stars, clocks,
# arrows, keycaps, the flag of Wales, a flag in colours, and signs as emoji.
ENDS = [
    " 😀",
    "👋🏽 🔥",
    " 👩‍👩‍👧",
    " 🇮🇹",
    " ❤️",
    "",
    " ⭐",
    " ⌚⏰ ⏳",
    " ↗️⬅⤴️ →",
]
ENDS += [
    " 1️⃣ #⃣",
    " 🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
]
ENDS += [" 🏳️‍🌈", "🫶🏿", " ™️ ㊗️‼️ ℹ️"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return make_translator(
        make_vocabulary(tmp_path_factory.mktemp("plain") / "vocab.model")
    )


@pytest.fixture(scope="module")
def translator(plain):
    return Translator(plain.engine, [FinalEmoji()])


class FinalEmojiTest:
    @pytest.mark.parametrize("end", ENDS)
    def test_translations_end_as_their_texts(self, translator, plain, end):
        texts = [text + end for text in TEXTS if text.strip()]
        expected = plain([text for text in TEXTS if text.strip()])
        assert translator(texts) == [text + end for text in expected]

    def test_everything_else_is_that_of_the_text_without_them(
        self, translator, plain
    ):
        texts, ended = ["a book", "two women"], ["a book 🙏", "two women 🙏"]
        results = translator(ended, 2, return_scores=True)
        expected = plain(texts, 2, return_scores=True)
        assert results[1] == expected[1]
        assert results[0] == [[t + " 🙏" for t in row] for row in expected[0]]
        scores = translator.score(ended, ["dogs 🙏", "a book"])
        assert scores == plain.score(texts, ["dogs", "a book"])
        flags = {"return_attention": True, "return_alignments": True}
        _, attention, links = translator(ended, **flags)
        _, expected, expected_links = plain(texts, **flags)
        assert links == expected_links
        for ours, other in zip(attention, expected):
            np.testing.assert_array_equal(ours.cross, other.cross)

    @pytest.mark.parametrize(
        "text",
        ["a 😀 book", "a book™", "50 %", "a book \u200d", " \t", "10", "→ a"],
    )
    def test_what_does_not_end_in_an_emoji_stays(self, text):
        texts, ((_, end),) = FinalEmoji().prepare([text])
        assert (texts, end) == ([text], "")

    @pytest.mark.parametrize(
        "source, translation, expected",
        [
            ("chat 😀 now", "habla", "habla 😀"),
            ("a 👩‍👩‍👧 → (1️⃣!) 😀", "un (1️⃣!)", "un (1️⃣!) 👩‍👩‍👧 😀"),
            ("❤️ a ❤", "❤ a", "❤ a ❤"),
            ("😀, 😀 x", "😀, x", "😀, x 😀"),
        ],
    )
    def test_a_translation_gets_the_emoji_that_it_lacks(
        self, source, translation, expected
    ):
        step = FinalEmoji()
        _, memory = step.prepare([source])
        hypotheses = [[Hypothesis(translation, 0.0, [])]]
        ((best,),) = step.finish(hypotheses, memory)
        assert best.text == expected

    @pytest.mark.parametrize(
        "unit", ["😀 a", "😀", "1", " ", "\u200d😀", "a\ufe0f"]
    )
    def test_texts_are_read_in_linear_time(self, unit):
        assert_linear(
            lambda size: FinalEmoji().prepare([unit * size + "a"]), 9000
        )

    def test_a_text_of_emoji_is_its_own_translation(self, translator):
        assert translator([" 😀 🔥 "]) == ["😀 🔥"]

    @pytest.mark.parametrize(
        "engine", [pytest.param("keras", marks=pytest.mark.slow), "ctranslate2"]
    )
    def test_load_puts_the_step_in(self, engine):
        if engine == "ctranslate2":
            pytest.importorskip("ctranslate2")
        translator = load(str(RUN), engine=engine)
        (expected,) = translator(["a b c"])
        assert translator(["a b c 😀"]) == [f"{expected} 😀"]
