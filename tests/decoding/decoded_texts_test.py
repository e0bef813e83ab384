"""Numbers of tokens and limits, with steps and with a reranker."""

import exported_translators
import pytest
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import CopyingModel
from small_translators import make_translator
from small_translators import make_vocabulary
from small_translators import rerank_translator
from small_translators import tag_translator

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding import preparation as windows
from keras_transformer.decoding.engines.engine import Sentences
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.preparation import check_each
from keras_transformer.decoding.translation import Extras
from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine


def _limit_length(translator, text, prefix="", extra_length=50):
    sources = translator.encode([text])
    prefixes = translator.codec.encode_prefixes([prefix])
    (limit,) = Sentences(sources, prefixes).limit_lengths(
        extra_length, translator.max_length
    )
    return limit


class LimitsTest:
    """Warnings of cut translations need the lengths of both sides."""

    def test_a_tag_is_no_token_of_the_translation(self, tmp_path):
        texts = ["a dog runs", "two women"] * 20
        path = str(tmp_path / "a.model")
        vocabulary = train_subwords(texts, 290, path, ["<fr>"])
        model = CopyingModel(vocabulary.vocab_size)
        plain = Translator(KerasEngine(model, vocabulary, HPARAMS))
        french = tag_translator(plain, "fr")
        lengths = plain.count_tokens(texts)
        assert french.count_tokens(texts, of_targets=True) == lengths
        (translation,) = french.translate_window(
            Window(["two women"]), extras=Extras(warns=True)
        )
        assert translation.warnings == []

    def test_a_reranker_counts_translations_as_its_forward_model(
        self, tmp_path
    ):
        vocabulary = make_vocabulary(tmp_path / "a.model")
        letters = train_subwords(TEXTS * 20, 290, str(tmp_path / "b.model"))
        forward, reverse = map(make_translator, (vocabulary, letters))
        reranker = rerank_translator(forward, reverse)
        texts = ["two women"]
        assert forward.count_tokens(texts) < reverse.count_tokens(texts)
        assert reranker.count_tokens(texts) == reverse.count_tokens(texts)
        lengths = forward.count_tokens(texts)
        assert reranker.count_tokens(texts, of_targets=True) == lengths

    @pytest.mark.slow
    def test_a_prefix_may_be_longer_than_its_text(self, tmp_path):
        translator = make_translator(make_vocabulary(tmp_path / "a.model"))
        text, prefix = "a book", "the man reads a book about dogs and women"
        (prefix_len,) = translator.count_tokens([prefix], of_targets=True)
        for extra_length in (0, 2):
            limit = _limit_length(
                translator, text, prefix, extra_length=extra_length
            )
            assert limit == prefix_len + extra_length
            for (best,) in translator.hypotheses(
                [text],
                prefixes=[prefix],
                extra_length=extra_length,
                min_length=limit,
            ):
                assert len(best.ids) == limit

    def test_an_export_to_ctranslate2_ends_at_its_last_position(self, tmp_path):
        pytest.importorskip("ctranslate2")
        ours = exported_translators.make_translator(tmp_path)
        engine = CTranslate2Engine(ours.exported)
        engine.max_length = 6
        theirs = Translator(engine)
        text = exported_translators.WORDS[0]
        options = {"extra_length": 99, "min_length": 6}
        ((best,),) = theirs.hypotheses([text], **options)
        assert (
            len(best.ids) == _limit_length(theirs, text, extra_length=99) == 6
        )


class CheckedTextsTest:
    def test_the_first_has_the_number_after_the_start(self):
        assert list(check_each(iter(["a", "b"]), 7)) == ["a", "b"]
        with pytest.raises(ValueError, match="text 9 is None"):
            list(check_each(["a", None], 7))

    @pytest.mark.parametrize(
        "texts, message",
        [
            ("a b", "one str, 'a b'. Put it into a list"),
            (["a", None], "text 2 is None. Pass an empty str"),
            ([b"a"], "text 1 is b'a'"),
            (["a", "\udcff"], r"text 2, '\\udcff', .* errors='replace'"),
        ],
    )
    def test_what_is_no_text_is_an_error_with_its_number(self, texts, message):
        with pytest.raises(ValueError, match=message):
            list(check_each(texts))


class WindowsTest:
    def test_each_text_has_its_prefix(self, monkeypatch):
        monkeypatch.setattr(windows, "WINDOW", 2)
        texts, prefixes = ["a", "b", "c"], ["x", "", "z"]
        assert list(windows.read_windows(texts, prefixes, start=4)) == [
            (["a", "b"], 4, ["x", ""]),
            (["c"], 6, ["z"]),
        ]

    @pytest.mark.parametrize(
        "prefixes, message",
        [(["x"], "none for text 2"), (["x", "y", "z"], "more prefixes than")],
    )
    def test_another_number_of_prefixes_is_an_error(self, prefixes, message):
        with pytest.raises(ValueError, match=message):
            list(windows.read_windows(["a", "b"], prefixes))
