import logging
import os

import numpy as np
import pytest
import tensorflow as tf
import toy_saved_model as toy

from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.loaded_model import EXPORT_FILE
from keras_transformer.serving.loaded_model import WARMUP_FILE
from keras_transformer.serving.loaded_model import LoadedModel


def strings(*texts):
    return np.array([text.encode() for text in texts], object)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return toy.write_version(str(tmp_path_factory.mktemp("export")), 3)


@pytest.fixture(scope="module")
def model(path):
    return LoadedModel(path)


def write_warmup(path, *logs):
    os.makedirs(os.path.dirname(os.path.join(path, WARMUP_FILE)))
    with tf.io.TFRecordWriter(os.path.join(path, WARMUP_FILE)) as writer:
        for log in logs:
            writer.write(log)


def prediction_log(signature_name, **arrays):
    logs = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    log = logs.PredictionLog()
    request = log.predict_log.request
    request.model_spec.signature_name = signature_name
    for name, array in arrays.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
    return log.SerializeToString()


class LoadedModelTest:
    def test_signatures_are_those_of_the_saved_model(self, model):
        assert set(model.signatures) == {
            "serving_default",
            "with_terms",
            "ids",
            "score",
        }
        default = model.signatures["serving_default"]
        assert default.inputs["text"].shape == (None,)
        assert default.outputs["scores"].dtype == np.float32
        ids = model.signatures["ids"]
        assert ids.inputs["inputs"].dtype == np.int32
        assert set(model.signatures) <= set(model.signature_defs)
        definition = model.signature_defs["score"]
        assert set(definition.inputs) == {"text", "targets"}

    def test_arrays_in_arrays_out(self, model):
        result = model.call("serving_default", {"text": strings("ä", "bc")})
        assert result["translations"][:, 0].tolist() == [
            toy.best("ä", 3).encode(),
            toy.best("bc", 3).encode(),
        ]
        assert result["scores"].tolist() == [[3, 1], [4, 2]]
        ids = np.array([[1, 2]], np.int32)
        result = model.call("ids", {"inputs": ids})
        assert result["outputs"].tolist() == [[[1, 2], [-1, -2]]]

    def test_no_rows_give_no_results(self, model):
        result = model.call("serving_default", {"text": strings()})
        assert result["translations"].shape == (0, 2)

    def test_an_error_of_the_graph_keeps_its_code_and_message(self, model):
        with pytest.raises(RequestError, match="assertion failed") as error:
            model.call("serving_default", {"text": strings("a", "poison")})
        assert error.value.code == "INVALID_ARGUMENT"
        assert "\n" not in str(error.value)
        assert "Detected at node" not in str(error.value)

    def test_a_directory_without_a_saved_model_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="neither saved_model.pb nor"):
            LoadedModel(str(tmp_path))
        (tmp_path / "saved_model.pb").write_bytes(b"nothing of the kind")
        with pytest.raises(Exception):
            LoadedModel(str(tmp_path))


class ExportRecordTest:
    def test_it_limits_the_sentences_of_our_own_models(self, tmp_path, model):
        assert model.max_tokens is None
        path = toy.write_version(str(tmp_path), 1)
        record = os.path.join(path, EXPORT_FILE)
        os.mkdir(os.path.dirname(record))
        with open(record, "w") as file:
            file.write('{"max_tokens": 8}')
        assert LoadedModel(path).max_tokens == 8
        with open(record, "w") as file:
            file.write('{"max_tokens": "many"}')
        with pytest.raises(ValueError, match="`max_tokens` must be an int"):
            LoadedModel(path)


class WarmupTest:
    def test_stored_requests_run(self, tmp_path, monkeypatch):
        path = toy.write_version(str(tmp_path), 1)
        write_warmup(
            path,
            prediction_log("", text=strings("a", "b")),
            prediction_log("ids", inputs=np.array([[1]], np.int32)),
        )
        called = []
        call = LoadedModel.call

        def note(self, name, arrays):
            called.append((name, {n: len(a) for n, a in arrays.items()}))
            return call(self, name, arrays)

        monkeypatch.setattr(LoadedModel, "call", note)
        LoadedModel(path)
        assert called == [
            ("serving_default", {"text": 2}),
            ("ids", {"inputs": 1}),
        ]

    @pytest.mark.parametrize("signature_name", ["missing", "ids", "poison"])
    def test_failing_requests_do_not_prevent_loading(
        self, tmp_path, caplog, signature_name
    ):
        path = toy.write_version(str(tmp_path), 1)
        text = strings("poison" if signature_name == "poison" else "a")
        name = signature_name.replace("poison", "serving_default")
        write_warmup(path, prediction_log(name, text=text))
        with caplog.at_level(logging.WARNING):
            model = LoadedModel(path)
        assert "cannot be used" in caplog.text
        assert model.call("serving_default", {"text": strings("a")})

    def test_a_damaged_file_does_not_prevent_loading(self, tmp_path, caplog):
        pytest.importorskip("tensorflow_serving")
        path = toy.write_version(str(tmp_path), 1)
        write_warmup(path)
        with open(os.path.join(path, WARMUP_FILE), "wb") as file:
            file.write(b"no logs" * 10)
        with caplog.at_level(logging.WARNING):
            LoadedModel(path)
        assert "cannot be used" in caplog.text
