import concurrent.futures
import random
import socket
import time

import numpy as np
import pytest
import tensorflow as tf
import toy_saved_model as toy
from tensorflow.core.framework import tensor_pb2

from keras_transformer.serving import limits
from keras_transformer.serving.errors import RequestError

grpc = pytest.importorskip("grpc")
pytest.importorskip("tensorflow_serving")

from tensorflow_serving.apis import predict_pb2  # noqa: E402
from tensorflow_serving.apis import prediction_service_pb2_grpc  # noqa: E402

from keras_transformer.serving import grpc_service  # noqa: E402
from keras_transformer.serving import messages  # noqa: E402

CODES = grpc.StatusCode
PREDICT = "tensorflow.serving.PredictionService/Predict"
METHODS = [
    PREDICT,
    "tensorflow.serving.PredictionService/GetModelMetadata",
    "tensorflow.serving.ModelService/GetModelStatus",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    export_dir = str(tmp_path_factory.mktemp("export"))
    server = toy.start_server(export_dir, port=0)
    yield server
    server.stop()


@pytest.fixture
def channel(server):
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        yield channel
        # Whatever a test did, the server answers the next client.
        assert predict(channel, "next") == toy.best("next")


def predict(channel, text, **options):
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    response = stub.Predict(request(text), **options)
    return response.outputs["translations"].string_val[0].decode()


def request(text):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "toy"
    request.inputs["text"].CopyFrom(tf.make_tensor_proto([text]))
    return request


def code_of(channel, method, content, **options):
    """Sends bytes to a method; returns the code and the message."""
    try:
        channel.unary_unary(f"/{method}")(content, **options)
    except grpc.RpcError as error:
        return error.code(), error.details()
    return CODES.OK, ""


class MessageTest:
    @pytest.mark.parametrize("method", METHODS)
    def test_bytes_that_are_no_message_are_refused(self, channel, method):
        generator = random.Random(0)
        for size in (1, 10, 100, 10_000):
            content = b"\x0a\xff" + generator.randbytes(size)
            code, message = code_of(channel, method, content)
            assert code == CODES.INVALID_ARGUMENT
            assert "other bytes" in message
        code, message = code_of(channel, method, b"")
        assert code == CODES.INVALID_ARGUMENT

    def test_a_message_cut_off_anywhere_is_refused_or_answered(self, channel):
        content = request("a").SerializeToString()
        for length in range(len(content)):
            code, _ = code_of(channel, PREDICT, content[:length])
            assert code in (CODES.OK, CODES.INVALID_ARGUMENT, CODES.NOT_FOUND)

    def test_a_message_that_is_too_large_is_refused(self, channel):
        content = b"x" * (limits.MAX_BODY_BYTES + 1)
        assert code_of(channel, PREDICT, content)[0] == CODES.RESOURCE_EXHAUSTED

    @pytest.mark.parametrize("method", METHODS)
    def test_few_messages_are_parsed_at_a_time(
        self, channel, method, monkeypatch
    ):
        running, most = [], []

        def parse(*arguments, parse=grpc_service._parse):
            running.append(method)
            most.append(len(running))
            time.sleep(0.01)
            try:
                return parse(*arguments)
            finally:
                running.pop()

        monkeypatch.setattr(grpc_service, "_parse", parse)
        content = request("a").SerializeToString()
        call = channel.unary_unary(f"/{method}")
        for future in [call.future(content) for _ in range(20)]:
            future.exception()
        assert len(most) == 20
        assert max(most) <= limits.MAX_PARSED_AT_ONCE

    @pytest.mark.parametrize("method", METHODS)
    def test_a_message_of_many_parts_is_refused_soon(self, channel, method):
        # Parts that are no inputs at all, and that the parser would skip.
        message = request("a")
        message.ClearField("inputs")
        content = message.SerializeToString()
        content += 500 * (b"\x12\xc0\x3e" + 4000 * b"\x50\x00")
        begin = time.process_time()
        code, words = code_of(channel, method, content)
        assert time.process_time() - begin < 0.5
        assert (code, "at most" in words) == (CODES.INVALID_ARGUMENT, True)

    @pytest.mark.parametrize(
        "method", ["tensorflow.serving.PredictionService/Train", "a/b", "x"]
    )
    def test_unknown_methods_are_unimplemented(self, channel, method):
        assert code_of(channel, method, b"")[0] == CODES.UNIMPLEMENTED

    @pytest.mark.parametrize("name", ["x" * 10**6, "\U0001f600" * 10**5])
    def test_an_error_that_quotes_a_long_name_arrives(self, channel, name):
        message = request("a")
        message.model_spec.name = name
        code, text = code_of(channel, PREDICT, message.SerializeToString())
        assert code == CODES.NOT_FOUND
        assert text.endswith(name[0] + "...")

    @pytest.mark.parametrize("version", [-1, 0, 2**63 - 1, -(2**63)])
    def test_versions_outside_the_range_are_not_found(self, channel, version):
        message = request("a")
        message.model_spec.version.value = version
        code, text = code_of(channel, PREDICT, message.SerializeToString())
        assert (code, str(version) in text) == (CODES.NOT_FOUND, True)

    def test_more_sentences_than_the_queue_takes_are_refused(self, channel):
        message = request("a")
        tensor = tf.make_tensor_proto(["a"] * 10_000)
        message.inputs["text"].CopyFrom(tensor)
        code, text = code_of(channel, PREDICT, message.SerializeToString())
        assert code == CODES.INVALID_ARGUMENT
        assert "at most 2048 rows" in text


class CallTest:
    def test_200_clients_at_once_are_answered_rightly(self, server):
        def ask(number):
            # A pool of its own, or all channels would share one connection.
            options = [("grpc.use_local_subchannel_pool", 1)]
            address = f"localhost:{server.port}"
            with grpc.insecure_channel(address, options) as channel:
                return predict(channel, f"text {number}", timeout=60)

        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            answers = list(pool.map(ask, range(200)))
        assert answers == [toy.best(f"text {i}") for i in range(200)]

    @pytest.mark.slow
    def test_cancelled_calls_free_the_queue(self, channel, server):
        call = channel.unary_unary(f"/{PREDICT}")
        content = request("slow").SerializeToString()
        futures = [call.future(content) for _ in range(50)]
        time.sleep(0.1)
        for future in futures:
            future.cancel()
        begin = time.monotonic()
        assert predict(channel, "a", timeout=20) == toy.best("a")
        # At most the two batches that were running already are finished.
        assert time.monotonic() - begin < 15
        assert {future.cancelled() for future in futures} == {True}

    def test_a_deadline_that_is_over_already_is_reported(self, channel):
        content = request("a").SerializeToString()
        for seconds in (-1, 0, 1e-6):
            code, _ = code_of(channel, PREDICT, content, timeout=seconds)
            assert code == CODES.DEADLINE_EXCEEDED

    @pytest.mark.parametrize(
        "content",
        [
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 100,
            bytes(range(256)) * 100,
        ],
    )
    def test_bytes_that_are_no_http2_end_the_connection(
        self, channel, server, content
    ):
        with socket.create_connection(("localhost", server.port)) as client:
            client.settimeout(20)
            client.sendall(content)
            try:
                while client.recv(2**16):
                    pass
            except ConnectionError:
                pass


class TensorTest:
    VALUES = {
        "tensor_content": [b"", b"1", b"12345678", b"x" * 64],
        "string_val": [[], [b"a"], [b"\xff"] * 3],
        "int_val": [[], [1], [1, 2, 3], [2**31 - 1]],
        "half_val": [[1], [70000]],
        "float_val": [[], [1.0]],
        "bool_val": [[True]],
        "scomplex_val": [[1.0], [1.0, 2.0]],
    }
    SHAPES = [[], [0], [1], [3], [-1], [2**62, 4], [0, 2**62], [1] * 70]

    def protos(self):
        for kind in (*range(0, 33), 101, 119, 9999, -1, 2**31 - 1):
            for shape in self.SHAPES:
                for field, choices in self.VALUES.items():
                    for value in choices:
                        proto = tensor_pb2.TensorProto(dtype=kind)
                        for size in shape:
                            proto.tensor_shape.dim.add().size = size
                        if field == "tensor_content":
                            proto.tensor_content = value
                        else:
                            getattr(proto, field).extend(value)
                        yield proto

    def test_every_tensor_is_an_array_or_refused(self):
        num_arrays = 0
        for proto in self.protos():
            try:
                array = messages.to_array("x", proto)
            except RequestError as error:
                assert error.code == "INVALID_ARGUMENT"
            else:
                sizes = [axis.size for axis in proto.tensor_shape.dim]
                assert list(array.shape) == sizes
                num_arrays += 1
        assert num_arrays > 100

    def test_one_value_stands_for_a_limited_number(self):
        proto = tensor_pb2.TensorProto(dtype=tf.int32.as_datatype_enum)
        proto.int_val.append(7)
        axis = proto.tensor_shape.dim.add()
        axis.size = limits.MAX_REPEATED_VALUES
        assert set(messages.to_array("x", proto)) == {7}
        axis.size += 1
        with pytest.raises(RequestError, match="as many values"):
            messages.to_array("x", proto)

    def test_one_string_stands_for_a_limited_number_of_bytes(self):
        proto = tensor_pb2.TensorProto(dtype=tf.string.as_datatype_enum)
        proto.string_val.append(b"ab\0\0")
        axis = proto.tensor_shape.dim.add()
        axis.size = limits.MAX_REPEATED_VALUES
        array = messages.to_array("x", proto)
        # With its zeros, and without a copy for each element.
        assert set(array) == {b"ab\0\0"}
        assert array[1] is array[-1]
        proto.string_val[0] = bytes(2**18)
        with pytest.raises(RequestError, match="262144 bytes and stands for"):
            messages.to_array("x", proto)

    def test_inputs_of_other_names_are_refused_unread(self, channel):
        message = request("a")
        message.inputs["other"].dtype = 9999
        code, text = code_of(channel, PREDICT, message.SerializeToString())
        assert code == CODES.INVALID_ARGUMENT
        assert "Sent extra: {other}" in text

    def test_a_large_array_with_all_its_values_is_read(self):
        array = np.arange(limits.MAX_REPEATED_VALUES * 2, dtype=np.int32)
        proto = tf.make_tensor_proto(array)
        back = messages.to_array("x", proto)
        np.testing.assert_array_equal(back, array)
