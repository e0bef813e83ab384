"""A run is translated by CTranslate2 where that can do what is asked."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from processes import environment
from small_translators import make_run
from small_translators import make_tree_vocabulary

from keras_transformer.decoding import Glossary
from keras_transformer.decoding import Placeholders
from keras_transformer.decoding import load
from keras_transformer.decoding.automatic_engine import AutomaticEngine
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.translation import REACHED_LIMIT
from keras_transformer.decoding.translation import Extras
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine
from keras_transformer.formats.ctranslate2.engine import may_overflow
from keras_transformer.runs.run_directory import RunDirectory

pytest.importorskip("ctranslate2")

FROZEN = pathlib.Path(__file__).parents[1] / "fixtures/v0.1/run"
TEXTS = ["a b c", "", "c b a d", "d d d a", "e a"]
ORDERED = {"num_hypotheses": 2, "beam_size": 4, "return_scores": True}


@pytest.fixture
def path(tmp_path):
    return shutil.copytree(
        FROZEN, tmp_path / "run", ignore=shutil.ignore_patterns("*.converted-*")
    )


@pytest.fixture(scope="module")
def translators(tmp_path_factory):
    """Returns a copied run's translator by CTranslate2, and that by Keras."""
    path = tmp_path_factory.mktemp("run") / "copy"
    shutil.copytree(FROZEN, path)
    return load(str(path)), load(str(path), engine="keras")


def list_converted(path):
    return sorted(path.glob("checkpoints/*converted*"))


def is_loaded(translator):
    return "_keras_engine" in vars(translator.engine)


class ChooseEngineTest:
    def test_a_run_is_translated_by_ctranslate2(self):
        plan = plan_model(FROZEN)
        assert plan.engine == "ctranslate2"
        assert plan.describe_engine().startswith("CTranslate2 4")

    @pytest.mark.parametrize(
        "precision, request_, reason",
        [
            ("bfloat16", {}, "does not compute in bfloat16"),
            ("auto", {"glossary": "terms.tsv"}, "does not support glossary"),
            ("auto", {"rerank_by": "reverse"}, "does not support rerank_by"),
            ("auto", {"mbr_samples": 8}, "does not support mbr_samples"),
            ("auto", {"temperature": 0.5}, "does not support temperature"),
            ("auto", {"return_attention": True}, "support return_attention"),
        ],
    )
    def test_keras_does_what_ctranslate2_lacks(
        self, precision, request_, reason
    ):
        plan = plan_model(FROZEN, None, "auto", precision, request_)
        assert plan.engine == "keras"
        assert plan.describe_engine().startswith("Keras, because CTranslate2 ")
        assert reason in plan.reason

    def test_an_ensemble_is_translated_by_keras(self):
        assert "not an ensemble" in plan_model([FROZEN, FROZEN]).reason

    def test_an_unknown_field_of_the_model_needs_keras(self, path):
        hparams = dataclasses.asdict(RunDirectory(path).hparams)
        hparams["neighbourhood_size"] = 2
        (path / "hparams.json").write_text(json.dumps(hparams))
        reason = plan_model(path).reason
        assert reason == "CTranslate2 lacks neighbourhood_size=2"

    def test_a_parsing_run_needs_keras(self, tmp_path):
        vocabulary = make_tree_vocabulary(tmp_path / "vocabulary")
        run = make_run(tmp_path / "run", vocabulary)
        assert "well-formed trees" in plan_model(run.path).reason
        assert type(load(run.path).engine) is KerasEngine
        with pytest.raises(UserError, match="well-formed trees. Use engine=k"):
            load(run.path, engine="ctranslate2")

    def test_explicit_ctranslate2_draws_its_samples(self):
        request = {"temperature": 0.5, "seed": 3}
        plan = plan_model(FROZEN, engine="ctranslate2", request=request)
        assert plan.engine == "ctranslate2"

    @pytest.mark.parametrize(
        "engine, precision, words",
        [
            ("onnx", "float32", "`engine` must be one of auto, keras, ctrans"),
            ("ctranslate2", "float16", "in float16 here. Use engine=keras"),
            ("keras", "int8", "Received: precision=int8 with engine=keras."),
        ],
    )
    def test_faulty_arguments_are_refused(self, engine, precision, words):
        with pytest.raises(UserError, match=re.escape(words)):
            plan_model(FROZEN, None, engine, precision)


class AutomaticEngineTest:
    def test_translations_and_scores_are_those_of_keras(self, translators):
        fast, ours = translators
        assert type(fast.engine) is AutomaticEngine
        texts, scores = fast(TEXTS, **ORDERED)
        expected, expected_scores = ours(TEXTS, **ORDERED)
        assert texts == expected
        for each, other in zip(scores, expected_scores, strict=True):
            np.testing.assert_allclose(each, other, atol=1e-4)
        assert fast.score(TEXTS, TEXTS) == pytest.approx(
            ours.score(TEXTS, TEXTS), abs=1e-4
        )

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param(
                {"temperature": 1.0, "seed": 3}, marks=pytest.mark.slow
            ),
            pytest.param({"mbr_samples": 4}, marks=pytest.mark.slow),
            pytest.param(
                {"glossary": Glossary({"a": "d"})}, marks=pytest.mark.slow
            ),
            {"extra_length": 3000},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_keras_is_loaded_for_what_ctranslate2_lacks(
        self, options, translators
    ):
        fast, ours = translators
        vars(fast.engine).pop("_keras_engine", None)
        fast(TEXTS)
        assert not is_loaded(fast)
        assert fast(TEXTS, **options) == ours(TEXTS, **options)
        assert is_loaded(fast)

    def test_words_are_linked_without_keras(self, translators):
        fast, ours = translators
        vars(fast.engine).pop("_keras_engine", None)
        texts = [*TEXTS, "a <b>b c</b>"]
        for options in (
            {"return_alignments": True},
            {"protect": Placeholders(["<[^>]*>"])},
        ):
            assert fast(texts, **options) == ours(texts, **options)
        assert not is_loaded(fast)
        fast(texts[:1], return_attention=True)
        assert is_loaded(fast)

    def test_what_is_left_out_raises_an_alarm(self, translators):
        text = "a b c d e f g h"
        codec = translators[0].codec

        def find(translation, text=text, **options):
            ids = codec.vocabulary.encode([translation])[0]
            hypotheses = [[Hypothesis(translation, 0.0, ids)]]
            first, second = (
                translator.find_alarms([text], hypotheses, **options)
                for translator in translators
            )
            assert first == second
            return first

        for part in ("a b c d", "e f g h", "a b g h"):
            assert find(part) == [["uncovered"]]
        assert find("") == [["much_shorter"]]
        for part in (text, "a b c d e"):
            assert find(part) == [[]]
        # A name stands for the placeholder, which is no gap of many words.
        protect = Placeholders(["{[^}]*}"])
        assert find("a b", "a b {c d e f g}", protect=protect) == [[]]
        # What is put back does not make a translation longer.
        codec = translators[0].codec
        (ids,) = codec.vocabulary.encode(["a b"])
        restored = Hypothesis("a b {xxxxxxxxxxxxxxxx}", 0.0, ids)
        assert translators[0].find_alarms(
            [text + " {xxxxxxxxxxxxxxxx}"], [[restored]], protect
        ) == [["uncovered"]]

    def test_a_model_that_stops_early_raises_alarms(self, translators):
        # It learned from texts of 7.5 letters on average.
        random = np.random.default_rng(0)
        texts = [" ".join(random.choice([*"abcdefgh"], 16)) for _ in range(40)]
        hypotheses = list(translators[0].hypotheses(texts))
        lengths = np.array([len(best.text.split()) for best, *_ in hypotheses])
        alarms = translators[0].find_alarms(texts, hypotheses)
        found = np.array(["uncovered" in each for each in alarms])
        assert found[lengths <= 8].mean() > 0.8
        assert not found[lengths >= 12].any()

    def test_a_translation_beyond_the_positions_of_ctranslate2(
        self, translators, monkeypatch
    ):
        fast, ours = translators
        assert fast.max_tokens > fast.engine._fast.max_length
        monkeypatch.setattr(fast.engine._fast, "max_length", 8)
        options = {"extra_length": 9, "min_length": 10}
        (translation,) = fast.translate_window(
            Window(["a b c"]), extras=Extras(warns=True), **options
        )
        (hypothesis,) = translation.hypotheses
        assert [hypothesis.text] == ours(["a b c"], **options)
        assert len(hypothesis.ids) > 8
        assert REACHED_LIMIT not in translation.warnings

    def test_a_long_text_moves_no_other_to_keras(
        self, translators, monkeypatch
    ):
        fast, ours = translators
        monkeypatch.setattr(fast.engine._fast, "max_length", 8)
        searched = []

        def search(engine, sentences, *options, run=KerasEngine.search):
            searched.append(len(list(filter(None, sentences.sources))))
            return run(engine, sentences, *options)

        monkeypatch.setattr(KerasEngine, "search", search)
        options = {"extra_length": 2, "return_scores": True}
        texts, scores = fast(TEXTS, **options)
        long = "a b c d e a b c d"
        assert not searched
        found, found_scores = fast([*TEXTS, long], **options)
        assert searched == [1]
        assert (found[:-1], found_scores[:-1]) == (texts, scores)
        assert found[-1:] == ours([long], extra_length=2)
        scores = fast.score([*TEXTS, long], [*TEXTS, long])
        assert scores == pytest.approx(
            ours.score([*TEXTS, long], [*TEXTS, long]), abs=1e-4
        )

    @pytest.mark.skipif(may_overflow(), reason="8-bit sums would overflow")
    def test_int8_is_the_choice_of_a_user(self, path):
        translator = load(str(path), precision="int8", engine="ctranslate2")
        assert type(translator.engine) is CTranslate2Engine
        assert translator(["a b c"]) == ["a b c"]

    @pytest.mark.skipif(not may_overflow(), reason="8-bit sums are exact")
    def test_int8_is_refused_where_sums_overflow(self, path):
        with pytest.raises(UserError, match="overflow on this processor"):
            load(str(path), precision="int8", engine="ctranslate2")


class ConvertedTest:
    def test_is_written_once(self, path):
        assert list_converted(path) == []
        Translator.load(str(path))
        (converted,) = list_converted(path)
        written = os.stat(converted / "model.bin").st_mtime_ns
        Translator.load(str(path))
        assert list_converted(path) == [converted]
        assert os.stat(converted / "model.bin").st_mtime_ns == written

    def test_another_content_is_converted_again(self, path):
        load(str(path))
        before = list_converted(path)
        checkpoints = RunDirectory(str(path)).checkpoints
        arrays = checkpoints.load()
        arrays["model/embedding/embeddings"] *= 1.5
        checkpoints.save(checkpoints.find(), arrays)
        translator = load(str(path))
        after = list_converted(path)
        assert len(after) == 1 and after != before
        assert translator.score(["a"], ["a"]) == pytest.approx(
            load(str(path), engine="keras").score(["a"], ["a"]), abs=1e-4
        )

    def test_goes_with_its_checkpoint(self, path):
        checkpoints = RunDirectory(str(path)).checkpoints
        newest = checkpoints.find()
        for step in (newest, newest + 1):
            checkpoints.save(step, checkpoints.load())
            load(str(path), step)
        folder = path / "checkpoints"
        left = f"ckpt-{newest}.converted-{0:016}.kt-incomplete"
        (folder / left).mkdir()
        mine = folder / f"ckpt-{newest}.converted-{1:016}" / "mine"
        mine.parent.mkdir()
        mine.touch()
        checkpoints.remove_incomplete()
        assert len(list_converted(path)) == 4
        checkpoints.add_timed_steps()
        shutil.rmtree(path / "checkpoints" / "evaluations.json", True)
        os.remove(checkpoints.path(newest))
        checkpoints.remove_outdated()
        (converted,) = set(list_converted(path)) - {mine.parent}
        assert mine.exists()
        assert f"ckpt-{newest + 1}." in converted.name

    def test_several_processes_write_one(self, path):
        script = (
            "import sys\n"
            "from keras_transformer import load\n"
            "print(load(sys.argv[1])(['a b c']))\n"
        )
        command = [sys.executable, "-c", script, str(path)]
        processes = [
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(__file__),
            )
            for _ in range(4)
        ]
        outputs = [process.communicate()[0] for process in processes]
        assert outputs == ["['a b c']\n"] * 4
        (converted,) = list_converted(path)
        assert not converted.name.endswith(".kt-incomplete")

    def test_a_killed_process_leaves_nothing_in_the_way(self, path):
        load(str(path))
        (converted,) = list_converted(path)
        os.rename(converted, f"{converted}.kt-incomplete")
        assert load(str(path))(["a b c"]) == ["a b c"]
        assert converted in list_converted(path)

    def test_a_directory_that_is_only_read_stays_as_it_is(self, path):
        load(str(path))
        (converted,) = list_converted(path)
        shutil.rmtree(converted)
        # Even root cannot make a directory in the place of a file.
        obstacle = pathlib.Path(f"{converted}.kt-incomplete")
        obstacle.write_text("")
        translator = load(str(path))
        assert translator(["a b c"]) == ["a b c"]
        assert list_converted(path) == [obstacle]
        temporary = translator.engine._fast._path
        assert os.path.isdir(temporary)
        del translator
        assert not os.path.exists(temporary)
