"""One function opens every kind of model as a translator or a parser."""

import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys

import keras
import pytest
from processes import environment
from small_translators import make_run
from small_translators import make_tree_vocabulary

import keras_transformer
from keras_transformer import decoding
from keras_transformer.decoding import load
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.preparation import Preparation
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine
from keras_transformer.formats.saved_model.engine import SavedModelEngine
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1"
TENSORFLOW = keras.backend.backend() == "tensorflow"
only_tensorflow = pytest.mark.skipif(
    not TENSORFLOW, reason="SavedModels are TensorFlow's"
)


@pytest.fixture(scope="module")
def parser_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("parser")
    vocabulary = make_tree_vocabulary(path / "vocabulary")
    return make_run(path / "run", vocabulary)


def assert_parses(parser, engine_class):
    assert type(parser) is Parser
    assert type(parser.engine) is engine_class
    assert parser.trees.split("don't") == ["do", "n't"]
    (tree,) = parser(["a dog runs"], num_hypotheses=1)[0]
    assert tree.startswith("(TOP ") and "dog)" in tree


class TranslatorTest:
    @pytest.mark.parametrize(
        "name, cls",
        [
            ("run", KerasEngine),
            ("averaged", KerasEngine),
            pytest.param(
                "saved_model", SavedModelEngine, marks=only_tensorflow
            ),
            pytest.param(
                "saved_model/1", SavedModelEngine, marks=only_tensorflow
            ),
            ("ctranslate2", CTranslate2Engine),
        ],
    )
    def test_each_kind_of_model_translates(self, name, cls):
        if cls is CTranslate2Engine:
            pytest.importorskip("ctranslate2")
        translator = load(str(FIXTURES / name), engine="keras")
        assert type(translator) is Translator
        assert type(translator.engine) is cls
        assert translator(["a b c", ""]) == ["a b c", ""]

    def test_step_and_precision_are_the_requested_ones(self):
        path = str(FIXTURES / "run")
        with pytest.raises(ValueError, match="holds no checkpoint of step 7"):
            load(path, 7)
        model = load(path, "best", "bfloat16").engine.model
        assert model.compute_dtype == "bfloat16"

    @only_tensorflow
    def test_a_model_of_ids_is_refused(self, tmp_path):
        path = shutil.copytree(FIXTURES / "saved_model/1", tmp_path / "ids")
        record = path / "assets.extra/export.json"
        content = {**json.loads(record.read_text()), "of_text": False}
        record.write_text(json.dumps(content))
        with pytest.raises(ValueError, match="--format=saved_model_ids"):
            load(str(path))

    def test_no_model_is_an_error(self, tmp_path):
        with pytest.raises(ValueError, match="run.json"):
            load(str(tmp_path))

    @pytest.mark.parametrize(
        "name",
        ["ctranslate2", pytest.param("saved_model", marks=only_tensorflow)],
    )
    def test_an_exported_model_has_no_steps(self, name):
        with pytest.raises(UserError, match="does not support `step`"):
            load(str(FIXTURES / name), step=5)

    def test_a_failed_load_makes_no_memory(self, parser_run, tmp_path):
        memory = tmp_path / "memory"
        with pytest.raises(UserError):
            load(tmp_path / "missing", memory=memory)
        with pytest.raises(UserError, match="`memory` needs a model that tr"):
            load(parser_run.path, memory=memory)
        assert not memory.exists()

    def test_tokenized_text_is_for_parsers(self):
        with pytest.raises(ValueError, match="model that parses"):
            load(str(FIXTURES / "averaged"), tokenized=True)


class PlanTest:
    def test_it_loads_no_backend_and_cannot_change(self):
        script = (
            "import sys\n"
            "from keras_transformer.decoding.plan import plan_model\n"
            "for name in ('run', 'saved_model', 'ctranslate2'):\n"
            f"    plan = plan_model({str(FIXTURES)!r} + '/' + name)\n"
            "    plan.checker and plan.checker.check_lengths(['a b'])\n"
            "assert not {'keras', 'tensorflow', 'jax'} & sys.modules.keys()\n"
        )
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            env=environment(__file__),
        )
        with pytest.raises(dataclasses.FrozenInstanceError):
            plan_model(FIXTURES / "run").engine = "keras"

    def test_its_checker_is_no_translator(self, parser_run):
        for path in (FIXTURES / "run", FIXTURES / "ctranslate2"):
            assert type(plan_model(path).checker) is Preparation
        checker = plan_model(parser_run.path).checker
        assert type(checker) is Preparation
        assert checker.prepare(["don't"]) == ["do n't"]
        with pytest.raises(ValueError, match="trees, line 2"):
            checker.check_lengths(["(S (NN a))", "(S"], "trees", True)
        with pytest.raises(ValueError, match="the text, line 2"):
            checker.encode(["(S (NN a))", "(S"], of_targets=True)

    @pytest.mark.parametrize(
        "name, file",
        [
            ("run", "hparams.json"),
            ("run", "checkpoints/ckpt-3000.npz"),
            ("ctranslate2", "model.bin"),
        ],
    )
    def test_the_hash_is_that_of_the_content(self, name, file, tmp_path):
        ignore = shutil.ignore_patterns("*.converted-*")
        path = shutil.copytree(FIXTURES / name, tmp_path / "a", ignore=ignore)
        other = shutil.copytree(path, tmp_path / "b")
        first = plan_model(path).hash_content()
        assert plan_model(other).hash_content() == first
        if file.endswith(".npz"):
            checkpoints = RunDirectory(other).checkpoints
            arrays = checkpoints.load()
            arrays["model/embedding/embeddings"] *= 1.5
            checkpoints.save(checkpoints.find(), arrays)
        elif file.endswith(".json"):
            hparams = dataclasses.asdict(RunDirectory(other).hparams)
            (other / file).write_text(json.dumps({**hparams, "beam_size": 7}))
        else:
            (other / file).write_bytes((path / file).read_bytes() + b"\0")
        assert plan_model(other).hash_content() != first

    @pytest.mark.parametrize(
        "name, record",
        [
            ("ctranslate2", "export.json"),
            ("saved_model/1", "assets.extra/export.json"),
        ],
    )
    def test_options_are_added_to_those_of_the_export(
        self, name, record, tmp_path
    ):
        path = shutil.copytree(FIXTURES / name, tmp_path / "1")
        content = json.loads((path / record).read_text())
        content["decode"] |= {
            "beam_size": 1,
            "num_hypotheses": 2,
            "temperature": 0.5,
        }
        (path / record).write_text(json.dumps(content))
        options = {"beam_size": 1, "num_hypotheses": 2}
        for directory in (path, tmp_path):
            plan = plan_model(str(directory))
            plan.change_options(**options)
            with pytest.raises(ValueError, match="Received: .*temperature"):
                plan.change_options(temperature=0, **options)
            with pytest.raises(ValueError, match="not support `mbr_samples`"):
                plan.change_options(mbr_samples=8)


class ParserTest:
    def test_a_run_that_parses_is_a_parser(self, parser_run):
        assert_parses(load(parser_run.path), KerasEngine)
        tokenized = load(parser_run.path, tokenized=True)
        assert tokenized.trees.split("don't") == ["don't"]

    @only_tensorflow
    @pytest.mark.slow
    def test_its_saved_model_is_a_parser(self, parser_run, tmp_path):
        from keras_transformer.formats.saved_model.writer import (
            export_saved_model,
        )

        path = export_saved_model(parser_run, str(tmp_path / "export"))
        assert_parses(load(path), SavedModelEngine)

    def test_its_ctranslate2_model_is_a_parser(self, parser_run, tmp_path):
        pytest.importorskip("ctranslate2")
        from keras_transformer.formats.ctranslate2.writer import (
            export_ctranslate2,
        )

        path = str(tmp_path / "export")
        export_ctranslate2(parser_run, path, DecodeOptions(extra_length=4))
        assert_parses(load(path), CTranslate2Engine)


class PackageTest:
    def test_names_are_those_of_the_modules(self):
        assert decoding.Translator is keras_transformer.Translator is Translator
        assert decoding.Parser is Parser
        assert decoding.DecodeOptions is DecodeOptions
        assert decoding.load is keras_transformer.load is load
        assert set(decoding.__all__) <= set(dir(decoding))
        with pytest.raises(AttributeError, match="'Parsers'"):
            decoding.Parsers

    def test_the_package_imports_neither_keras_nor_tensorflow(self):
        script = (
            "import sys\n"
            "import keras_transformer.decoding\n"
            "assert not {'keras', 'tensorflow', 'jax'} & sys.modules.keys()\n"
        )
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            env=environment(__file__),
        )
