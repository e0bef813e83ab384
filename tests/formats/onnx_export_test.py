"""An export to ONNX translates as its run, by its files alone."""

import dataclasses
import json

import numpy as np
import pytest
from marian_examples import HOSTILE_TEXTS
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import ids_of
from small_translators import make_kana_vocabulary
from small_translators import make_run
from small_translators import make_tree_vocabulary
from small_translators import make_vocabulary
from tiny_marian import write_tiny_marian

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.loading import load
from keras_transformer.decoding.served_model import open_model
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.formats.marian.reader import import_marian
from keras_transformer.formats.onnx import tokenizer
from keras_transformer.formats.onnx.writer import QUANTIZED
from keras_transformer.formats.onnx.writer import export_onnx
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

GREEDY = DecodeOptions(beam_size=1, extra_length=4)
SPECIAL = ("</s>", "<unk>", "<pad>")
WRITTEN_OTHERWISE = [
    "caf\u00e9 cafe\u0301",
    "\u200da\u200c b \u0905\u200d\u0915 .\u200d",
    "[\u200c] \u0645\u200c\u200c\u0631",
    "\uff21\uff42\uff0c\uff1a \uff76\uff9e",
    "\ufb01ne soft\u00adhyphens \u2010 \u2011",
    "tab\there\u3000wide\u00a0",
    "^ $ [a-z] \\ | (x)",
]


def make_tokenizer(vocabulary):
    content = tokenizer.make_tokenizer(vocabulary)
    return tokenizers.Tokenizer.from_str(json.dumps(content))


def export(run, tmp_path):
    # Imported here because it needs the packages that may be missing.
    from keras_transformer.formats.onnx.session import OnnxSession

    path = export_onnx(run, str(tmp_path / "export"), GREEDY)
    return [OnnxSession(path, suffix) for suffix in ("", QUANTIZED)]


class OnnxExportTest:
    @pytest.mark.parametrize(
        "is_shared", [pytest.param(True, marks=pytest.mark.slow), False]
    )
    def test_texts_are_those_of_keras(self, is_shared, tmp_path):
        vocabulary = make_vocabulary(tmp_path / "vocab.model")
        target, hparams = vocabulary, HPARAMS
        if not is_shared:
            target = make_kana_vocabulary(tmp_path / "target.model")
            hparams = dataclasses.replace(hparams, tied_embeddings="none")
        run = make_run(tmp_path / "run", target, hparams, vocabulary)
        texts = [text for text in TEXTS if text.strip()]
        sources = run.source_vocabulary.encode(texts)
        translator = Translator.load(run.path, engine="keras")
        expected = [
            [id_ for id_ in row if id_ != END_ID]
            for row in ids_of(translator, sources, beam_size=1, extra_length=4)
        ]
        exact, quantized = export(run, tmp_path)
        assert [exact.search(ids, 4)[0] for ids in sources] == expected
        translations, scores = exact.translate(texts, 4)
        assert translations == exact.target.decode_batch(expected)
        again = translator.score_ids(
            sources, [[*ids, END_ID] for ids in expected], 0.0
        )
        np.testing.assert_allclose(scores, again, atol=1e-4)
        assert np.ptp(scores) > 0.01
        assert len(quantized.translate(texts, 4)[0]) == len(texts)

    def test_a_model_of_marian_keeps_its_ids(self, tmp_path):
        write_tiny_marian(tmp_path / "marian")
        run = import_marian(str(tmp_path / "marian"), str(tmp_path / "run"))
        texts = ["the cat sees a dog", ">>fra<< the cat", "漢字 women"]
        ids = run.source_vocabulary.encode(texts)
        exact, _ = export(run, tmp_path)
        size = run.source_vocabulary.vocab_size
        theirs = [row.ids for row in exact.source.encode_batch(texts)]
        # What the model lacks is unknown to the encoder.
        theirs = [[i if i < size else 2 for i in row] for row in theirs]
        assert theirs == ids

    def test_what_cannot_load_it_says_so(self, tmp_path):
        run = make_run(tmp_path / "run", make_vocabulary(tmp_path / "a.model"))
        target = str(tmp_path / "export")
        path = export_onnx(run, target, GREEDY)
        for open_one in (load, open_model):
            with pytest.raises(UserError, match="a model for ONNX Runtime"):
                open_one(path)
        with pytest.raises(UserError, match="versions of one format"):
            export_ctranslate2(run, target, GREEDY)
        assert export_onnx(run, target, GREEDY) == f"{target}/2"

    def test_parsers_are_refused(self, tmp_path):
        vocabulary = make_tree_vocabulary(tmp_path / "vocab.model")
        run = make_run(tmp_path / "run", vocabulary)
        with pytest.raises(UserError, match="must translate"):
            export_onnx(run, str(tmp_path / "export"), GREEDY)

    @pytest.mark.parametrize(
        "name, value",
        [("temperature", 0.5), ("no_repeat_ngram_size", 3), ("min_length", 2)],
    )
    def test_options_that_the_files_do_not_hold_are_refused(
        self, name, value, tmp_path
    ):
        run = make_run(tmp_path / "run", make_vocabulary(tmp_path / "a.model"))
        options = DecodeOptions(**{name: value})
        words = f"{name}={value}. Leave it out, or say {name}=0 if the run"
        with pytest.raises(UserError, match=words):
            export_onnx(run, str(tmp_path / "export"), options)


class TokenizerTest:
    @pytest.mark.parametrize("normalize_text", [True, False])
    def test_ids_and_texts_are_those_of_sentencepiece(
        self, normalize_text, tmp_path
    ):
        texts = [*TEXTS, *HOSTILE_TEXTS, *WRITTEN_OTHERWISE]
        # A special piece in a text is itself.
        texts = [t for t in texts if not any(s in t for s in SPECIAL)]
        vocabulary = train_subwords(
            [*TEXTS, "fünf Hunde"] * 20,
            330,
            str(tmp_path / "vocab.model"),
            ["<num>"],
            ["[a-z]", "(x)"],
            normalize_text=normalize_text,
        )
        texts += ["<num> dogs <num>s", "a [a-z](x)b"]
        fast = make_tokenizer(vocabulary)
        ids = vocabulary.encode(texts)
        assert [row.ids for row in fast.encode_batch(texts)] == ids
        assert fast.decode_batch(ids) == vocabulary.decode(ids)

    def test_wide_punctuation_stays_where_it_is_usual(self, tmp_path):
        vocabulary = train_subwords(
            ["ひらがな，だけ：の ぶん"] * 20, 280, str(tmp_path / "vocab.model")
        )
        texts = ["ひらがな，だけ：の", "\uff21，：", "ｶﾞ、x"]
        rows = make_tokenizer(vocabulary).encode_batch(texts)
        assert [row.ids for row in rows] == vocabulary.encode(texts)

    def test_characters_have_no_merges(self, tmp_path):
        vocabulary = train_subwords(
            *(TEXTS * 20, 60, str(tmp_path / "vocab.model")),
            vocabulary_type="characters",
        )
        rows = make_tokenizer(vocabulary).encode_batch(TEXTS)
        assert [row.ids for row in rows] == vocabulary.encode(TEXTS)

    @pytest.mark.parametrize(
        "text, kind", [(TEXTS[0], "words"), ("한국어 말", "characters")]
    )
    def test_words_and_letters_of_hangul_are_refused(
        self, text, kind, tmp_path
    ):
        vocabulary = train_subwords(
            *([text] * 20, 60, str(tmp_path / "vocab.model")),
            vocabulary_type=kind,
        )
        with pytest.raises(UserError, match="subwords or characters"):
            tokenizer.make_tokenizer(vocabulary)
