"""Lists of runs are opened as ensembles, or refused."""

import dataclasses
import pathlib

import numpy as np
import pytest
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import make_run
from small_translators import make_translator
from small_translators import make_tree_vocabulary
from small_translators import make_vocabulary

from keras_transformer.decoding import load
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.translator import Translator
from keras_transformer.formats import exported
from keras_transformer.layers.transformer import Transformer
from keras_transformer.search.ensemble import Ensemble

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1"
LARGER = dataclasses.replace(HPARAMS, d_model=24, beam_size=2, alpha=0.3)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Paths of two runs of different sizes with one vocabulary."""
    folder = tmp_path_factory.mktemp("ensemble")
    vocabulary = make_vocabulary(folder / "vocabulary")
    return [
        make_run(folder / name, vocabulary, hparams).path
        for name, hparams in (("small", HPARAMS), ("large", LARGER))
    ]


class LoadTest:
    def test_a_list_of_runs_is_an_ensemble(self, runs):
        ensemble, first = load(runs), load(runs[0], engine="keras")
        assert type(ensemble) is Translator
        assert type(ensemble.engine.model) is Ensemble
        assert ensemble.options == first.options
        sources = ensemble.codec.vocabulary.encode(TEXTS[:2])
        hypotheses = [best for best, *_ in ensemble.translate_ids(sources)]
        targets = [hypothesis.ids for hypothesis in hypotheses]
        scores = [hypothesis.score for hypothesis in hypotheses]
        found = ensemble.score_ids(sources, targets)
        np.testing.assert_allclose(found, scores, rtol=1e-4)
        alone = first.score_ids(sources, targets)
        assert not np.any(np.isclose(alone, scores, rtol=1e-3))

    def test_a_list_of_one_run_is_the_run(self, runs):
        assert type(load(runs[:1], engine="keras").engine.model) is Transformer
        assert (
            type(load([pathlib.Path(runs[0])], engine="keras").engine.model)
            is Transformer
        )
        assert (
            type(load(iter(runs[:1]), engine="keras").engine.model)
            is Transformer
        )

    def test_each_run_has_its_own_step(self, runs):
        assert type(load(runs, [7, None]).engine.model) is Ensemble
        with pytest.raises(ValueError, match="holds no checkpoint of step 8"):
            load(runs, [7, 8])
        with pytest.raises(ValueError, match="1 steps of 2 runs"):
            load(runs, [7])

    @pytest.mark.slow
    def test_parsing_runs_make_one_parser(self, tmp_path):
        vocabulary = make_tree_vocabulary(tmp_path / "vocabulary")
        model = make_translator(vocabulary).engine.model
        single = Parser(KerasEngine(model, vocabulary, HPARAMS))
        ensemble = Parser(
            KerasEngine(Ensemble([model, model]), vocabulary, HPARAMS)
        )
        texts = ["a dog runs", "two women"]
        trees, scores = ensemble(texts, return_scores=True)
        expected, expected_scores = single(texts, return_scores=True)
        assert trees == expected
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-4)
        paths = [make_run(tmp_path / n, vocabulary).path for n in "ab"]
        assert type(load(paths)) is type(Parser.load(paths)) is Parser
        assert type(load(iter(paths))) is Parser
        assert type(Parser.load(iter(paths))) is Parser


class RefusalsTest:
    def test_vocabularies_must_be_the_same(self, runs, tmp_path):
        vocabulary = make_tree_vocabulary(tmp_path / "vocabulary")
        other = make_run(tmp_path / "other", vocabulary).path
        for opens in (load, plan_model):
            with pytest.raises(ValueError, match="same vocabulary") as error:
                opens([*runs, other])
            assert runs[0] in str(error.value) and other in str(error.value)

    @pytest.mark.parametrize("name", ["saved_model", "ctranslate2"])
    def test_an_exported_model_is_refused(self, runs, name):
        path = str(FIXTURES / name)
        with pytest.raises(ValueError, match=f"{path}, which is an exported"):
            load([runs[0], path])

    @pytest.mark.parametrize("paths", [None, [], [""], ["run", ""]])
    def test_every_model_needs_a_directory(self, paths):
        with pytest.raises(ValueError, match="a directory for each model"):
            exported.list_directories(paths)

    def test_attention_is_that_of_a_single_model(self, runs):
        with pytest.raises(ValueError, match="one of its runs"):
            load(runs).attention(["a dog"], [])
