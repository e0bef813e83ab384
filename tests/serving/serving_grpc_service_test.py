import numpy as np
import pytest
import tensorflow as tf
import toy_saved_model as toy

grpc = pytest.importorskip("grpc")
pytest.importorskip("tensorflow_serving")

from tensorflow_serving.apis import get_model_metadata_pb2  # noqa: E402
from tensorflow_serving.apis import get_model_status_pb2  # noqa: E402
from tensorflow_serving.apis import model_service_pb2_grpc  # noqa: E402
from tensorflow_serving.apis import predict_pb2  # noqa: E402
from tensorflow_serving.apis import prediction_service_pb2_grpc  # noqa: E402

from keras_transformer.serving import messages  # noqa: E402

CODES = grpc.StatusCode


@pytest.fixture(scope="module")
def channel(tmp_path_factory):
    export_dir = str(tmp_path_factory.mktemp("export"))
    server = toy.start_server(export_dir, num_versions=2, port=0)
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        yield channel
    server.stop()


@pytest.fixture
def stub(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def request(signature_name="", version=None, name="toy", **arrays):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature_name
    if version is not None:
        request.model_spec.version.value = version
    for key, array in arrays.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(array))
    return request


def assert_refused(code, words, call, *arguments, **options):
    with pytest.raises(grpc.RpcError) as error:
        call(*arguments, **options)
    assert words in error.value.details()
    assert error.value.code() == code


class PredictTest:
    def test_text_in_translations_out(self, stub):
        response = stub.Predict(request(text=["ä", "b"]))
        translations = tf.make_ndarray(response.outputs["translations"])
        assert translations[:, 0].tolist() == ["2:Ä".encode(), b"2:B"]
        scores = tf.make_ndarray(response.outputs["scores"])
        assert scores.tolist() == [[3, 1], [3, 1]]
        assert response.model_spec.name == "toy"
        assert response.model_spec.version.value == 2
        assert response.model_spec.signature_name == "serving_default"

    def test_values_are_in_the_field_for_their_type(self, stub):
        response = stub.Predict(request("ids", inputs=np.array([[1, 2]], "i4")))
        assert list(response.outputs["outputs"].int_val) == [1, 2, -1, -2]
        assert list(response.outputs["scores"].float_val) == [3, -3]

    def test_version_and_outputs_can_be_chosen(self, stub):
        message = request(version=1, text=["x"])
        message.output_filter.append("translations")
        response = stub.Predict(message)
        assert list(response.outputs) == ["translations"]
        assert response.outputs["translations"].string_val[0] == b"1:X"

    def test_wrong_requests_get_their_code(self, stub):
        def refused(code, words, *arguments, **arrays):
            message = request(*arguments, **arrays)
            assert_refused(code, words, stub.Predict, message)

        refused(CODES.NOT_FOUND, "Latest(other)", name="other", text=["a"])
        refused(CODES.NOT_FOUND, "Specific(toy, 9)", version=9, text=["a"])
        refused(CODES.FAILED_PRECONDITION, "not found", "other", text=["a"])
        refused(CODES.INVALID_ARGUMENT, "{text}")
        refused(CODES.INVALID_ARGUMENT, "{more}", text=["a"], more=[1])
        refused(CODES.INVALID_ARGUMENT, "type string", text=[1])
        refused(CODES.INVALID_ARGUMENT, "shape", text=[["a"]])
        refused(CODES.INVALID_ARGUMENT, "assertion failed", text=["poison"])
        empty = predict_pb2.PredictRequest()
        words = "Missing ModelSpec"
        assert_refused(CODES.INVALID_ARGUMENT, words, stub.Predict, empty)
        message = request(text=["a"])
        message.output_filter.append("other")
        words = "alias not found"
        assert_refused(CODES.INVALID_ARGUMENT, words, stub.Predict, message)
        message = request(text=["a"])
        message.model_spec.version_label = "stable"
        words = "label: stable"
        assert_refused(CODES.INVALID_ARGUMENT, words, stub.Predict, message)

    @pytest.mark.parametrize(
        "sizes, words",
        [
            ([2**40], "as many values as its shape"),
            ([-1], "Received: shape"),
            ([2**20, 2**20], "as many values as its shape"),
        ],
    )
    def test_a_shape_larger_than_memory_is_refused(self, stub, sizes, words):
        message = request(text=["a"])
        shape = message.inputs["text"].tensor_shape
        shape.ClearField("dim")
        for size in sizes:
            shape.dim.add().size = size
        assert_refused(CODES.INVALID_ARGUMENT, words, stub.Predict, message)

    def test_bytes_that_are_not_a_tensor_are_refused(self, stub):
        message = request("ids", inputs=np.array([[1, 2]], "i4"))
        message.inputs["inputs"].tensor_content = b"123"
        words = "is not a tensor"
        assert_refused(CODES.INVALID_ARGUMENT, words, stub.Predict, message)

    def test_a_deadline_is_enforced(self, stub):
        message = request(text=["slow"])
        words = ""
        code = CODES.DEADLINE_EXCEEDED
        assert_refused(code, words, stub.Predict, message, timeout=0.2)
        assert stub.Predict(request(text=["a"])).outputs

    def test_other_methods_are_unimplemented(self, stub):
        from tensorflow_serving.apis import classification_pb2

        message = classification_pb2.ClassificationRequest()
        assert_refused(CODES.UNIMPLEMENTED, "", stub.Classify, message)


class MetadataTest:
    def test_signatures_are_returned(self, stub):
        message = get_model_metadata_pb2.GetModelMetadataRequest()
        message.model_spec.name = "toy"
        message.metadata_field.append("signature_def")
        response = stub.GetModelMetadata(message)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        assert response.metadata["signature_def"].Unpack(signatures)
        ids = signatures.signature_def["ids"].inputs["inputs"]
        assert ids.dtype == tf.int32.as_datatype_enum
        assert response.model_spec.version.value == 2

    @pytest.mark.parametrize("fields", [[], ["signature"]])
    def test_other_fields_are_refused(self, stub, fields):
        message = get_model_metadata_pb2.GetModelMetadataRequest()
        message.model_spec.name = "toy"
        message.metadata_field.extend(fields)
        call = stub.GetModelMetadata
        assert_refused(CODES.INVALID_ARGUMENT, "metadata_field", call, message)


class StatusTest:
    def test_all_versions_or_one(self, channel):
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        message = get_model_status_pb2.GetModelStatusRequest()
        message.model_spec.name = "toy"
        entries = stub.GetModelStatus(message).model_version_status
        assert [entry.version for entry in entries] == [2, 1]
        available = get_model_status_pb2.ModelVersionStatus.AVAILABLE
        assert {entry.state for entry in entries} == {available}
        message.model_spec.version.value = 1
        (entry,) = stub.GetModelStatus(message).model_version_status
        assert (entry.version, entry.status.error_code) == (1, 0)
        message.model_spec.version.value = 9
        call = stub.GetModelStatus
        assert_refused(CODES.NOT_FOUND, "version 9", call, message)


class TensorTest:
    @pytest.mark.parametrize(
        "dtype", ["float32", "float64", "int32", "int64", "bool", "uint8", "O"]
    )
    @pytest.mark.parametrize("shape", [(), (0, 2), (3,), (2, 3)])
    def test_arrays_survive_a_round_trip(self, dtype, shape):
        size = int(np.prod(shape))
        array = np.arange(size).reshape(shape).astype(dtype)
        if dtype == "O":
            array = np.array([b"%d" % i for i in range(size)], "O")
            array = array.reshape(shape)
        back = messages.to_array("x", messages.to_proto(array))
        assert back.dtype == array.dtype
        assert back.shape == shape
        np.testing.assert_array_equal(back, array)
