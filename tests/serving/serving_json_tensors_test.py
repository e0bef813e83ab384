import base64
import json

import numpy as np
import pytest

from keras_transformer.serving import json_reader
from keras_transformer.serving import json_tensors
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.signature import Tensor

TEXT = {"text": Tensor(np.dtype(object), (None,))}
PAIR = {**TEXT, "targets": Tensor(np.dtype(object), (None,))}
IDS = {"inputs": Tensor(np.dtype("int32"), (None, None))}


def arrays(value, inputs, max_numbers=None):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    request = json_reader.read_object(body, max_numbers=max_numbers)
    return json_tensors.read_arrays(request, inputs)[1]


def refused(value, inputs, words):
    with pytest.raises(RequestError, match=words) as error:
        arrays(value, inputs)
    assert error.value.code == "INVALID_ARGUMENT"


class RequestTest:
    @pytest.mark.parametrize(
        "request_",
        [
            {"instances": ["a", "ä"]},
            {"instances": [{"text": "a"}, {"text": "ä"}]},
            {"inputs": ["a", "ä"]},
            {"inputs": {"text": ["a", "ä"]}},
            {"inputs": {"text": ["a", {"b64": "w6Q="}]}},
            {"instances": [{"b64": "YQ=="}, "ä"]},
        ],
    )
    def test_all_formats_give_the_same_text(self, request_):
        assert arrays(request_, TEXT)["text"].tolist() == [b"a", b"\xc3\xa4"]

    def test_several_inputs_in_rows_and_in_columns(self):
        rows = {
            "instances": [
                {"text": "a", "targets": "b"},
                {"targets": "d", "text": "c"},
            ]
        }
        columns = {"inputs": {"text": ["a", "c"], "targets": ["b", "d"]}}
        for request in (rows, columns):
            parsed = arrays(request, PAIR)
            assert parsed["text"].tolist() == [b"a", b"c"]
            assert parsed["targets"].tolist() == [b"b", b"d"]

    def test_numbers_have_the_type_of_the_signature(self):
        ids = arrays({"instances": [[1, 2], [3, -4]]}, IDS)["inputs"]
        assert ids.dtype == np.int32
        assert ids.tolist() == [[1, 2], [3, -4]]
        inputs = {
            "x": Tensor(np.dtype("float32"), (None,)),
            "y": Tensor(np.dtype(bool), (None,)),
        }
        values = arrays(
            b'{"inputs": {"x": [1, 2.5, NaN, Infinity], "y": [true, false]}}',
            inputs,
        )
        np.testing.assert_array_equal(values["x"], [1, 2.5, np.nan, np.inf])
        assert values["y"].tolist() == [True, False]

    def test_an_empty_list_has_the_rank_of_the_signature(self):
        assert arrays({"inputs": []}, TEXT)["text"].shape == (0,)
        assert arrays({"inputs": []}, IDS)["inputs"].shape == (0, 0)

    def test_a_scalar_has_no_axes(self):
        scalar = {"x": Tensor(np.dtype("int64"), ())}
        assert arrays({"inputs": 7}, scalar)["x"].shape == ()

    @pytest.mark.parametrize(
        "body, words",
        [
            (b"", "JSON Parse error"),
            (b'{"instances": ["a"]', "JSON Parse error"),
            (b"\xff\xfe", "UTF-8"),
            (b"[" * 100_000, "nested too deeply"),
            (b'{"x": ' + b"[" * 20_000, "nested too deeply"),
            (b'{"inputs": ["a"]} x', "Extra data"),
            (b'{"inputs": ["a",]}', "JSON Parse error"),
            (b'{"inputs": [' + b"9" * 5000 + b"]}", "JSON Parse error"),
            (b'["a"]', "must be a JSON object"),
            (b"{}", "one of the keys 'instances' and 'inputs'"),
            (b'{"instances": ["a"], "inputs": ["a"]}', "one of the keys"),
            (b'{"instances": "a"}', "list of one row or more"),
            (b'{"instances": []}', "one row or more: an empty list"),
            (b'{"inputs": ["a"], "inputs": ["a"]}', "each of its names once"),
        ],
    )
    def test_a_body_that_is_not_a_request_is_refused(self, body, words):
        refused(body, TEXT, words)

    @pytest.mark.parametrize(
        "request_, words",
        [
            ({"instances": [1]}, "not of expected type: string"),
            ({"instances": [None]}, "not of expected type: string"),
            ({"instances": ["a", ["b"]]}, "equally long and deep"),
            ({"instances": [["a"], "b"]}, "equally long and deep"),
            ({"instances": [{"b64": "???"}]}, "b64"),
            ({"instances": [{"b64": "\u0663QQ=="}]}, "b64"),
            ({"instances": ["\ud800"]}, "surrogates"),
            ({"instances": [{"text": "a"}, "b"]}, "as instance 1. Name"),
            ({"instances": ["a", {"text": "b"}]}, "not of expected type"),
            ({"instances": [{"txet": "a"}]}, "Sent extra: {txet}"),
            ({"instances": [{"text": "a"}, {}]}, "required: {text}"),
            ({"inputs": {"text": ["a"], "more": 1}}, "Sent extra: {more}"),
            ({"inputs": {}}, "Missing but required: {text}"),
            ({"inputs": [[[[[[[[["a"]]]]]]]]]}, "must have shape (.)"),
        ],
    )
    def test_unfitting_values_are_refused(self, request_, words):
        refused(request_, TEXT, words)

    @pytest.mark.parametrize(
        "values",
        [[[1], [2, 3]], [[2**31]], [[1.5]], [["1"]], [[True]], [[{"b64": ""}]]],
    )
    def test_unfitting_ids_are_refused(self, values):
        refused({"instances": values}, IDS, "'inputs'")

    @pytest.mark.parametrize(
        "item",
        [
            pytest.param("[]", marks=pytest.mark.slow),
            pytest.param("{}", marks=pytest.mark.slow),
            "null",
            '"a"',
            '[["a"]]',
        ],
    )
    def test_a_body_of_too_many_values_is_not_read_to_its_end(self, item):
        for start in ('{"inputs": [', '{"x": {"a": ['):
            # What follows is no JSON, which would be refused in other words.
            body = f"{start}{2**17 * (item + ',')} !"
            refused(body.encode(), TEXT, "at most 131072 lists, texts")

    def test_a_list_of_too_many_numbers_is_not_read(self):
        body = b'{"inputs": [[1, 2, 3' + 9999 * b", 4" + b"!]]}"
        with pytest.raises(RequestError, match="at most 4096 numbers"):
            arrays(body, IDS, max_numbers=4096)

    def test_long_lists_are_read_in_parts(self):
        values = np.random.default_rng(0).integers(-(2**31), 2**31, (3, 20_000))
        for body in (
            json.dumps({"inputs": values.tolist()}, indent=1).encode(),
            json.dumps({"instances": values.tolist()}).encode(),
        ):
            read = arrays(body, IDS)["inputs"]
            np.testing.assert_array_equal(read, values)
        refused(body[:-3] + b",]]}", IDS, rf"\(char {len(body) - 2}\)")
        refused(body[:-4] + b"x]]}", IDS, rf"\(char {len(body) - 4}\)")

    def test_any_rank_is_read(self):
        inputs = {"x": Tensor(np.dtype("float32"), None)}
        for value in (1.5, [], [[]], [[1, 2], [3, 4]], [[[1]], [[2]]]):
            np.testing.assert_array_equal(
                arrays({"inputs": value}, inputs)["x"], value
            )
        for value in ([[1], 2], [1, [2]], [[], [1]]):
            refused({"inputs": value}, inputs, "equally long and deep")
        refused({"inputs": [[[[[[[[[1]]]]]]]]]}, inputs, "at most 8 axes")

    @pytest.mark.parametrize("inputs", [TEXT, IDS])
    @pytest.mark.parametrize(
        "values",
        ['[null{"b64":"QQ=="}]', '[null"a"]', "[null[]]", '[{"b64":"QQ=="}1]']
        + ["[1 2]", "[[null[1]]]", "[[1 2]]", "[[1[2]]]", "[[1]null]"],
    )
    def test_values_without_a_comma_are_refused(self, values, inputs):
        for body in (f'{{"inputs": {values}}}', f'{{"instances": {values}}}'):
            refused(body.encode(), inputs, ".")

    def test_several_inputs_must_be_named(self):
        refused({"inputs": ["a"]}, PAIR, "must be named")
        refused({"instances": ["a"]}, PAIR, "must be named")

    def test_an_error_shows_only_the_start_of_a_long_value(self):
        with pytest.raises(RequestError) as error:
            arrays({"inputs": {"inputs": "x" * 10_000}}, IDS)
        assert len(str(error.value)) < 300


class ResponseTest:
    outputs = {
        "translations": np.array([[b"\xc3\xa4", b"b"], [b"c", b"d"]], object),
        "scores": np.array([[-0.1, -1], [-2, np.nan]], np.float32),
    }

    def answer(self, outputs, is_row):
        return json.loads(json_tensors.format_response(outputs, is_row))

    def test_rows_are_objects(self):
        answer = self.answer(self.outputs, True)
        assert answer["predictions"][0] == {
            "translations": ["ä", "b"],
            "scores": [-0.1, -1.0],
        }
        assert np.isnan(answer["predictions"][1]["scores"][1])

    def test_columns_are_lists(self):
        answer = self.answer(self.outputs, False)
        assert answer["outputs"]["translations"] == [["ä", "b"], ["c", "d"]]

    def test_a_single_result_has_no_name(self):
        only = {"scores": np.array([1.5, 2], np.float32)}
        assert self.answer(only, True) == {"predictions": [1.5, 2.0]}
        assert self.answer(only, False) == {"outputs": [1.5, 2.0]}
        scalar = {"count": np.array(3)}
        assert self.answer(scalar, False) == {"outputs": 3}

    def test_binary_results_are_in_base_64(self):
        answer = self.answer({"picture_bytes": np.array([b"\xff"], object)}, 1)
        (value,) = answer["predictions"]
        assert base64.b64decode(value["b64"]) == b"\xff"

    def test_a_float32_has_its_shortest_digits(self):
        for value in np.random.default_rng(0).normal(size=100):
            array = np.array([value], np.float32)
            (back,) = self.answer({"x": array}, True)["predictions"]
            assert np.float32(back) == array[0]
            assert len(repr(back)) <= 16

    @pytest.mark.parametrize("other", [np.array(1), np.array([1, 2, 3])])
    def test_results_need_equally_many_rows(self, other):
        with pytest.raises(RequestError, match="row for each instance"):
            self.answer({"x": np.array([1, 2]), "y": other}, True)
