"""Every kind of translator can be called like the others."""

import inspect

import exported_translators
import pytest
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import CopyingModel
from small_translators import make_translator
from small_translators import make_vocabulary

from keras_transformer.data.subwords import train_subwords
from keras_transformer.decoding import long_texts
from keras_transformer.decoding.ctranslate2_translator import (
    CTranslate2Translator,
)
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.reranking import Reranker
from keras_transformer.decoding.saved_model_translator import (
    SavedModelTranslator,
)
from keras_transformer.decoding.tagging import TaggingTranslator
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.decoding.translator import Translator

KINDS = (
    Translator,
    SavedModelTranslator,
    CTranslate2Translator,
    Parser,
    Reranker,
    TaggingTranslator,
)


def optional_arguments(kind, method):
    parameters = inspect.signature(getattr(kind, method)).parameters.values()
    return [each.name for each in parameters if each.default is not each.empty]


def methods_with_options():
    functions = inspect.getmembers(TextTranslator, inspect.isfunction)
    names = [name for name, _ in functions if not name.startswith("_")]
    return [each for each in names if optional_arguments(TextTranslator, each)]


class TextTranslatorTest:
    @pytest.mark.parametrize("method", methods_with_options())
    @pytest.mark.parametrize("kind", KINDS)
    def test_methods_have_the_options_of_the_base_class(self, kind, method):
        theirs = inspect.signature(getattr(kind, method))
        if "arguments" not in theirs.parameters:  # passed on as they are
            ours = optional_arguments(TextTranslator, method)
            assert optional_arguments(kind, method)[: len(ours)] == ours


class LimitsTest:
    """Warnings of cut translations need the lengths of both sides."""

    def test_a_tag_is_no_token_of_the_translation(self, tmp_path):
        texts = ["a dog runs", "two women"] * 20
        path = str(tmp_path / "a.model")
        vocabulary = train_subwords(texts, 290, path, ["<fr>"])
        model = CopyingModel(vocabulary.vocab_size)
        plain = Translator(model, vocabulary, HPARAMS)
        french = TaggingTranslator(plain, "fr")
        lengths = plain.num_tokens(texts)
        assert french.num_tokens(texts, of_targets=True) == lengths
        (translation,) = long_texts.translate_in_parts(french, [["two women"]])
        assert translation.warnings == []

    def test_a_reranker_counts_translations_as_its_forward_model(
        self, tmp_path
    ):
        vocabulary = make_vocabulary(tmp_path / "a.model")
        letters = train_subwords(TEXTS * 20, 290, str(tmp_path / "b.model"))
        forward, reverse = map(make_translator, (vocabulary, letters))
        reranker = Reranker(forward, reverse)
        texts = ["two women"]
        assert forward.num_tokens(texts) < reverse.num_tokens(texts)
        assert reranker.num_tokens(texts) == reverse.num_tokens(texts)
        lengths = forward.num_tokens(texts)
        assert reranker.num_tokens(texts, of_targets=True) == lengths
        limit = forward.length_limit(texts[0], extra_length=3)
        assert limit == lengths[0] + 3
        assert reranker.length_limit(texts[0], extra_length=3) == limit

    def test_a_prefix_may_be_longer_than_its_text(self, tmp_path):
        translator = make_translator(make_vocabulary(tmp_path / "a.model"))
        text, prefix = "a book", "the man reads a book about dogs and women"
        (prefix_len,) = translator.num_tokens([prefix], of_targets=True)
        for extra_length in (0, 2):
            limit = translator.length_limit(
                text, prefix, extra_length=extra_length
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
        theirs = CTranslate2Translator(ours.exported)
        theirs.max_tokens = 6
        text = exported_translators.WORDS[0]
        options = {"extra_length": 99, "min_length": 6}
        ((best,),) = theirs.hypotheses([text], **options)
        assert len(best.ids) == theirs.length_limit(text, **options) == 6
