"""The promise of kt-serve on bad requests: see `request_rows`."""

import http.client
import json
import subprocess
import sys

import pytest
from box import FROZEN
from machine import LEAKS
from request_rows import BODIES
from request_rows import MESSAGES
from request_rows import PREDICT

GOOD = b'{"instances": ["a b"]}'


@pytest.fixture(scope="module", params=["saved_model", "ctranslate2"])
def server(request):
    """A server of an exported model, in the test's process."""
    pytest.importorskip("tensorflow_serving")
    if request.param == "ctranslate2":
        pytest.importorskip("ctranslate2")
    from keras_transformer.decoding.served_model import open_model
    from keras_transformer.serving.server import Server

    server = Server(
        str(FROZEN / request.param),
        port=0,
        rest_api_port=0,
        open_model=open_model,
    )
    server.start()
    yield server
    server.stop()


def ask(connection, row):
    connection.request(row.method, row.path, row.content)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def check(text, says):
    assert says in text
    assert not [leak for leak in LEAKS if leak in text], text


class RestTest:
    @pytest.fixture(scope="class")
    def connection(self, server):
        connection = http.client.HTTPConnection(
            "localhost", server.rest_api_port, timeout=60
        )
        yield connection
        connection.close()

    @pytest.mark.parametrize("row", BODIES, ids=str)
    def test_bad_body_is_an_error_in_json(self, connection, row):
        status, text = ask(connection, row)
        assert status == row.status, text
        assert "\n" not in text.strip()
        answer = json.loads(text)
        assert list(answer) == ["error"]
        check(answer["error"], row.says)

    def test_good_body_is_answered_after_all_of_them(self, connection):
        connection.request("POST", PREDICT, GOOD)
        answer = json.loads(connection.getresponse().read())
        (prediction,) = answer["predictions"]
        assert prediction["translations"][0] == "a b"


class GlossaryTest:
    @pytest.mark.parametrize("protocol", ["rest", "grpc"])
    def test_a_model_without_terms_is_refused_before_any_output(
        self, server, protocol, tmp_path
    ):
        port = server.port if protocol == "grpc" else server.rest_api_port
        glossary = tmp_path / "terms.tsv"
        glossary.write_text("a\tb\n")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "keras_transformer.bin.query"),
                f"--server=localhost:{port}",
                f"--protocol={protocol}",
                f"--glossary={glossary}",
                "--text=c d",
            ],
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        check(done.stderr, "--glossary needs a SavedModel")


class GrpcTest:
    @pytest.fixture(scope="class")
    def channel(self, server):
        grpc = pytest.importorskip("grpc")
        with grpc.insecure_channel(f"localhost:{server.port}") as channel:
            yield channel

    @pytest.mark.parametrize("row", MESSAGES, ids=str)
    def test_bad_message_is_an_error_with_its_code(self, channel, row):
        import grpc

        with pytest.raises(grpc.RpcError) as error:
            call(channel, row)
        assert error.value.code().name == row.code, error.value.details()
        check(error.value.details(), row.says)


def call(channel, row):
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    message = predict_pb2.PredictRequest()
    for name, value in row.spec:
        setattr(message.model_spec, name, value)
    for name, values in row.inputs:
        proto = tf.make_tensor_proto(values, row.dtype or None)
        message.inputs[name].CopyFrom(proto)
    message.output_filter.extend(row.outputs)
    content = row.content
    if content is None:
        content = message.SerializeToString()
    path = f"/tensorflow.serving.PredictionService/{row.method}"
    return channel.unary_unary(path)(content, timeout=60)
