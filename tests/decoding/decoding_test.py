"""Translators keep the order and the number of lines, however they batch."""

import itertools
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops
from processes import environment
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import CopyingModel
from small_translators import HesitantModel
from small_translators import ids_of
from small_translators import make_translator
from small_translators import make_tree_vocabulary

from keras_transformer.decoding import preparation as windows
from keras_transformer.decoding.engines import batching
from keras_transformer.decoding.engines.compiled_search import compile_search
from keras_transformer.decoding.engines.compiled_search import (
    count_processor_positions,
)
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.engines.keras_engine import cut_after_end
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.hparam import HParams
from keras_transformer.parsing.linearization import WITH_WORDS
from keras_transformer.parsing.target_text import is_tree
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.model import write_variables
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID

TENSORFLOW = keras.backend.backend() == "tensorflow"


@pytest.fixture
def copier(vocabulary):
    model = CopyingModel(vocabulary.vocab_size)
    return Translator(KerasEngine(model, vocabulary, HParams(beam_size=2)))


class TranslatorTest:
    def test_text_goes_through_in_its_order(self, copier):
        assert copier(TEXTS) == [text.strip() for text in TEXTS]

    def test_blank_lines_give_empty_lines_without_the_model(self, copier):
        assert copier(["", " ", "\t", "\u3000"]) == [""] * 4
        assert copier([]) == []
        assert not copier.engine.model.shapes

    def test_one_str_is_an_error(self, copier):
        with pytest.raises(ValueError, match="one str, 'a dog'.*list"):
            copier("a dog")

    def test_a_model_that_computes_nan_is_an_error(self, copier):
        copier.engine.model.bias.assign(
            np.full(copier.engine.model.vocab_size, np.nan)
        )
        with pytest.raises(
            UserError, match="NaN for a sentence, one of .*'a d"
        ):
            copier(["", "a dog"])

    def test_a_translation_is_one_line(self, copier):
        assert copier(["a\ndog"]) == ["a dog"]

    def test_translations_come_before_all_texts_are_read(
        self, copier, monkeypatch
    ):
        monkeypatch.setattr(windows, "WINDOW", 2)
        texts = iter(TEXTS)
        assert next(copier.translate(texts)) == TEXTS[0]
        assert list(texts) == TEXTS[2:]

    def test_every_text_is_reported_once(self, copier, monkeypatch):
        monkeypatch.setattr(windows, "WINDOW", 4)
        counts = []
        list(copier.translate(TEXTS, report=counts.append))
        assert sum(counts) == len(TEXTS)

    def test_ids_are_translated_without_text(self, copier):
        sources = [[5, 6, 7, END_ID], [], [9, END_ID]]
        assert ids_of(copier, sources) == sources

    @pytest.mark.skipif(not TENSORFLOW, reason="tf.function")
    def test_tensorflow_traces_the_search_once_for_all_shapes(self, copier):
        copier(TEXTS)
        copier(TEXTS, extra_length=3)
        copier(TEXTS[:1])
        copier(TEXTS[:2])
        assert copier.engine.model.shapes == [(None, None)]

    @pytest.mark.skipif(TENSORFLOW, reason="jax.jit")
    def test_jax_traces_the_search_for_few_shapes(self, copier):
        lengths = [2, 9, 16, 17, 3, 31, 5]
        sources = [[5] * (n - 1) + [END_ID] for n in lengths]
        for number in range(1, 8):
            ids_of(copier, sources[:number])
        shapes = [(1, 16), (2, 16), (4, 16), (4, 32), (8, 32)]
        assert copier.engine.model.shapes == shapes

    def test_new_weights_are_followed_without_another_trace(self, copier):
        sources = [[5, 6, END_ID]]
        assert ids_of(copier, sources) == sources
        bias = np.zeros(copier.engine.model.vocab_size, "float32")
        bias[END_ID] = 99.0
        copier.engine.model.bias.assign(bias)
        assert ids_of(copier, sources) == [[END_ID]]
        assert len(copier.engine.model.shapes) == 1

    @pytest.mark.parametrize(
        "beam_size", [pytest.param(1, marks=pytest.mark.slow), 3]
    )
    def test_batches_and_order_do_not_change_the_text(
        self, translator, beam_size, monkeypatch
    ):
        texts = [text for text in TEXTS if text.strip()]
        together = translator(texts, beam_size=beam_size)
        assert len(set(together)) > 2
        backwards = translator(texts[::-1], beam_size=beam_size)
        assert backwards[::-1] == together
        monkeypatch.setattr(batching, "CACHE_POSITIONS", 1)
        assert translator(texts, beam_size=beam_size) == together

    def test_batches_keep_to_the_budget(self, translator, monkeypatch):
        monkeypatch.setattr(batching, "CACHE_POSITIONS", 3)
        budget = count_processor_positions(translator.engine.model)
        lengths = [3, 30, 7, 7, 200, 1, 1, 2]
        sources = [[5] * (n - 1) + [END_ID] for n in lengths]
        sizes = []
        translator.translate_ids(sources, sizes.append, beam_size=2)
        assert sum(sizes) == len(lengths)
        longest_first = iter(sorted(lengths, reverse=True))
        for size in filter(None, sizes):
            longest, *_ = list(itertools.islice(longest_first, size))
            assert size == 1 or size * (longest + 4) * 2 <= budget

    def test_a_beam_of_one_is_the_argmax_of_the_whole_model(self, translator):
        source = translator.codec.vocabulary.encode(["two women run"])[0]
        limit = len(source) + translator.options.extra_length
        target = []
        while END_ID not in target and len(target) < limit - 1:
            padded = target + [0] * (limit - len(target))
            features = {
                "inputs": np.array([source]),
                "targets": np.array([padded]),
            }
            logits = ops.convert_to_numpy(translator.engine.model(features))
            target.append(int(np.argmax(logits[0, len(target)])))
        if END_ID not in target:
            target.append(END_ID)
        assert ids_of(translator, [source], beam_size=1) == [target]

    def test_no_translation_exceeds_its_source_by_more_than_the_extra(
        self, translator
    ):
        sources = [[5, END_ID], [5] * 20 + [END_ID]]
        for source, ids in zip(sources, ids_of(translator, sources)):
            assert ids[-1] == END_ID
            assert len(ids) <= len(source) + 4

    def test_a_model_in_training_is_followed(self, translator):
        texts = ["two women", "a dog runs"]
        before = translator(texts)
        embeddings = translator.engine.model.embedding.embeddings
        values = embeddings.numpy()
        embeddings.assign(values[::-1])
        assert translator(texts) != before
        embeddings.assign(values)
        assert translator(texts) == before

    def test_beam_and_alpha_are_those_of_the_run_unless_given(self, translator):
        texts = ["two women on the street", "a very long book"]
        expected = translator(texts, beam_size=4, alpha=0.6)
        assert translator(texts) == expected

    def test_a_length_penalty_favours_long_translations(self, vocabulary):
        model = HesitantModel(vocabulary.vocab_size)
        engine = KerasEngine(model, vocabulary, HParams(beam_size=2))
        translator = Translator(engine)
        sources = [[5, END_ID]]
        (short,) = ids_of(translator, sources, alpha=0.0)
        (long,) = ids_of(translator, sources, alpha=3.0)
        assert short == [END_ID]
        assert len(long) == len(sources[0]) + translator.options.extra_length


class TreesTest:
    @pytest.mark.parametrize(
        "linearization",
        [
            "lexicalised",
            pytest.param("normalised", marks=pytest.mark.slow),
            pytest.param("tagged", marks=pytest.mark.slow),
            pytest.param("in_order", marks=pytest.mark.slow),
        ],
    )
    def test_every_output_is_a_tree_over_the_words(
        self, tmp_path, linearization
    ):
        vocabulary = make_tree_vocabulary(tmp_path / "model", linearization)
        translator = make_translator(vocabulary)
        bracket = "-LRB-" if linearization in WITH_WORDS else "(S"
        texts = [*TEXTS, f"a  dog 漢字 <NP> {bracket} XXX _", "dog " * 50]

        def well_formed(**options):
            return [
                is_tree(tree, text.split(), linearization)
                for text, trees in zip(texts, translator(texts, **options))
                for tree in trees
                if text.strip()
            ]

        checks = well_formed(num_hypotheses=5, extra_length=1)
        assert all(checks) and len(checks) > 25
        assert not all(well_formed(num_hypotheses=1, constrained=False))
        with pytest.raises(ValueError, match="`prefixes`.*a model that parses"):
            translator(["a dog"], prefixes=["(S"])


def search_with(weights):
    """Returns the ids and scores that a search with these weights finds."""
    model = build_transformer(HPARAMS.model, vocab_size=50)
    write_variables(model_variables(model), weights, "a test")
    generator = np.random.default_rng(0)
    inputs = generator.integers(2, 50, (5, 20), "int32")
    inputs[np.arange(20) >= np.array([[20], [19], [9], [4], [1]])] = 0
    limits = np.array([24, 23, 13, 8, 5], "int32")
    search = compile_search(model, DecodeOptions(beam_size=3))
    sequences, scores = search(inputs, limits)
    return sequences[:, 0], scores[:, 0]


@pytest.mark.skipif(not TENSORFLOW, reason="runs tests on JAX")
class TranslatorOnJaxTest:
    @pytest.mark.slow
    def test_jax_finds_the_same_without_tensorflow(self, tmp_path):
        pytest.importorskip("jax")
        model = build_transformer(HPARAMS.model, vocab_size=50)
        embeddings = model.embedding.embeddings
        embeddings.assign(4.0 * embeddings)  # or all would be about as likely
        weights = read_variables(model_variables(model))
        np.savez(tmp_path / "weights.npz", **weights)
        script = (
            "import sys, numpy\n"
            "from decoding_test import search_with\n"
            "weights = numpy.load('weights.npz')\n"
            "numpy.savez('on_jax.npz', *search_with(weights))\n"
            "assert 'tensorflow' not in sys.modules\n"
        )
        run_on_jax("-c", script, cwd=tmp_path)
        sequences, scores = search_with(weights)
        on_jax = np.load(tmp_path / "on_jax.npz")
        for row, expected in zip(on_jax["arr_0"], sequences, strict=True):
            assert cut_after_end(row.tolist()) == cut_after_end(
                expected.tolist()
            )
        np.testing.assert_allclose(on_jax["arr_1"], scores, rtol=0, atol=1e-4)


def run_on_jax(*arguments, cwd=None):
    outcome = subprocess.run(
        [sys.executable, *arguments],
        env=environment(
            __file__,
            KERAS_BACKEND="jax",
            XLA_FLAGS="--xla_backend_optimization_level=0",
        ),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stdout[-3000:]
