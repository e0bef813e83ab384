"""A CTranslate2 model computes the same numbers as its run."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.translator import Translator
from keras_transformer.files.writing import write_record
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine
from keras_transformer.formats.ctranslate2.writer import QUANTIZATIONS
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.hparam import HParams
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.model import load_model
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.hypotheses import score_targets
from keras_transformer.search.options import DecodeOptions

ctranslate2 = pytest.importorskip("ctranslate2")

TEXTS = ["a dog runs over the street", "two women read a book"]
HPARAMS = HParams(num_layers=2, d_model=16, d_ff=24, num_heads=2)
PRE_NORM = dataclasses.replace(HPARAMS, norm="pre")
LEARNED = {"positional_encoding": "learned", "max_length": 9}
RELATIVE = {"positional_encoding": "none", "max_relative_position": 2}
MARIAN = {
    "activation": "silu",
    "attention_bias": True,
    "output_bias": True,
    "scale_embeddings": False,
    "norm_epsilon": 1e-5,
}
HPARAMS_OF = {
    "marian": dataclasses.replace(HPARAMS, **MARIAN),
    "marian_started": dataclasses.replace(
        *(HPARAMS,), **{**MARIAN, "decoder_start": "padding"}
    ),
    "wide_heads_and_biases": dataclasses.replace(
        *(PRE_NORM,), d_k=12, d_v=10, attention_bias=True, activation="gelu"
    ),
    "post": HPARAMS,
    "pre": PRE_NORM,
    "post_learned": dataclasses.replace(HPARAMS, **LEARNED),
    "pre_learned": dataclasses.replace(PRE_NORM, **LEARNED),
    "narrow_keys": dataclasses.replace(HPARAMS, d_k=3, d_v=8),
    "narrow_values": dataclasses.replace(HPARAMS, d_k=8, d_v=5),
    "wide_heads": dataclasses.replace(PRE_NORM, d_k=12, d_v=10),
    "deep_shallow": dataclasses.replace(
        PRE_NORM, num_layers=3, num_decoder_layers=1
    ),
    "shallow_deep": dataclasses.replace(
        HPARAMS, num_layers=1, num_decoder_layers=2
    ),
    "source_untied": dataclasses.replace(HPARAMS, tied_embeddings="target"),
    "all_untied": dataclasses.replace(PRE_NORM, tied_embeddings="none"),
    "relative": dataclasses.replace(HPARAMS, **RELATIVE),
    "relative_narrow_keys": dataclasses.replace(
        *(PRE_NORM,), d_k=3, d_v=8, **RELATIVE
    ),
    "odd_heads": dataclasses.replace(HPARAMS, num_heads=3, d_k=4, d_v=4),
}
SOURCES = [[270, 265, 268, 1], [262, 1], list(range(260, 280)) + [1]]
TARGETS = [[266, 1], [269, 264, 264, 271, 1], list(range(279, 259, -1)) + [1]]


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("vocabulary") / "vocab.model")
    return train_subwords(TEXTS * 9, 285, path).model_bytes


def make_run(path, hparams, model_bytes):
    """Writes a run whose weights vary as much as trained ones."""
    record = {"problem": "copy", "hparams_set": "mine", "random_seed": 0}
    run = RunDirectory.create(str(path), record, hparams, model_bytes)
    keras.utils.set_random_seed(5)
    model = build_transformer(hparams.model, run.vocabulary.vocab_size)
    generator = np.random.default_rng(5)
    arrays = read_variables(model_variables(model))
    for name, array in arrays.items():
        noise = generator.normal(size=array.shape) * 0.3
        arrays[name] = (array + noise).astype("float32")
    run.checkpoints.save(7, arrays)
    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory, model_bytes):
    return make_run(tmp_path_factory.mktemp("run"), HPARAMS, model_bytes)


def log_probs(path, run, sources, targets):
    """Returns the scores that CTranslate2 gives to ids with the end id."""
    results = ctranslate2.Translator(path).score_batch(
        *(
            [run.vocabulary.pieces(ids[:-1]) for ids in side]
            for side in (sources, targets)
        )
    )
    return np.array([sum(result.log_probs) for result in results])


def own_log_probs(run, sources, targets):
    scores = score_targets(load_model(run), pad(sources), pad(targets), 0.0)
    return ops.convert_to_numpy(scores)


def stored(run, quantization):
    """Returns the arrays that an export stores, a dictionary by name."""
    from keras_transformer.formats.ctranslate2.spec import RunConverter
    from keras_transformer.runs.weights import select_decoding_weights

    pieces = run.vocabulary.all_pieces()
    arrays = select_decoding_weights(run.checkpoints.load(7))
    spec = RunConverter(run.hparams.model, arrays, pieces, pieces).make_spec()
    spec.validate()
    spec.optimize(quantization=quantization)
    # Other values are the names of arrays that are stored already.
    return {
        name: value
        for name, value in spec.variables().items()
        if not isinstance(value, str)
    }


def as_float(weight):
    if weight.dtype == "bfloat16":
        bits = weight.numpy().astype("uint32") << 16
        return bits.view("float32")
    return weight.numpy().astype("float32")


# Each of the others varies one of these.
KINDS = (
    *("marian_started", "wide_heads_and_biases", "post", "pre_learned"),
    *("narrow_keys", "deep_shallow", "source_untied", "all_untied"),
    "relative_narrow_keys",
)


class ExportCtranslate2Test:
    @pytest.mark.parametrize(
        "kind",
        [
            kind
            if kind in KINDS
            else pytest.param(kind, marks=pytest.mark.slow)
            for kind in HPARAMS_OF
        ],
    )
    def test_every_kind_scores_as_our_model(self, kind, tmp_path, model_bytes):
        run = make_run(tmp_path / "run", HPARAMS_OF[kind], model_bytes)
        path = export_ctranslate2(run, str(tmp_path / "out"), DecodeOptions())
        expected = own_log_probs(run, SOURCES, TARGETS)
        scores = log_probs(path, run, SOURCES, TARGETS)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4)

    def test_each_token_scores_as_our_model(self, run, tmp_path):
        path = export_ctranslate2(run, str(tmp_path / "out"), DecodeOptions())
        pieces = run.vocabulary.pieces
        (result,) = ctranslate2.Translator(path).score_batch(
            [pieces(SOURCES[2][:-1])], [pieces(TARGETS[2][:-1])]
        )
        targets = np.array([TARGETS[2]])
        logits = load_model(run)(
            {"inputs": np.array([SOURCES[2]]), "targets": targets}
        )
        expected = ops.convert_to_numpy(ops.log_softmax(logits, axis=-1))
        expected = np.take_along_axis(expected, targets[:, :, None], -1)[
            0, :, 0
        ]
        np.testing.assert_allclose(result.log_probs, expected, atol=2e-5)

    @pytest.mark.parametrize("quantization", QUANTIZATIONS)
    def test_every_stored_weight_is_the_nearest_of_its_format(
        self, quantization, run
    ):
        exact = stored(run, "float32")
        weights = stored(run, quantization)
        types = set()
        for name, weight in weights.items():
            if name not in exact or exact[name].numpy().ndim == 0:
                continue  # a scale or a setting
            types.add(str(weight.dtype))
            expected = exact[name].numpy()
            scale = weights.get(f"{name}_scale")
            if scale is None:
                # Half the distance to the next number of the format.
                step = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
                bound = np.abs(expected) * step.get(weight.dtype, 0.0) / 2
                values = as_float(weight)
            else:
                scale = as_float(scale)
                scale = scale.reshape(-1, *[1] * (expected.ndim - 1))
                bound = 0.5 / scale
                values = weight.numpy() / scale
            error = np.abs(values - expected)
            assert np.all(error <= bound * (1 + 1e-5) + 1e-7), name
        first, _, rest = quantization.partition("_")
        others = first if "float" in first else "float32"
        assert types == {first, rest or others}

    @pytest.mark.parametrize("quantization", QUANTIZATIONS)
    def test_every_quantization_of_a_trained_run_translates_alike(
        self, quantization, tmp_path
    ):
        frozen = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1"
        recorded = json.loads((frozen / "recorded.json").read_text())
        expected = recorded["translators"]["run_newest"]["translations"]
        run = RunDirectory(str(frozen / "run"))
        path = export_ctranslate2(
            run, str(tmp_path / "out"), DecodeOptions(), None, quantization
        )
        translations = Translator(CTranslate2Engine(path))(recorded["texts"])
        assert translations == [best for best, *_ in expected]

    def test_bfloat16_rounds_to_the_nearest(self):
        from keras_transformer.formats.ctranslate2.spec import Weight

        values = np.random.default_rng(0).normal(size=1000).astype("float32")
        values = np.append(values, np.float32([1 + 2**-8, 1 + 3 * 2**-8, 0.0]))
        weight = Weight(values).to("bfloat16")
        bits = np.frombuffer(weight.to_bytes(), "uint16").astype("uint32")
        expected = ops.convert_to_numpy(
            ops.cast(ops.cast(values, "bfloat16"), "float32")
        )
        np.testing.assert_array_equal((bits << 16).view("float32"), expected)
        assert weight.num_bytes() == 2 * len(values)

    def test_directory_says_where_the_model_comes_from(self, run, tmp_path):
        options = DecodeOptions(beam_size=3, alpha=0.5)
        path = export_ctranslate2(
            run, str(tmp_path / "out"), options, 7, "int8"
        )
        assert sorted(os.listdir(path)) == [
            "README.md",
            "config.json",
            "export.json",
            "model.bin",
            "shared_vocabulary.json",
            "vocab.model",
        ]
        with open(os.path.join(path, "export.json")) as file:
            record = json.load(file)
        assert DecodeOptions(**record.pop("decode")) == options
        assert record["step"] == 7
        assert record["checkpoint_steps"] == [7]
        assert record["problem"] == "copy"
        assert record["precision"] == "int8"
        assert record["vocabulary_sha256"] == run.vocabulary.sha256
        assert record["versions"]["ctranslate2"] == ctranslate2.__version__

    def test_needs_neither_tensorflow_nor_keras(self, run, tmp_path):
        program = (
            "import sys\n"
            "sys.modules.update(tensorflow=None, keras=None)\n"
            "from keras_transformer.search.options import DecodeOptions\n"
            "from keras_transformer.formats.ctranslate2 import writer\n"
            "from keras_transformer.formats.ctranslate2.engine import "
            "CTranslate2Engine\n"
            "from keras_transformer.decoding.translator import Translator\n"
            "from keras_transformer.runs.run_directory import RunDirectory\n"
            "run, out = RunDirectory(sys.argv[1]), sys.argv[2]\n"
            "writer.export_ctranslate2(run, out, DecodeOptions())\n"
            "translate = Translator(CTranslate2Engine(out))\n"
            "print(len(translate(['a dog', ''])))\n"
        )
        arguments = [run.path, str(tmp_path / "out")]
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout == "2\n", done.stderr


class RefusalTest:
    def refused(self, run, tmp_path, message, **options):
        with pytest.raises(ValueError, match=message):
            export_ctranslate2(
                run, str(tmp_path / "out"), DecodeOptions(), **options
            )
        assert not (tmp_path / "out").exists()
        assert not list(tmp_path.glob("*.kt-incomplete"))

    def test_neighbourhood_is_refused(self, tmp_path, model_bytes):
        hparams = dataclasses.replace(HPARAMS, neighbourhood_size=3)
        run = make_run(tmp_path / "run", hparams, model_bytes)
        self.refused(
            run, tmp_path, "neighbourhood_size=3.*--format=saved_model"
        )

    def test_relative_with_absolute_positions_is_refused(
        self, tmp_path, model_bytes
    ):
        hparams = dataclasses.replace(HPARAMS, max_relative_position=3)
        run = make_run(tmp_path / "run", hparams, model_bytes)
        self.refused(
            run, tmp_path, "`positional_encoding` must be 'none'.*sinusoidal"
        )

    def test_absent_step_is_refused(self, run, tmp_path):
        self.refused(run, tmp_path, "holds no checkpoint of step 8", step=8)

    def test_weights_of_another_model_are_refused(self, tmp_path, model_bytes):
        run = make_run(tmp_path / "run", HPARAMS, model_bytes)
        run.hparams = dataclasses.replace(HPARAMS, d_ff=32)
        message = r"feed_forward/inner' is of shape \(16, 24\).*\(16, 32\)"
        self.refused(run, tmp_path, message)

    def test_other_vocabulary_is_refused(self, tmp_path, model_bytes):
        run = make_run(tmp_path / "run", HPARAMS, model_bytes)
        record = {**run.record, "vocabulary_sha256": "0" * 64}
        write_record(run.file("run.json"), record)
        self.refused(
            RunDirectory(run.path),
            tmp_path,
            "is not the vocabulary of its model",
        )

    def test_absent_package_is_named(self, run, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "path", [])
        monkeypatch.delitem(sys.modules, "ctranslate2")
        self.refused(run, tmp_path, "pip install ctranslate2")
