"""What kt-decoder says of text that the vocabulary lacks."""

import types

import pytest
from small_translators import TEXTS

from keras_transformer.bin.kt_decoder import text_formats
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.decoding.engines.engine import Codec
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.steps.affixes import FinalEmoji

UNSET = dict.fromkeys(
    ["unknown", "protect", "protected_patterns", "target_language"]
)


def make_checker(path, kind, vocab_size):
    """Returns what checks texts, with a vocabulary of some kind."""
    vocabulary = train_subwords(
        TEXTS, vocab_size, str(path), vocabulary_type=kind
    )
    codec = Codec(Vocabularies(vocabulary, vocabulary))
    emoji = FinalEmoji()
    return types.SimpleNamespace(
        prepare=lambda texts: emoji.prepare(texts)[0], codec=codec
    )


@pytest.fixture
def checker(tmp_path):
    """What checks texts, with a vocabulary of small letters and the space."""
    return make_checker(tmp_path / "letters.model", "characters", 100)


@pytest.fixture
def read(monkeypatch, capsys):
    """Function that returns the message about texts, given some flags."""

    def read(checker, texts, **flags):
        values = types.SimpleNamespace(**{**UNSET, **flags})
        monkeypatch.setattr(text_formats, "FLAGS", values)
        unknown = text_formats.UnknownText(checker)
        for start, text in enumerate(texts, 10):
            unknown.read(Window([text], start))
        unknown.report()
        return capsys.readouterr().err

    return read


class UnknownTextTest:
    def test_lines_with_unknown_text_are_counted(self, read, checker):
        texts = ["a dog", "a d\u0336og", "a 漢字 dog!"]
        assert read(checker, texts) == (
            "kt-decoder: warning: 2 lines have text without an id in the "
            "vocabulary, first '\u0336' (U+0336) in line 12, which the model "
            "cannot read. Write it as the training text does, or use "
            "--unknown.\n"
        )
        message = read(checker, texts[2:], target_language="fr")
        assert "warning: 1 line has text" in message
        assert message.endswith(" as the training text does.\n")

    def test_capitals_and_emoji_have_their_ways(self, read, checker):
        assert not read(checker, ["A DOG", "a dog 😀", "", "\t"])

    @pytest.mark.parametrize(
        "flags",
        [{"unknown": "copy"}, {"protect": True}, {"protected_patterns": "a"}],
    )
    def test_flags_that_say_what_to_do_need_no_message(
        self, read, checker, flags
    ):
        assert not read(checker, ["漢字"], **flags)

    def test_bytes_spell_all_text(self, read, checker, tmp_path):
        subwords = make_checker(tmp_path / "vocab.model", "subwords", 290)
        assert not read(subwords, ["漢字"])

    def test_a_saved_model_is_not_checked(self, read):
        assert not read(None, ["漢字"])
