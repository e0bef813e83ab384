"""Doubtful translations are searched again, or copied."""

import dataclasses
import gc
import weakref

import pytest
from keras import ops
from small_translators import HPARAMS
from small_translators import CopyingModel
from small_translators import make_vocabulary

from keras_transformer.data.vocabulary.bpe_symbols import write_symbols
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.decoding import repair
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.repair import WAY
from keras_transformer.decoding.repair import has_words
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.translation import Extras
from keras_transformer.decoding.translator import Translator

TEXTS = ["two women", "a dog runs over the street", "", "the man, a dog", "run"]
WORDS = [
    "“dog”",
    "«dog»",
    "*dog*",
    "<b>dog</b>",
    "—dog",
    "dog/run",
    "2024年我们去北京。",
    "「東京」",
    "🐶dog",
    "l'eau",
    "¿Qué?",
]
WORDLESS = ["-- 10:30 --", "https://example.org/a?b=c", "7", "/usr/bin/dog"]
EXTRAS = Extras(warns=True, repairs=True)
NO_REPAIR = Extras(warns=True)


class StammeringModel(CopyingModel):
    """Copies its input, but goes on with certain ids forever."""

    def __init__(self, vocab_size, stammered):
        super().__init__(vocab_size)
        self.stammered = stammered

    def decode_step(self, ids, position, cache, num_ids=None):
        logits, cache = super().decode_step(ids, position, cache)
        is_stammered = ops.any(ops.equal(ids[..., None], self.stammered), -1)
        again = ops.where(
            is_stammered[..., None], ops.one_hot(ids, self.vocab_size), 0.0
        )
        return logits + 20.0 * again, cache


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "a.model"
    vocabulary = make_vocabulary(path)
    stammered = [ids[-2] for ids in vocabulary.encode(["a dog", "b/", "--"])]
    model = StammeringModel(vocabulary.vocab_size, stammered)
    hparams = dataclasses.replace(HPARAMS, extra_length=40)
    return Translator(KerasEngine(model, vocabulary, hparams))


def translate(translator, texts, extras=EXTRAS, **options):
    window = Window(texts)
    return translator.translate_window(window, extras=extras, **options)


class RepairTest:
    def test_another_search_replaces_only_doubtful_translations(
        self, translator
    ):
        before = translate(translator, TEXTS, NO_REPAIR)
        other = translate(translator, TEXTS, NO_REPAIR, **WAY)
        after = translate(translator, TEXTS)
        for number, text in enumerate(TEXTS):
            if "dog" in text:
                assert "loop" in before[number].warnings
                assert after[number].hypotheses == other[number].hypotheses
                assert after[number].warnings == ["repaired"]
            else:
                assert after[number] == before[number]

    def test_text_without_words_is_copied_if_doubtful(self, translator):
        before = translate(translator, WORDLESS, NO_REPAIR)
        after = translate(translator, WORDLESS)
        assert [one.warnings for one in after] == [
            ["copied"],
            ["copied"],
            [],  # the model copies "7" itself
            ["copied"],
        ]
        assert [one.hypotheses[0].text for one in after] == WORDLESS
        assert after[2] == before[2]

    @pytest.mark.parametrize("text", WORDS)
    def test_a_word_may_stand_in_signs_and_without_spaces(self, text):
        assert has_words(text)
        assert has_words(f"7 {text} --")

    def test_a_copy_has_neither_a_tag_nor_a_lost_prefix(self, translator):
        texts = ["<fr> --", "--", "--"]
        found = translator.translate_window(
            Window(texts, prefixes=["", "dog", ""]), extras=EXTRAS
        )
        is_copied = ["copied" in one.warnings for one in found]
        assert is_copied == [False, False, True]
        assert found[1].hypotheses[0].text.startswith("dog")

    def test_the_digits_of_a_sum_are_neither_doubtful_nor_copied(
        self, tmp_path
    ):
        vocabulary = write_symbols("01+", str(tmp_path / "a.model"))
        (ids,) = vocabulary.encode(["0"])
        model = StammeringModel(vocabulary.vocab_size, ids[:1])
        translator = Translator(KerasEngine(model, vocabulary, HPARAMS))
        # A wider beam finds a way around the repetition.
        (result,) = translate(translator, ["1 + 0"], beam_size=1)
        assert result.hypotheses[0].text == "1 + 0 0 0 0 0"
        assert result.warnings == ["reached_limit"]

    def test_what_stays_doubtful_stays_as_it_is(self, translator):
        options = {"extra_length": 0}  # all reach the limit
        before = translate(translator, TEXTS, NO_REPAIR, **options)
        assert before[0].warnings == ["reached_limit"]
        assert translate(translator, TEXTS, **options) == before

    @pytest.mark.slow
    def test_what_is_spelled_in_short_subwords_is_copied_if_nothing_helps(
        self, translator
    ):
        texts = ["zqx jvk", "a dog runs over the street", "<fr> zqx", "qzx"]
        options = {"extra_length": 0, "glossary": Glossary({"qzx": "dog"})}
        found = translate(translator, texts, **options)
        is_copied = [one.warnings == ["copied"] for one in found]
        assert is_copied == [True, False, False, False]
        assert found[0].hypotheses[0].text == texts[0]

    def test_vocabularies_that_are_no_longer_used_are_freed(self, translator):
        model_bytes = translator.codec.vocabulary.model_bytes
        references = []
        for _ in range(10):
            vocabulary = Subwords.from_bytes(model_bytes)
            references.append(weakref.ref(vocabulary))
            repair._find_usual_length(vocabulary)
        gc.collect()
        assert references[0]() is None

    @pytest.mark.slow
    def test_samples_are_not_searched_again(self, translator):
        options = {"temperature": 0.1, "num_hypotheses": 2}
        before = translate(translator, TEXTS, NO_REPAIR, **options)
        assert any("loop" in one.warnings for one in before)
        assert translate(translator, TEXTS, **options) == before

    def test_a_call_repairs_on_request(self, translator):
        repaired = translate(translator, TEXTS)
        expected = [one.hypotheses[0].text for one in repaired]
        assert translator(TEXTS, repair=True) == expected
        assert translator(TEXTS) != expected

    def test_each_text_keeps_its_prefix(self, translator):
        prefixes = ["two", "a man", "", "women", "book"]
        found = translator.translate_window(
            Window(TEXTS, prefixes=prefixes), extras=EXTRAS
        )
        for prefix, one in zip(prefixes, found):
            assert one.hypotheses[0].text.startswith(prefix)
        assert any("repaired" in one.warnings for one in found)
