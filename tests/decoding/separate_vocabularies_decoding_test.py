"""Each side of a model with two vocabularies uses its own."""

import dataclasses

import keras
import numpy as np
import pytest
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import make_run
from small_translators import make_tree_vocabulary
from small_translators import make_vocabulary
from small_translators import rerank_translator

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.engines.attention import compute_attention
from keras_transformer.decoding.loading import load
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.runs.averaging import average_run
from keras_transformer.search.options import DecodeOptions

UNTIED = dataclasses.replace(HPARAMS, tied_embeddings="target")
OTHER_TEXTS = ["ひらがな だけ の ぶん", "みじかい", "ながい ぶん と ことば"]
only_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="TensorFlow's format"
)
TARGETS = ["ひらがな の ぶん", "ことば", "", "ながい ぶん", "", "だけ", "ぶん"]


@pytest.fixture(scope="module")
def kana(tmp_path_factory):
    path = tmp_path_factory.mktemp("kana") / "vocab.model"
    return train_subwords(OTHER_TEXTS * 20, 290, str(path))


@pytest.fixture(scope="module")
def latin(tmp_path_factory):
    return make_vocabulary(tmp_path_factory.mktemp("latin") / "vocab.model")


@pytest.fixture(scope="module")
def run(tmp_path_factory, kana, latin):
    path = tmp_path_factory.mktemp("run") / "run"
    return make_run(path, kana, UNTIED, source_vocabulary=latin)


@pytest.fixture(scope="module")
def translator(run):
    return load(run.path, engine="keras")


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    from keras_transformer.formats.saved_model.writer import export_saved_model

    return export_saved_model(run, str(tmp_path_factory.mktemp("exported")))


class SeparateVocabulariesDecodingTest:
    def test_text_is_encoded_and_decoded_by_its_side(
        self, translator, latin, kana
    ):
        for hypotheses in translator.hypotheses(TEXTS):
            assert hypotheses[0].text == kana.decode([hypotheses[0].ids])[0]
        texts = ["a dog", "ことば"]
        assert translator.encode(texts) == latin.encode(texts)
        assert translator.encode(texts, of_targets=True) == kana.encode(texts)

    def test_scores_are_those_of_the_ids(self, translator, latin, kana):
        sources = [
            ids if text.strip() else []
            for text, ids in zip(TEXTS, latin.encode(TEXTS))
        ]
        expected = translator.score_ids(sources, kana.encode(TARGETS))
        assert translator.score(TEXTS, TARGETS) == pytest.approx(expected)

    def test_attention_shows_the_pieces_of_each_side(self, translator):
        source, target = "two women", "ことば"
        attention = compute_attention(
            translator.engine.model,
            translator.codec.vocabularies,
            *translator.codec.source_vocabulary.encode([source]),
            *translator.codec.vocabulary.encode([target]),
        )
        shown = attention.source_tokens, attention.target_tokens
        for tokens, text in zip(shown, (source, target)):
            assert "".join(tokens[:-1]).replace("▁", " ").strip() == text

    def test_prefix_is_one_of_the_target(self, translator):
        prefixes = ["ながい"] * len(TEXTS)
        for text, translation in zip(
            TEXTS, translator.translate(TEXTS, prefixes=prefixes)
        ):
            assert translation.startswith("ながい") or not text.strip()

    @pytest.mark.slow
    def test_an_average_and_an_ensemble_keep_both(
        self, run, translator, tmp_path, latin, kana
    ):
        averaged = average_run(run, 1, str(tmp_path / "averaged"))
        assert averaged.vocabularies.hashes == run.vocabularies.hashes
        ensemble = load([run.path, averaged.path])
        assert ensemble(TEXTS) == translator(TEXTS)
        same = dataclasses.replace(UNTIED, alpha=1.0)
        turned = make_run(tmp_path / "turned", latin, same, kana)
        with pytest.raises(ValueError, match="must have the same vocabulary"):
            load([run.path, turned.path])

    @pytest.mark.slow
    def test_reranking_exchanges_text(self, run, tmp_path, latin, kana):
        reverse = make_run(tmp_path / "reverse", latin, UNTIED, kana)
        translator, reverse = (
            load(path, engine="keras") for path in (run.path, reverse.path)
        )
        scores = rerank_translator(translator, reverse).score(
            TEXTS, TARGETS, 0.0
        )
        forward = translator.score(TEXTS, TARGETS, 0.0)
        assert scores[0] < forward[0]
        assert scores[0] - forward[0] == pytest.approx(
            reverse.score(TARGETS[:1], TEXTS[:1], 0.0)[0], abs=1e-4
        )

    def test_lengths_are_checked_by_the_side(self, run):
        checker = plan_model([run.path]).checker
        # In bytes, each of these letters has three tokens.
        checker.check_lengths(["ことば" * 500], of_targets=True)
        with pytest.raises(ValueError, match="at most"):
            checker.check_lengths(["ことば" * 500])

    def test_a_reranker_checks_translations_by_their_side(
        self, run, tmp_path, latin, kana
    ):
        reverse = make_run(tmp_path / "reverse", latin, UNTIED, kana)
        checker = dataclasses.replace(
            plan_model(run.path), reverse=plan_model(reverse.path)
        ).checker
        checker.check_lengths(["ことば" * 500], of_targets=True)
        with pytest.raises(ValueError, match="at most"):
            checker.check_lengths(["a dog " * 1000], of_targets=True)

    def test_words_of_trees_begin_in_the_source(self, tmp_path, latin):
        trees = make_tree_vocabulary(tmp_path / "trees.model")
        run = make_run(tmp_path / "parser", trees, UNTIED, latin)
        for tree in load(run.path)(["a dog runs", "two women"]):
            assert tree.startswith("(") and tree.endswith(")")

    def test_ctranslate2_gives_the_same(self, run, translator, tmp_path):
        pytest.importorskip("ctranslate2")
        from keras_transformer.formats.ctranslate2.writer import (
            export_ctranslate2,
        )

        path = export_ctranslate2(run, str(tmp_path / "out"), DecodeOptions())
        exported = load(path)
        texts = [text for text in TEXTS if text.strip()]
        targets = TARGETS[: len(texts)]
        assert exported.score(texts, targets) == pytest.approx(
            translator.score(texts, targets, alpha=0.6), abs=1e-3
        )
        options = {"beam_size": 1, "extra_length": 4, "alpha": 0.6}
        assert exported(texts, **options) == translator(texts, **options)

    @pytest.mark.slow
    @only_tensorflow
    def test_a_saved_model_gives_the_same(self, exported, translator, capfd):
        saved_model = load(exported)
        texts = [*TEXTS, *TARGETS]
        for of_targets in (False, True):
            expected = translator.count_tokens(texts, of_targets)
            assert saved_model.count_tokens(texts, of_targets) == expected
        assert saved_model.score(TEXTS, TARGETS) == pytest.approx(
            translator.score(TEXTS, TARGETS), abs=1e-4
        )
        glossary = Glossary({"women": "ことば", "book": "ながい ぶん"})
        for options in ({}, {"glossary": glossary}):
            options["return_scores"] = True
            expected, scores = translator(TEXTS, **options)
            translations, their_scores = saved_model(TEXTS, **options)
            assert translations == expected
            np.testing.assert_allclose(their_scores, scores, atol=1e-4)
        assert "normalizer" not in capfd.readouterr().err

    @only_tensorflow
    @pytest.mark.parametrize("first", ["target_lengths", "with_terms"])
    @pytest.mark.slow
    def test_any_signature_may_be_called_first(self, exported, run, first):
        import tensorflow as tf

        signatures = tf.saved_model.load(exported).signatures
        text = tf.constant(TEXTS + TARGETS)
        starts = tf.strings.substr(text, 0, 8, "UTF8_CHAR")[:, None]
        terms = {"terms": starts} if first == "with_terms" else {}
        signatures[first](text=text, **terms)
        vocabularies = {
            "lengths": run.source_vocabulary,
            "target_lengths": run.vocabulary,
        }
        for name, vocabulary in vocabularies.items():
            lengths = signatures[name](text=text)["lengths"].numpy().tolist()
            expected = vocabulary.encode(TEXTS + TARGETS)
            assert lengths == list(map(len, expected))
