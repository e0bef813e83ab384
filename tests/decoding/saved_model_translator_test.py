"""Translations by a SavedModel: options, trees, damage."""

import functools
import pathlib
import shutil
import subprocess
import sys

import keras
import pytest

from keras_transformer.formats.saved_model.engine import SavedModelEngine

if keras.backend.backend() != "tensorflow":
    pytest.skip("SavedModels are TensorFlow's", allow_module_level=True)

import tensorflow as tf
from processes import environment
from small_translators import TEXTS
from small_translators import make_run
from small_translators import make_tree_vocabulary

from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.saved_model.writer import export_saved_model
from keras_transformer.parsing.target_text import is_tree
from keras_transformer.search.options import DecodeOptions

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1"
EXPORTED = FIXTURES / "saved_model"  # with a beam of 2 and one hypothesis
LETTERS = ["a b c", "", "b", "c c a a b", " \u3000", "d a"]


@pytest.fixture(scope="module")
def translator():
    return Translator(SavedModelEngine(str(EXPORTED)))


def limited(signature):
    """Returns a signature that has memory for one text alone."""

    def call(text, **others):
        if len(text) > 1:
            raise tf.errors.ResourceExhaustedError(None, None, "OOM")
        return signature(text=text, **others)

    return call


class SavedModelEngineTest:
    def test_options_are_those_of_the_export(self, translator):
        assert translator(["a"], beam_size=2, alpha=0.6) == translator(["a"])
        with pytest.raises(
            ValueError, match="beam_size=3 instead of 2.*Export"
        ):
            translator(["a"], beam_size=3)
        with pytest.raises(ValueError, match="num_hypotheses=2 instead of 1"):
            translator(["a"], num_hypotheses=2)
        with pytest.raises(ValueError, match="return_attention"):
            translator(["a"], return_attention=True)

    @pytest.mark.slow
    def test_nothing_is_logged(self, capfd):
        Translator(SavedModelEngine(str(EXPORTED)))(LETTERS)
        assert capfd.readouterr() == ("", "")

    def test_overlong_text_is_an_error_that_names_it(self, translator):
        with pytest.raises(ValueError, match="at most 4,096.*sentence 2 with"):
            translator(["a", "a " * 9000])

    def test_every_text_is_reported_once(self, translator):
        counts = []
        translations = list(
            translator.translate(LETTERS * 3, report=counts.append)
        )
        assert translations == translator(LETTERS * 3)
        assert sum(counts) == len(LETTERS) * 3

    def test_a_batch_that_does_not_fit_is_halved(self):
        small = Translator(SavedModelEngine(str(EXPORTED)))
        expected = small(LETTERS), small.score(LETTERS, LETTERS[::-1])
        names = ("lengths", "serving_default", "score")
        signatures = {name: small.engine._signatures[name] for name in names}
        for name in names[1:]:
            signatures[name] = limited(signatures[name])
        small.engine._signatures = signatures
        assert small(LETTERS) == expected[0]
        scores = small.score(LETTERS, LETTERS[::-1])
        assert scores == pytest.approx(expected[1], abs=1e-5)

    def test_no_texts_give_empty_lists(self, translator):
        assert translator([]) == translator.score([], []) == []
        assert translator([], return_scores=True) == ([], [])
        for of_targets in (False, True):
            assert translator.count_tokens([], of_targets) == []

    def test_a_blank_text_scores_0_whatever_its_translation(self, translator):
        score = functools.partial(translator.score, alpha=0.6)
        pairs = [("a b", "b"), ("", "b"), (" \u3000", "b c"), ("", "")]
        (first,) = score(*zip(pairs[0]))
        assert first < 0
        assert score(*zip(*pairs)) == pytest.approx([first, 0, 0, 0], abs=1e-5)
        assert score(["b"], [""])[0] < 0

    @pytest.mark.slow
    def test_a_damaged_fingerprint_is_ignored_in_silence(self, tmp_path):
        path = tmp_path / "1"
        shutil.copytree(EXPORTED / "1", path)
        (path / "fingerprint.pb").write_bytes(b"damaged")
        # In another process, since pytest takes the logs of this one.
        script = (
            "from keras_transformer.decoding import load\n"
            f"print(load({str(path)!r})(['a b', 'b']))\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            env=environment(__file__),
        )
        assert result.stdout == "['a b', 'b']\n"
        assert "ingerprint" not in result.stderr

    @pytest.mark.parametrize("file", ["saved_model.pb", "variables"])
    def test_damage_is_an_error_that_names_the_file(self, tmp_path, file):
        path = tmp_path / "1"
        shutil.copytree(EXPORTED / "1", path)
        target = path / file
        if target.is_dir():
            (target,) = target.glob("*.data*")
        target.write_bytes(target.read_bytes()[:1000])
        with pytest.raises(ValueError, match=f"damaged.*{file}"):
            Translator(SavedModelEngine(str(path)))


class TreesTest:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "linearization", ["normalised", "lexicalised", "in_order"]
    )
    def test_every_output_is_a_tree_over_the_words(
        self, linearization, tmp_path
    ):
        vocabulary = make_tree_vocabulary(tmp_path / "vocab", linearization)
        run = make_run(tmp_path / "run", vocabulary)
        options = DecodeOptions(beam_size=3, num_hypotheses=2, extra_length=0)
        path = export_saved_model(run, str(tmp_path / "export"), options)
        texts = ["a dog", *TEXTS[:4], "dog"]
        trees = Translator(SavedModelEngine(path))(texts, num_hypotheses=2)
        assert trees == Translator.load(run.path)(
            texts, num_hypotheses=2, beam_size=3, extra_length=0
        )
        for text, hypotheses in zip(texts, trees):
            if text:
                assert len(hypotheses) == 2
                for tree in hypotheses:
                    assert is_tree(tree, text.split(), linearization)
