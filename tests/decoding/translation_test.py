"""Texts in parts: where they are divided, and what comes of the parts."""

import random

import pytest
from small_translators import HPARAMS
from small_translators import CopyingModel
from small_translators import make_vocabulary

from keras_transformer.decoding import translation
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.translation import Extras
from keras_transformer.decoding.translation import split_long
from keras_transformer.decoding.translator import Translator
from keras_transformer.scoring.quality import QualityEstimate


def num_words(texts):
    return [len(text.split()) for text in texts]


def num_characters(texts):
    return [len(text) + 1 for text in texts]  # with an end, as tokens have


class SplitLongTest:
    def test_parts_have_all_words_and_none_is_too_long(self):
        generator = random.Random(0)
        for _ in range(200):
            words = generator.choices(
                ["dog", "cat,", "and", "end.", "but;", "x" * 30], k=40
            )
            text = " ".join(words)
            max_words = generator.randrange(1, 12)
            parts = split_long(text, max_words, num_words)
            assert " ".join(parts) == text
            assert max(num_words(parts)) <= max_words
            max_characters = generator.randrange(2, 60)
            parts = split_long(text, max_characters, num_characters)
            assert "".join(parts).replace(" ", "") == text.replace(" ", "")
            assert max(num_characters(parts)) <= max_characters

    def test_a_text_that_fits_is_one_part(self):
        assert split_long("a, b; c. d", 4, num_words) == ["a, b; c. d"]

    @pytest.mark.parametrize(
        "text, parts",
        [
            (
                "He came. She went, too, then.",
                ["He came.", "She went, too, then."],
            ),
            ("He came; she went, too.", ["He came;", "she went, too."]),
            ("He came, she went home.", ["He came,", "she went home."]),
            ("He came and she went.", ["He came", "and she went."]),
            ("Er kam und sie ging.", ["Er kam", "und sie ging."]),
            ("one two three four five", ["one two three four", "five"]),
        ],
    )
    def test_a_part_ends_at_the_best_place(self, text, parts):
        assert split_long(text, 4, num_words) == parts

    @pytest.mark.parametrize(
        "parts",
        [
            ["我买东西。我看书。", "猫在房子里睡觉。"],
            ["猫が好きで、", "犬も好きです。"],
        ],
    )
    def test_text_without_spaces_is_divided_at_its_punctuation(self, parts):
        text = "".join(parts)
        longest = 1 + max(num_characters(parts))  # two pieces have two ends
        assert split_long(text, longest, num_characters) == parts

    def test_text_without_spaces_is_divided_anywhere(self):
        parts = split_long("x" * 10, 4, num_characters)
        assert parts == ["xx", "xxx", "xx", "xxx"]


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    vocabulary = make_vocabulary(
        tmp_path_factory.mktemp("vocabulary") / "a.model"
    )
    model = CopyingModel(vocabulary.vocab_size)
    return Translator(KerasEngine(model, vocabulary, HPARAMS))


def translate(translator, *texts, max_tokens=6, report=None, **options):
    extras = Extras(max_tokens, splits=True, warns=True)
    window = Window(list(texts))
    return translator.translate_window(window, report, extras=extras, **options)


class LongTextsTest:
    def test_parts_are_joined_and_noted(self, translator):
        texts = ["a dog runs over the street", "", "two women"]
        counts = []
        translations = translate(translator, *texts, report=counts.append)
        assert [each.hypotheses[0].text for each in translations] == texts
        warnings = [each.warnings for each in translations]
        assert warnings == [[translation.SPLIT], (), []]
        assert sum(counts) == len(texts)

    def test_the_quality_is_that_of_the_worst_part(self, translator):
        # Only the number of tokens counts.
        quality = QualityEstimate(1, 100, 50.0, [0, 0, -1], [0, 0], 1.0)
        extras = Extras(8, splits=True, warns=True, quality=quality)
        window = Window(["two women; a dog runs"])
        (joined,) = translator.translate_window(window, extras=extras)
        longer, shorter = (
            translator.translate_window(
                Window([part]), extras=Extras(warns=True, quality=quality)
            )[0].quality
            for part in ("a dog runs", "two women;")
        )
        assert joined.warnings == [translation.SPLIT]
        assert joined.quality == min(longer, shorter) < 1

    def test_without_splitting_a_long_text_has_no_translation(self, translator):
        window = Window(["a dog runs over the street", "two women"])
        long, short = translator.translate_window(window, extras=Extras(6))
        assert long.hypotheses[0].text == ""
        assert long.warnings == [translation.TOO_LONG]
        assert short.hypotheses[0].text == "two women" and not short.warnings

    def test_the_score_is_the_mean_of_the_parts(self, translator):
        (joined,) = translate(translator, "a dog runs; two women", max_tokens=8)
        apart = translate(translator, "a dog runs;", "two women")
        mean = sum(each.hypotheses[0].score for each in apart) / 2
        assert joined.hypotheses[0].score == pytest.approx(mean)

    def test_hypotheses_of_one_rank_are_joined(self, translator):
        (joined,) = translate(
            translator, "a dog runs; two women", beam_size=3, num_hypotheses=2
        )
        assert len(joined.hypotheses) == 2

    def test_a_translation_as_long_as_allowed_is_noted(self, translator):
        (found,) = translate(translator, "two women", extra_length=0)
        assert found.warnings == [translation.REACHED_LIMIT]

    def test_tokens_are_counted_by_ids_or_else_by_text(self, translator):
        hypotheses = [Hypothesis("two women", 0.0, [7, 8, 1])]
        hypotheses.append(Hypothesis("two women", 0.0))
        (counted,) = translator.count_tokens(["two women"], of_targets=True)
        assert translator.count_written(hypotheses) == [3, counted]
