"""A served CTranslate2 model answers as the SavedModel of the same run."""

import dataclasses
import json
import pathlib
import shutil

import keras
import numpy as np
import pytest
import toy_saved_model as toy
from google.protobuf import json_format
from small_translators import make_run
from small_translators import make_tree_vocabulary

from keras_transformer import load
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.served_model import CTranslate2Model
from keras_transformer.decoding.served_model import open_model
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.scoring.quality import QualityEstimate
from keras_transformer.scoring.quality import measure_features
from keras_transformer.search.options import DecodeOptions
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import Options
from keras_transformer.serving.loaded_model import LoadedModel
from keras_transformer.serving.signature import check_names

pytest.importorskip("ctranslate2")

V01 = pathlib.Path(__file__).parents[1] / "fixtures/v0.1"
TEXTS = ["a b c", "", "h g f e d c b a", " \t\u3000", "d", "a\nb", "x ü"]
LONG = "a " * 5000  # longer than either model takes


def strings(*texts):
    return np.array(
        [t if isinstance(t, bytes) else t.encode() for t in texts], object
    )


def ids(*rows):
    return np.array(rows, np.int32)


OPTIONS = DecodeOptions(beam_size=2, extra_length=10)


@pytest.fixture(scope="module")
def export_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("export")


@pytest.fixture(scope="module")
def run(export_dir):
    """A run whose translations are estimated by their scores alone."""
    run = RunDirectory(shutil.copytree(V01 / "run", export_dir / "run"))
    step = run.checkpoints.find()
    QualityEstimate(step, 100, 50.0, [1, 2, 0], [0, 0], 1.0).write(run.path)
    return run


@pytest.fixture(scope="module")
def ours(run, export_dir):
    path = export_ctranslate2(run, str(export_dir / "ctranslate2"), OPTIONS)
    return CTranslate2Model(path)


@pytest.fixture(scope="module")
def saved_model(run, export_dir):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("SavedModels are TensorFlow's")
    from keras_transformer.formats.saved_model.writer import export_saved_model

    path = export_saved_model(run, str(export_dir / "saved_model"), OPTIONS)
    return LoadedModel(path)


@pytest.fixture(scope="module")
def served_saved_model(saved_model, export_dir):
    return open_model(str(export_dir / "saved_model" / "1"))


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(V01 / "ctranslate2", tmp_path / "copied")


class CTranslate2ModelTest:
    def test_signatures_are_those_of_the_saved_model(self, ours, saved_model):
        expected = dict(saved_model.signatures)
        del expected["with_terms"]  # CTranslate2's search has no constraints
        assert ours.signatures == expected

    def test_metadata_are_those_of_the_saved_model(self, ours, saved_model):
        def described(definition):
            fields = json_format.MessageToDict(
                definition,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
            )
            for side in ("inputs", "outputs"):
                for info in fields[side].values():
                    del info["name"]  # of a tensor in a graph
            return fields

        for name, definition in ours.signature_defs.items():
            expected = saved_model.signature_defs[name]
            assert described(definition) == described(expected)

    @pytest.mark.parametrize(
        "name, arrays",
        [
            ("serving_default", {"text": strings(*TEXTS)}),
            ("serving_default", {"text": strings()}),
            ("ids", {"inputs": ids([5, 6, 1, 0], [1, 0, 0, 0], [0] * 4)}),
            ("ids", {"inputs": np.zeros((2, 0), np.int32)}),
            ("ids", {"inputs": np.zeros((0, 3), np.int32)}),
            (
                "score",
                {
                    "text": strings("a b", "", "a", "", " "),
                    "targets": strings("a b", "", "", "b", "\t"),
                },
            ),
            ("score", {"text": strings(), "targets": strings()}),
            ("lengths", {"text": strings(*TEXTS, LONG)}),
            ("lengths", {"text": strings()}),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_answers_are_those_of_the_saved_model(
        self, ours, saved_model, name, arrays
    ):
        answer = ours.call(name, arrays)
        doubts = answer.pop("warnings", None)
        for extra in ("num_tokens", "quality"):  # for kt-serve
            answer.pop(extra, None)
        expected = saved_model.call(name, arrays)
        check_names(expected, answer)
        # A doubtful translation is searched again.
        if doubts is not None:
            sound = [not any(each) for each in doubts]
            assert sum(sound) >= len(sound) / 2
            answer, expected = (
                {key: array[sound] for key, array in each.items()}
                for each in (answer, expected)
            )
        for key, array in answer.items():
            assert array.dtype == expected[key].dtype
            if array.dtype.kind == "f":
                assert array.shape == expected[key].shape
                np.testing.assert_allclose(array, expected[key], atol=1e-4)
            else:
                assert array.tolist() == expected[key].tolist()

    def test_a_text_that_is_left_out_raises_an_alarm(self, ours):
        # The model learned from texts of 7.5 letters on average.
        random = np.random.default_rng(0)
        texts = [" ".join(random.choice([*"abcdefgh"], 16)) for _ in range(40)]
        arrays = {"text": strings(*texts, "a b c d e")}
        warnings = ours.call("serving_default", arrays)["warnings"]
        uncovered = ["uncovered" in each for each in warnings]
        assert 5 < sum(uncovered) < 40 and not uncovered[-1]
        # What was repaired is said, too.
        assert any("repaired" in each for each in warnings)

    @pytest.mark.parametrize(
        "name, arrays",
        [
            ("serving_default", {"text": strings("a", b"\xff")}),
            ("lengths", {"text": strings(b"\xed\xa0\x80")}),
            ("score", {"text": strings("a"), "targets": strings(b"\xff")}),
            ("score", {"text": strings("a"), "targets": strings("a", "b")}),
            ("ids", {"inputs": ids([5, 6])}),
            ("ids", {"inputs": ids([5, 1, 1])}),
            ("ids", {"inputs": ids([5, 0, 1])}),
            ("ids", {"inputs": ids([99_999, 1])}),
            ("ids", {"inputs": ids([-3, 1])}),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_errors_are_those_of_the_saved_model(
        self, ours, saved_model, served_saved_model, name, arrays
    ):
        with pytest.raises(RequestError) as expected:
            saved_model.call(name, arrays)
        for model in (ours, served_saved_model):
            with pytest.raises(RequestError) as error:
                model.call(name, arrays)
            assert error.value.code == expected.value.code
            assert str(error.value) in str(expected.value)

    @pytest.mark.parametrize(
        "name, arrays",
        [
            ("serving_default", {"text": strings(LONG)}),
            ("score", {"text": strings("a"), "targets": strings(LONG)}),
            ("ids", {"inputs": ids([5] * 5000 + [1])}),
        ],
    )
    def test_long_sentences_are_refused(
        self, ours, served_saved_model, name, arrays
    ):
        """The models take different lengths, which the error tells."""
        messages = []
        for model in (ours, served_saved_model):
            with pytest.raises(RequestError) as error:
                model.call(name, arrays)
            assert error.value.code == "INVALID_ARGUMENT"
            messages.append(str(error.value))
            assert f"at most {model.max_tokens} tokens each" in messages[-1]
        first, second = (message.split()[0] for message in messages)
        assert first in messages[1] or second in messages[0]

    def test_capitals_and_final_emoji_are_read_as_by_a_translator(self, ours):
        def answer(*texts):
            arrays = ours.call("serving_default", {"text": strings(*texts)})
            return [row[0].decode() for row in arrays["translations"]]

        texts = ["A B C", "a b c 😀", "🔥"]
        assert answer(*texts) == load(str(V01 / "ctranslate2"))(texts)
        assert answer("a b c 😀") == [f"{best} 😀" for best in answer("a b c")]

    def test_all_threads_have_work(self, ours):
        assert ours.num_parallel == ours.translator.engine.num_threads >= 1


class SavedModelTest:
    """A served SavedModel translates by a `Translator`, too."""

    def test_translations_are_those_of_its_graph(
        self, saved_model, served_saved_model
    ):
        for texts in (TEXTS, []):
            arrays = {"text": strings(*texts)}
            answer = served_saved_model.call("serving_default", arrays)
            expected = saved_model.call("serving_default", arrays)
            copied = ["copied" in each for each in answer["warnings"]]
            for name, array in expected.items():
                assert answer[name].dtype == array.dtype
                assert answer[name].shape == array.shape
                sound = np.logical_not(np.array(copied, bool))
                if name == "scores":
                    np.testing.assert_allclose(answer[name], array, atol=1e-5)
                else:
                    texts = answer[name][sound]
                    assert texts.tolist() == array[sound].tolist()

    def test_final_emoji_are_read_as_by_a_translator(self, served_saved_model):
        arrays = {"text": strings("a b c", "a b c 😀")}
        answer = served_saved_model.call("serving_default", arrays)
        (first,), (second,) = answer["translations"]
        assert second.decode() == f"{first.decode()} 😀"

    def test_it_takes_all_options_but_alignments(self, served_saved_model):
        assert served_saved_model.features == {"quality", "glossary"}

    def test_a_glossary_is_obeyed(self, served_saved_model):
        options = Options(glossary=(("b", "h"), ("d", None)))
        arrays = {"text": strings("a b c", "a c", "d b")}
        answer = served_saved_model.call("serving_default", arrays, options)
        first, second, third = answer["translations"][:, 0].tolist()
        assert b"h" in first and b"h" not in second
        assert {b"h", b"d"} <= set(third.split())

    @pytest.mark.parametrize(
        "text, term, words",
        [
            ("a", "b " * 99, "at most 32 tokens"),
            ("a " * 65, "b", "64 terms of a glossary. Received: one with 65"),
        ],
    )
    def test_too_many_terms_are_refused(
        self, served_saved_model, text, term, words
    ):
        arrays, options = (
            {"text": strings(text)},
            Options(glossary=(("a", term),)),
        )
        with pytest.raises(RequestError, match=words):
            served_saved_model.call("serving_default", arrays, options)

    def test_a_doubtful_translation_has_warnings(self, served_saved_model):
        arrays = {"text": strings("a b", "x ü x ü x ü x ü x ü x ü")}
        answer = served_saved_model.call("serving_default", arrays)
        sound, doubtful = answer["warnings"]
        assert sound == [] and doubtful

    def test_other_saved_models_are_opened_as_they_are(self, tmp_path):
        path = toy.write_version(str(tmp_path), 1)
        assert type(open_model(path)) is LoadedModel


class QualityTest:
    @pytest.mark.parametrize("format", ["ctranslate2", "saved_model"])
    def test_an_export_has_the_estimate_of_its_checkpoint(
        self, ours, saved_model, run, export_dir, format
    ):
        expected = plan_model(run.path).read_quality()
        assert expected.num_pairs == 100
        assert plan_model(export_dir / format).read_quality() == expected

    def test_that_of_another_checkpoint_stays(self, run, tmp_path):
        quality = plan_model(run.path).read_quality()
        other = RunDirectory(shutil.copytree(run.path, tmp_path / "other"))
        dataclasses.replace(quality, step=quality.step + 1).write(other.path)
        path = export_ctranslate2(other, str(tmp_path / "export"), OPTIONS)
        assert plan_model(path).read_quality() is None

    @pytest.mark.parametrize("name", ["ours", "served_saved_model"])
    def test_an_answer_is_rated_as_by_a_translator(self, name, request):
        served = request.getfixturevalue(name)
        texts = ["a b c", "a b c d e f g h", ""]
        outputs = served.call("serving_default", {"text": strings(*texts)})
        first, second, blank = outputs["quality"]
        assert 0 <= first <= 1 and 0 <= second <= 1 and blank is None
        default = getattr(served, "_default", served)
        quality, model = default._quality, default.translator
        best = [each[0] for each in model.hypotheses(texts[:2])]
        for text, one, estimate in zip(texts, best, (first, second)):
            features = measure_features(model, [one], 0.6)
            (rated,), (alarms,) = quality.judge(features, [[]])
            assert alarms == []
            assert estimate == pytest.approx(rated, abs=1e-4) or estimate == 0


class WarmUpTest:
    def test_a_vocabulary_may_have_few_ids(self, tmp_path):
        vocabulary = train_subwords(
            ["a b c"], 6, str(tmp_path / "v"), vocabulary_type="words"
        )
        assert vocabulary.vocab_size == 6
        run = make_run(tmp_path / "run", vocabulary)
        model = open_model(
            export_ctranslate2(run, str(tmp_path / "export"), OPTIONS)
        )
        answer = model.call("lengths", {"text": strings("a b c")})
        assert answer["lengths"].tolist() == [4]


class ManyHypothesesTest:
    def test_missing_ones_have_no_text_and_an_infinite_score(self, copied):
        """As the SavedModel fills the places, see `SavedModelEngine`."""
        record = json.loads((copied / "export.json").read_text())
        record["decode"].update(num_hypotheses=3, beam_size=3, extra_length=0)
        (copied / "export.json").write_text(json.dumps(record))
        model = CTranslate2Model(str(copied))
        answer = model.call("serving_default", {"text": strings("a", "")})
        assert answer["translations"].shape == answer["scores"].shape == (2, 3)
        assert answer["scores"][1].tolist() == [0.0] * 3
        for text, score in zip(answer["translations"][0], answer["scores"][0]):
            assert score > -np.inf or text == b""


class RefusalTest:
    def test_a_parser_must_not_promise_trees(self, tmp_path):
        vocabulary = make_tree_vocabulary(tmp_path / "vocabulary")
        run = make_run(tmp_path / "run", vocabulary)
        export_dir = str(tmp_path / "export")
        path = export_ctranslate2(run, export_dir, DecodeOptions())
        with pytest.raises(ValueError, match="constrained=false"):
            CTranslate2Model(path)
        options = DecodeOptions(constrained=False, extra_length=4)
        path = export_ctranslate2(run, export_dir, options)
        model = CTranslate2Model(path)
        answer = model.call("serving_default", {"text": strings("a dog")})
        assert answer["translations"].shape == (1, 1)

    def test_a_mixed_up_export_is_refused(self, copied):
        shutil.copy(V01 / "run/run.json", copied / "export.json")
        with pytest.raises(ValueError, match="Export the run again"):
            CTranslate2Model(str(copied))
