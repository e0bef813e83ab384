"""A translator prefers corrections, in all that it returns about them."""

import pytest
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import CopyingModel
from small_translators import make_run
from small_translators import make_vocabulary

from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.loading import load
from keras_transformer.decoding.passages import Passages
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.remembering_translator import (
    RememberingTranslator,
)
from keras_transformer.decoding.steps.affixes import FinalEmoji
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.translation import Extras
from keras_transformer.decoding.translator import Translator

CORRECTION = "two women", "zwei Frauen"


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "a.model"
    vocabulary = make_vocabulary(path)
    model = CopyingModel(vocabulary.vocab_size)
    return Translator(KerasEngine(model, vocabulary, HPARAMS))


@pytest.fixture
def remembering(translator, tmp_path):
    memory = TranslationMemory(tmp_path / "memory")
    one = RememberingTranslator(memory, translator.engine)
    one.remember(*CORRECTION, origin="Ann")
    return one


class NearTest:
    """The model is not trained, so it writes what the neighbours make it."""

    @pytest.fixture(scope="class")
    def engine(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("near")
        vocabulary = make_vocabulary(folder / "a.model")
        return load(make_run(folder / "run", vocabulary).path).engine

    def test_a_search_at_the_states_of_a_translation_repeats_it(self, engine):
        targets = ["a book", "two women run", "dogs"]
        sources = engine.codec.encode(["a dog", "two women", "the man reads"])
        pairs = list(zip(sources, engine.codec.encode(targets)))
        found = engine.search_near(
            sources, [[pair] for pair in pairs], engine.options
        )
        assert [best.text for best, *_ in found] == targets
        assert found[1][0].ids == pairs[1][1]

    def test_only_sentences_with_neighbours_change(self, engine, tmp_path):
        memory = TranslationMemory(tmp_path / "memory")
        texts = ["two women read", "a long book about dogs"]
        plain = Translator(engine)
        near = RememberingTranslator(memory, engine)
        assert near(texts) == plain(texts)
        near.remember("two women run", "zwei")
        first, second = near.translate_window(Window(texts))
        assert second == plain.translate_window(Window(texts))[1]
        (match,) = first.matches
        assert match.pair.target == "zwei"
        assert first.hypotheses != plain.hypotheses(texts[:1])
        glossary = Glossary({"dogs": "Hunde"})
        options = {"glossary": glossary, "beam_size": 4}
        assert near(texts, **options) == plain(texts, **options)

    def test_emoji_alone_have_no_neighbours(self, engine, tmp_path):
        memory = TranslationMemory(tmp_path / "memory")
        near = RememberingTranslator(memory, engine, [FinalEmoji()])
        near.remember("dogs 👍 🎉 👍 🎉", "Hunde 👍 🎉 👍 🎉")
        texts = ["👍 🎉 👍 🎉", "run 👍 🎉 👍 🎉"]
        first, second = near.translate_window(Window(texts))
        assert first.hypotheses[0].text == texts[0]
        assert not first.matches and second.matches


class RememberingTranslatorTest:
    def test_only_what_was_corrected_changes(self, translator, remembering):
        expected = translator(TEXTS)
        assert expected[1] == "two women"
        expected[1] = "zwei Frauen"
        assert remembering(TEXTS) == expected

    def test_a_sentence_with_another_name_gets_the_correction(
        self, remembering
    ):
        remembering.remember("the man reads X1", "der Mann liest X1")
        (found,) = remembering.translate_window(Window(["the man reads X2"]))
        assert found.hypotheses[0].text == "der Mann liest X2"
        (match,) = found.matches
        assert match.pair.source == "the man reads X1"
        assert match.similarity == 0.75

    def test_an_empty_memory_is_loaded_too(self, tmp_path):
        translator = load("demo://en-es", memory=tmp_path / "memory")
        assert translator(["Good morning."]) == ["Buenos días."]
        translator.remember("Good morning.", "Buenos días, Ana.")
        assert translator(["Good morning."]) == ["Buenos días, Ana."]

    def test_it_tells_where_a_translation_comes_from(self, remembering):
        found = remembering.translate_window(
            Window(TEXTS), extras=Extras(warns=True)
        )
        assert [bool(one.matches) for one in found] == [
            text == "two women" for text in TEXTS
        ]
        assert found[1].matches[0].pair.origin == "Ann"
        assert not found[1].warnings

    def test_other_hypotheses_follow(self, translator, remembering):
        options = {"num_hypotheses": 2, "return_scores": True}
        ((first, second),), ((score, _),) = remembering(TEXTS[1:2], **options)
        assert (first, score) == ("zwei Frauen", 0.0)
        assert second == "two women"

    def test_prefixes_and_samples_stay(self, translator, remembering):
        (found,) = remembering(["two women"], prefixes=["a"])
        assert found.startswith("a")
        options = {"temperature": 0.1, "seed": 3}
        sampled = remembering(["two women"], **options)
        assert sampled == translator(["two women"], **options)

    def test_a_text_of_several_sentences_lists_all_its_corrections(
        self, remembering
    ):
        remembering.remember("A dog.", "Ein Hund.")
        window = Window(["A dog. The men read.\ntwo women"])
        passages = Passages(window, "en")
        translations = remembering.translate_window(passages.window)
        (joined,) = passages.join(translations)
        assert joined.hypotheses[0].text.startswith("Ein Hund. ")
        assert joined.hypotheses[0].text.endswith("\nzwei Frauen")
        sources = [match.pair.source for match in joined.matches]
        assert sources == ["A dog.", "two women"]

    def test_parts_of_a_long_text_are_remembered(self, remembering):
        extras = Extras(max_tokens=8, splits=True)
        text = "two women; a dog runs over the street"
        remembering.remember("two women;", "zwei Frauen;")
        (found,) = remembering.translate_window(Window([text]), extras=extras)
        assert found.hypotheses[0].text.startswith("zwei Frauen; a dog")
        assert found.matches

    def test_a_long_text_gets_its_correction_as_a_whole(self, remembering):
        extras = Extras(max_tokens=2, splits=True)
        window = Window(["two women", "the man reads"])
        whole, parts = remembering.translate_window(window, extras=extras)
        assert whole.hypotheses[0].text == "zwei Frauen"
        assert whole.warnings == () and parts.warnings == ["split"]
