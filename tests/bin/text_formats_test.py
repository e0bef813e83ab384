"""What kt-decoder says of the translations that it writes."""

import pytest
from small_translators import HPARAMS
from small_translators import CopyingModel
from small_translators import make_vocabulary

from keras_transformer.bin.kt_decoder.text_formats import report_warnings
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.passages import Passages
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.translation import Extras
from keras_transformer.decoding.translation import Translation
from keras_transformer.decoding.translator import Translator


class WarningsTest:
    @pytest.mark.parametrize(
        "text, words",
        [
            ("A dog runs over the street.", "Its translation is empty;"),
            ("Two. A dog runs over the street.", "A sentence is left out;"),
        ],
    )
    def test_what_is_too_long_has_no_translation(
        self, text, words, tmp_path, capsys
    ):
        vocabulary = make_vocabulary(tmp_path / "vocabulary")
        model = CopyingModel(vocabulary.vocab_size)
        translator = Translator(KerasEngine(model, vocabulary, HPARAMS))
        window, extras = Window([text]), Extras(max_tokens=10, warns=True)
        passages = Passages(window, "en")
        translations = passages.join(
            translator.translate_window(passages.window, extras=extras)
        )
        assert report_warnings(window, translations, translator, extras) == 1
        error = capsys.readouterr().err
        assert "warning: line 1 has" in error
        assert f"more than 10. {words} --split_long translates it" in error

    def test_a_warning_of_unknown_text_names_the_flag(self, capsys):
        translations = [Translation([], warnings=["unknown"])]
        assert report_warnings(Window(["漢"]), translations, None, None) == 1
        assert "--unknown copies or omits it" in capsys.readouterr().err
