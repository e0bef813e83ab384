"""What a client may ask of each translation beside its text."""

import json
import pathlib
import urllib.request

import grpc
import numpy as np
import pytest
from tool_client import ask
from tool_client import ask_parts
from tool_client import export_demo
from tool_client import open_tagged
from tool_client import translate

from keras_transformer.scoring.quality import QualityEstimate
from keras_transformer.serving import messages
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.forms import Options
from keras_transformer.serving.forms import read_options
from keras_transformer.serving.server import Server

PREDICT = "/v1/models/translate:predict"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose export rates translations by their scores alone."""
    folder = tmp_path_factory.mktemp("options")
    version = pathlib.Path(export_demo(folder), "1")
    QualityEstimate(1, 100, 50.0, [1, 2, 0], [0, 0], 9.0).write(version)
    server = Server(
        str(version.parent),
        port=0,
        rest_api_port=0,
        open_model=lambda path: open_tagged(path, de="Good "),
        routes={
            ("en", "es"): "translate",
            ("es", "fr"): "translate",
            ("en", "de"): "translate",
        },
    )
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def address(server):
    return f"http://localhost:{server.rest_api_port}"


def predict(address, *texts, **options):
    body = json.dumps({"instances": texts, **options})
    _, _, response = ask(address, PREDICT, body)
    return response


@pytest.fixture
def call(server):
    """Returns a function that asks over gRPC for arrays by name."""
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        predict = channel.unary_unary(
            "/tensorflow.serving.PredictionService/Predict"
        )

        def call(*names, **inputs):
            request = messages.PredictRequest(
                model_spec={"name": "translate"}, output_filter=names
            )
            for name, value in inputs.items():
                dtype = bool if isinstance(value, bool) else object
                proto = messages.to_proto(np.array(value, dtype))
                request.inputs[name].CopyFrom(proto)
            content = predict(request.SerializeToString())
            outputs = messages.PredictResponse.FromString(content).outputs
            return {
                name: messages.to_array(name, proto).tolist()
                for name, proto in outputs.items()
            }

        yield call


class ReadTest:
    @pytest.mark.parametrize(
        "fields, options",
        [
            ({}, Options()),
            ({"alignments": "", "glossary": ""}, Options()),
            ({"alignments": "true"}, Options(alignments=True)),
            ({"quality": True, "glossary": {}}, Options(quality=True)),
            (
                {"glossary": '{"a b": null, "A": "c"}'},
                Options(glossary=(("A", "c"), ("a b", None))),
            ),
        ],
    )
    def test_forms_and_json_are_read(self, fields, options):
        assert read_options(fields) == options

    @pytest.mark.parametrize("name", ["alignments", "quality"])
    @pytest.mark.parametrize("value", [1, "yes", [True], {}])
    def test_a_switch_is_true_or_false(self, name, value):
        with pytest.raises(InvalidRequest, match=f"{name}.*true or false"):
            read_options({name: value})

    @pytest.mark.parametrize(
        "value",
        [
            "a",
            "[",
            "[" * 99_999,
            7,
            ["a"],
            {"a": 7},
            {"": "a"},
            {"a": " "},
            {"a": "b" * 2**15},
            {"a": "\ud800"},
        ],
    )
    def test_a_glossary_is_an_object_of_texts(self, value):
        with pytest.raises(InvalidRequest, match="glossary|surrogate"):
            read_options({"glossary": value})


class AnswerTest:
    def test_predict_answers_as_tf_serving_until_it_is_asked(self, address):
        (plain,) = predict(address, "A dog.")["predictions"]
        assert plain.keys() == {"translations", "scores"}
        more = predict(address, "A dog.", "", quality=True, alignments=True)
        first, blank = more["predictions"]
        assert first["translations"] == plain["translations"]
        assert first["alignments"] == [[0, 0], [1, 1]]
        assert 0 < first["quality"] < 1
        assert blank["quality"] is None and blank["alignments"] == []

    def test_a_tool_gets_the_links_of_each_sentence(self, address):
        response = translate(
            address, ["A dog. I love you.", "1 2 3"], alignments=True
        )
        first, second = response["alignments"][0]
        assert first == {
            "source": "A dog.",
            "translation": "Un perro.",
            "links": [[0, 0], [1, 1]],
        }
        assert second["translation"] == "Te amo."
        assert "alignments" not in translate(address, "A dog.")

    def test_a_text_is_as_good_as_its_worst_sentence(self, address):
        texts = ["A dog.", "I love you.", "A dog. I love you."]
        first, second, both = translate(address, texts)["quality"]
        assert both == min(first, second) < max(first, second)

    def test_a_tag_before_a_text_is_linked_with_nothing(self, address):
        (one,) = translate(address, "morning.", target="de", alignments=True)[
            "alignments"
        ]
        assert one["source"] == "morning."
        assert one["translation"] == "Buenos días."
        assert {source for source, _ in one["links"]} <= {0}

    def test_a_glossary_of_a_request_is_obeyed(self, address):
        text = "The cat is in the house."
        terms = {"cat": "gatito", "house": None}
        expected = "El gatito está en la house."
        assert translate(address, text)["translatedText"] != expected
        response = translate(address, text, glossary=terms)
        assert response["translatedText"] == expected
        form = {"q": text, "source": "en", "target": "es"}
        form["glossary"] = json.dumps(terms)
        assert ask(address, data=form)[2] == response
        (one,) = predict(address, text, glossary=terms)["predictions"]
        assert one["translations"][0] == expected

    def test_a_glossary_is_obeyed_in_a_file(self, address):
        pytest.importorskip("sentencex")
        file = "cat.txt", "The cat is in the house.\n"
        form = {"file": file, "source": "en", "target": "es"}
        form["glossary"] = json.dumps({"cat": "gatito"})
        response = ask_parts(address, "/translate_file", form)
        with urllib.request.urlopen(response["translatedFileUrl"]) as download:
            assert "gatito" in download.read().decode()

    def test_a_term_that_is_too_long_is_refused(self, address):
        response = predict(address, "a", glossary={"a": "x9" * 99})
        assert "at most 32 tokens" in response["error"]

    def test_a_text_with_too_many_terms_is_refused(self, address):
        response = predict(address, "a", "a " * 65, glossary={"a": None})
        assert "64 terms of a glossary. Received: one" in response["error"]

    def test_two_models_in_a_row_cannot_link_words(self, address):
        response = translate(address, "A dog.", target="fr", alignments=True)
        assert "en to es to fr, by 2 models" in response["error"]

    def test_a_fault_is_one_line(self, address):
        for response in (
            predict(address, "a", glossary={"a": 7}),
            translate(address, "a", glossary={"a": 7}),
        ):
            assert "`glossary` must be an object" in response["error"]
            assert "\n" not in response["error"]


class GrpcTest:
    """Tensors of one value beside the text are what JSON has as members."""

    def test_a_response_is_that_of_tf_serving_until_it_is_asked(self, call):
        assert call(text=[b"A dog."]).keys() == {"translations", "scores"}

    def test_what_is_asked_for_is_that_of_rest(self, call, address):
        texts = ["A dog.", "", "I love you."]
        options = {"quality": True, "alignments": True}
        rows = predict(address, *texts, **options)["predictions"]
        answer = call(text=[text.encode() for text in texts], **options)
        assert answer.keys() == {*rows[0]}
        for row, links, quality in zip(
            rows, answer["alignments"], answer["quality"]
        ):
            assert json.loads(links) == row["alignments"]
            unknown = row["quality"] is None
            assert (
                np.isnan(quality)
                if unknown
                else quality == pytest.approx(row["quality"])
            )

    def test_a_glossary_is_obeyed(self, call):
        terms = json.dumps({"cat": "gatito", "house": None})
        answer = call(
            text=[b"The cat is in the house."], glossary=[terms.encode()]
        )
        best = answer["translations"][0][0].decode()
        assert best == "El gatito está en la house."

    def test_outputs_can_be_chosen(self, call):
        assert [*call("quality", text=[b"A dog."], quality=True)] == ["quality"]

    @pytest.mark.parametrize(
        "names, inputs, words",
        [
            (
                [],
                {"quality": [b"true", b"true"]},
                "`quality` must be one value",
            ),
            ([], {"alignments": b"yes"}, "`alignments` must be true or false"),
            ([], {"glossary": b"\xff"}, "a text must be UTF-8"),
            ([], {"glossary": b"[]"}, "`glossary` must be an object"),
            ([], {"beam_size": b"4"}, "Sent extra: {beam_size}"),
            (["quality"], {}, "not found in signature: quality"),
            (["glossary"], {"glossary": b"{}"}, "not found in signature"),
        ],
    )
    def test_a_fault_is_refused_by_name(self, call, names, inputs, words):
        with pytest.raises(grpc.RpcError) as error:
            call(*names, text=[b"A dog."], **inputs)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert words in error.value.details()
