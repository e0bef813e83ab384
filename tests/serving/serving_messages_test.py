"""Our messages are those of TF Serving, as far as they go."""

import importlib
import pathlib
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2

from keras_transformer.serving import messages

pytest.importorskip("tensorflow_serving")

SERVING = "tensorflow_serving.apis"
CORE = "tensorflow.core"
# The module that defines each message for TensorFlow.
MODULES = {
    "GetModelMetadataRequest": f"{SERVING}.get_model_metadata_pb2",
    "GetModelMetadataResponse": f"{SERVING}.get_model_metadata_pb2",
    "GetModelStatusRequest": f"{SERVING}.get_model_status_pb2",
    "GetModelStatusResponse": f"{SERVING}.get_model_status_pb2",
    "PredictRequest": f"{SERVING}.predict_pb2",
    "PredictResponse": f"{SERVING}.predict_pb2",
    "PredictionLog": f"{SERVING}.prediction_log_pb2",
    "SignatureDef": f"{CORE}.protobuf.meta_graph_pb2",
    "SignatureDefMap": f"{SERVING}.get_model_metadata_pb2",
    "TensorProto": f"{CORE}.framework.tensor_pb2",
}


def assert_alike(ours, theirs):
    """Asserts that a definition is a part of TensorFlow's."""
    for name, field in ours.fields_by_name.items():
        expected = theirs.fields_by_name[name]
        assert field.number == expected.number, name
        assert field.is_repeated == expected.is_repeated, name
        if field.type == field.TYPE_MESSAGE:
            assert_alike(field.message_type, expected.message_type)
        elif expected.type == field.TYPE_ENUM and field.enum_type:
            numbers = field.enum_type.values_by_name.items()
            for value_name, value in numbers:
                wanted = expected.enum_type.values_by_name[value_name]
                assert value.number == wanted.number, value_name
        elif expected.type != field.TYPE_ENUM:  # an int32 takes its place
            assert field.type == expected.type, name


class MessagesTest:
    def test_compiled_form_is_that_of_the_proto_file(self, tmp_path):
        pytest.importorskip("grpc_tools")
        folder = pathlib.Path(messages.__file__).parent
        target = tmp_path / "protocol.binpb"
        # The command that protocol.proto names.
        subprocess.run(
            [
                *(sys.executable, "-m", "grpc_tools.protoc", "-I."),
                *(f"--descriptor_set_out={target}", "protocol.proto"),
            ],
            cwd=folder,
            check=True,
        )
        read = descriptor_pb2.FileDescriptorSet.FromString
        committed = (folder / "protocol.binpb").read_bytes()
        assert read(committed) == read(target.read_bytes())

    @pytest.mark.parametrize("name", MODULES)
    def test_fields_have_the_numbers_and_types_of_tensorflow(self, name):
        theirs = getattr(importlib.import_module(MODULES[name]), name)
        assert_alike(getattr(messages, name).DESCRIPTOR, theirs.DESCRIPTOR)

    def test_unknown_fields_are_passed_on(self):
        module = importlib.import_module(MODULES["SignatureDef"])
        theirs = module.SignatureDef(method_name="method")
        info = theirs.inputs["sparse"].coo_sparse
        info.values_tensor_name = "values:0"
        ours = messages.SignatureDef.FromString(theirs.SerializeToString())
        assert ours.method_name == "method"
        back = module.SignatureDef.FromString(ours.SerializeToString())
        assert back == theirs

    def test_they_need_no_tensorflow(self):
        script = (
            "import sys\n"
            "from keras_transformer.serving import messages\n"
            "print({'tensorflow', 'tensorflow_serving'} & set(sys.modules))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True
        )
        assert (done.stdout, done.stderr) == ("set()\n", "")


class FieldsTest:
    def test_fields_are_counted_without_parsing_the_message(self):
        request = messages.PredictRequest()
        request.model_spec.name = "a"
        request.output_filter.extend(["b", "", "c" * 300])
        for name in "xyz":
            request.inputs[name].int_val.extend(range(1000))
        content = request.SerializeToString()
        assert messages.has_more_fields(content, 6, 1000)
        assert not messages.has_more_fields(content, 7, 1000)

    def test_texts_and_axes_of_an_input_are_counted_too(self):
        texts = messages.PredictRequest()
        texts.inputs["a"].dtype = 7
        texts.inputs["a"].string_val.extend(9 * [b"text"])
        axes = messages.PredictRequest()
        for _ in range(9):
            axes.inputs["a"].tensor_shape.dim.add().size = 300
        numbers = messages.PredictRequest()
        numbers.inputs["a"].int_val.extend(range(1000))  # a single field
        many = [x.SerializeToString() for x in (texts, axes, numbers)]
        assert [messages.has_more_fields(x, 7, 8) for x in many] == [
            *(True, True, False)
        ]
        assert not any(messages.has_more_fields(x, 7, 10) for x in many)

    def test_those_of_all_inputs_together_are_counted_too(self):
        request = messages.PredictRequest()
        for number in range(5):
            request.inputs[str(number)].string_val.extend(20 * [b"text"])
        content = request.SerializeToString()
        assert messages.has_more_fields(content, 7, 50)
        assert not messages.has_more_fields(content, 7, 70)

    @pytest.mark.parametrize(
        "content", [b"", b"\xff" * 100_000, b"\x0a", b"\x08", b"\x0a\xff"]
    )
    def test_malformed_messages_are_left_to_the_parser(self, content):
        assert messages.has_more_fields(content, 0, 0) in (True, False)
