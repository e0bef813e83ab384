"""SavedModels: their operations, signatures and warm-up requests."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_transformer.formats.saved_model.engine import SavedModelEngine

if keras.backend.backend() != "tensorflow":
    pytest.skip("SavedModels are TensorFlow's", allow_module_level=True)

import tensorflow as tf
from small_translators import make_run
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.saved_model.writer import export_saved_model
from keras_transformer.hparam import HParams
from keras_transformer.search.options import DecodeOptions

HPARAMS = HParams(
    num_layers=2,
    num_decoder_layers=1,
    d_model=16,
    d_ff=32,
    num_heads=2,
    extra_length=4,
    positional_encoding="learned",
    max_length=40,
    max_relative_position=3,
    tied_embeddings="none",
)
OPTIONS = DecodeOptions(beam_size=3, num_hypotheses=2, extra_length=4)
TEXTS = [
    "a dog runs over the street",
    "two women",
    "",
    "the man reads a very long book about dogs and women on the street",
    " \u3000\t",
    "a book",
    "Ünïcode ▁ and 漢字\nin two lines",
]
SIGNATURES = {"serving_default", "with_terms", "ids", "score", "lengths"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("run")
    vocabulary = train_subwords(TEXTS * 20, 310, str(path / "vocab"))
    return make_run(path / "run", vocabulary, HPARAMS)


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    export_dir = str(tmp_path_factory.mktemp("export") / "mine")
    return export_saved_model(run, export_dir, OPTIONS)


@pytest.fixture(scope="module")
def signatures(exported):
    return tf.saved_model.load(exported).signatures


@pytest.fixture(scope="module")
def translator(exported):
    return Translator(SavedModelEngine(exported))


def graph_of(path):
    model = saved_model_pb2.SavedModel()
    with open(os.path.join(path, "saved_model.pb"), "rb") as file:
        model.ParseFromString(file.read())
    return model.meta_graphs[0].graph_def


def functions_of(path):
    return {f.signature.name: f for f in graph_of(path).library.function}


def ops_reached(name, functions):
    """Returns the operations of a function and of those that it calls."""
    todo, seen, ops = [name], set(), set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in functions[name].node_def:
            ops.add(node.op)
            for value in node.attr.values():
                called = [value.func, *value.list.func]
                todo += [f.name for f in called if f.name in functions]
    return ops


class GraphTest:
    def test_the_signatures_are_these(self, signatures):
        assert set(signatures) == SIGNATURES

    def test_only_operations_of_tensorflow_and_tensorflow_text(self, exported):
        graph = graph_of(exported)
        functions = functions_of(exported)
        ops = {node.op for node in graph.node}
        for function in functions.values():
            ops |= {node.op for node in function.node_def}
        script = (
            "import sys, tensorflow as tf\n"
            "from tensorflow.python.framework import op_def_registry as r\n"
            "print([op for op in sys.argv[1:] if not r.get(op)])\n"
        )
        unknown = subprocess.run(
            [sys.executable, "-c", script, *sorted(ops - set(functions))],
            capture_output=True,
            text=True,
            check=True,
        )
        assert unknown.stdout == (
            "['SentencepieceDetokenizeOp', 'SentencepieceOp', "
            "'SentencepieceTokenizeOp']\n"
        )
        for op in ops:
            assert not op.startswith(("Xla", "_")), op
            assert "PyFunc" not in op

    def test_ids_need_no_operation_of_others(self, exported):
        functions = functions_of(exported)
        wrappers = {
            name: ops_reached(name, functions)
            for name in functions
            if "signature_wrapper" in name
        }
        without = [
            name
            for name, ops in wrappers.items()
            if not any("Sentencepiece" in op for op in ops)
        ]
        assert len(wrappers) == len(SIGNATURES)
        assert len(without) == 1
        (name,) = without
        assert "inputs" in {a.name for a in functions[name].signature.input_arg}
        assert not any("Sentencepiece" in n.op for n in graph_of(exported).node)

    @pytest.mark.slow
    def test_a_model_of_ids_alone_loads_without_tensorflow_text(
        self, run, signatures, tmp_path
    ):
        path = export_saved_model(run, str(tmp_path), OPTIONS, of_text=False)
        sources = run.vocabulary.encode(["a dog runs", "two women"])
        inputs = tf.ragged.constant(sources, tf.int32).to_tensor()
        np.save(tmp_path / "inputs.npy", inputs.numpy())
        script = (
            "import sys\n"
            "sys.modules['tensorflow_text'] = None\n"
            "import numpy, tensorflow as tf\n"
            f"model = tf.saved_model.load({path!r})\n"
            "inputs = tf.constant(numpy.load('inputs.npy'))\n"
            "for name in ('ids', 'serving_default'):\n"
            "    tensors = model.signatures[name](inputs=inputs)\n"
            "numpy.save('outputs.npy', tensors['outputs'])\n"
        )
        subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
        expected = signatures["ids"](inputs=inputs)["outputs"]
        outputs = np.load(tmp_path / "outputs.npy")
        np.testing.assert_array_equal(outputs, expected)
        assert not any(
            "Sentencepiece" in op
            for name in functions_of(path)
            for op in ops_reached(name, functions_of(path))
        )
        with pytest.raises(ValueError, match="saved_model_ids"):
            Translator(SavedModelEngine(path))


class SignaturesTest:
    def test_text_and_scores_are_those_of_the_run(
        self, run, signatures, translator
    ):
        expected = Translator.load(run.path, engine="keras")(
            TEXTS, beam_size=3, num_hypotheses=2, return_scores=True
        )
        tensors = signatures["serving_default"](text=tf.constant(TEXTS))
        texts, scores = (
            tensors[name].numpy() for name in ("translations", "scores")
        )
        assert texts.shape == scores.shape == (len(TEXTS), 2)
        for i, each in enumerate(expected[0]):
            assert [text.decode() for text in texts[i, : len(each)]] == each
            np.testing.assert_allclose(
                scores[i, : len(each)], expected[1][i], atol=1e-4
            )
        translations, scores = translator(
            TEXTS, num_hypotheses=2, return_scores=True
        )
        assert translations == expected[0]
        for ours, theirs in zip(scores, expected[1], strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)

    def test_blank_texts_are_empty_with_a_score_of_0(self, signatures):
        tensors = signatures["serving_default"](text=tf.constant(["", " "]))
        assert (tensors["translations"].numpy() == b"").all()
        assert (tensors["scores"].numpy() == 0.0).all()

    def test_an_empty_batch_is_translated(self, signatures):
        none = tf.constant([], tf.string)
        tensors = signatures["serving_default"](text=none)
        assert (
            tensors["translations"].shape == tensors["scores"].shape == (0, 2)
        )
        tensors = signatures["ids"](inputs=tf.zeros([0, 3], tf.int32))
        assert tensors["outputs"].shape[:2] == (0, 2)
        assert signatures["score"](text=none, targets=none)["scores"].shape == 0

    def test_ids_give_the_same_as_text(self, run, signatures):
        vocabulary = run.vocabulary
        texts = [text for text in TEXTS if text.strip()]
        inputs = tf.ragged.constant(vocabulary.encode(texts), tf.int32)
        by_ids = signatures["ids"](inputs=inputs.to_tensor())
        by_text = signatures["serving_default"](text=tf.constant(texts))
        for i in range(len(texts)):
            decoded = vocabulary.decode(by_ids["outputs"][i].numpy())
            expected = by_text["translations"][i].numpy().tolist()
            assert [t.replace("\n", " ").encode() for t in decoded] == expected
        np.testing.assert_allclose(by_ids["scores"], by_text["scores"])

    def test_scores_of_pairs_are_those_of_the_run(
        self, run, signatures, translator
    ):
        targets = TEXTS[1:] + TEXTS[:1]  # blank texts have long targets
        expected = Translator.load(run.path, engine="keras").score(
            TEXTS, targets, 0.6
        )
        scores = signatures["score"](
            text=tf.constant(TEXTS), targets=tf.constant(targets)
        )["scores"]
        np.testing.assert_allclose(scores, expected, atol=1e-4)
        np.testing.assert_allclose(
            translator.score(TEXTS, targets), scores, atol=1e-4
        )

    @pytest.mark.parametrize(
        "name, inputs, words",
        [
            ("serving_default", {"text": ["a " * 90]}, "at most 40 tokens"),
            ("serving_default", {"text": [b"\xff a"]}, "must be UTF-8"),
            (
                "score",
                {"text": ["a"], "targets": ["a", "b"]},
                "one entry for each",
            ),
            ("score", {"text": ["a"], "targets": ["a " * 90]}, "at most 40"),
            (
                "with_terms",
                {"text": ["a"], "terms": [["a"] * 65]},
                "at most 64 terms for each text",
            ),
            (
                "with_terms",
                {"text": ["a"], "terms": [["ж" * 40]]},
                "at most 32 tokens for each term",
            ),
            ("ids", {"inputs": [[5, 310, 1]]}, "ids from 0 to 309"),
            ("ids", {"inputs": [[5, -1, 1]]}, "ids from 0 to 309"),
            ("ids", {"inputs": [[5, 6, 0]]}, "have 1, the end id"),
            ("ids", {"inputs": [[5, 0, 1]]}, "end id"),
            ("ids", {"inputs": [[5] * 50 + [1]]}, "at most 40 tokens"),
        ],
    )
    def test_bad_input_is_an_error_in_words(
        self, signatures, name, inputs, words
    ):
        inputs = {name: tf.constant(value) for name, value in inputs.items()}
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            signatures[name](**inputs)

    def test_a_long_term_of_a_glossary_is_refused_by_name(self, translator):
        glossary = Glossary({"book": "ж" * 40})
        with pytest.raises(ValueError, match="at most 32 tokens") as e:
            translator(["", "a book"], glossary=glossary)
        assert "\n" not in str(e.value)

    @pytest.mark.slow
    def test_bfloat16_scores_nearly_the_same(self, run, signatures, tmp_path):
        path = export_saved_model(
            run, str(tmp_path), OPTIONS, precision="bfloat16"
        )
        ops = set()
        for function in functions_of(path).values():
            for node in function.node_def:
                if node.attr["T"].type == tf.bfloat16.as_datatype_enum:
                    ops.add(node.op)
        assert {"MatMul", "BatchMatMulV2"} & ops
        inputs = {
            "text": tf.constant(TEXTS[:2]),
            "targets": tf.constant(TEXTS[:2]),
        }
        scores, expected = (
            each["score"](**inputs)["scores"].numpy()
            for each in (tf.saved_model.load(path).signatures, signatures)
        )
        assert (scores != expected).all()
        np.testing.assert_allclose(scores, expected, rtol=0.1)


class WarmupTest:
    def test_the_requests_run_and_give_the_recorded_answers(
        self, exported, signatures
    ):
        pytest.importorskip("tensorflow_serving")
        from tensorflow_serving.apis import prediction_log_pb2

        path = os.path.join(
            exported, "assets.extra", "tf_serving_warmup_requests"
        )
        seen = {}
        for record in tf.data.TFRecordDataset(path):
            log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
            request = log.predict_log.request
            name = request.model_spec.signature_name
            inputs = {
                key: tf.constant(tf.make_ndarray(value))
                for key, value in request.inputs.items()
            }
            outputs = signatures[name](**inputs)
            assert outputs.keys() == log.predict_log.response.outputs.keys()
            for key, value in log.predict_log.response.outputs.items():
                expected = tf.make_ndarray(value)
                if expected.dtype == np.float32:
                    np.testing.assert_allclose(
                        outputs[key], expected, atol=1e-4
                    )
                else:
                    np.testing.assert_array_equal(outputs[key], expected)
            seen.setdefault(name, set()).add(
                next(iter(inputs.values())).shape[0]
            )
        assert seen.keys() == {"serving_default", "ids", "score"}
        assert all(len(sizes) > 1 for sizes in seen.values())
