import json
import time

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.formats.marian.tensor_files import read_array
from keras_transformer.formats.marian.tensor_files import read_headers
from keras_transformer.formats.marian.tensor_files import write_arrays

DEEP = (10**6).to_bytes(8, "little") + b'{"x":' + b"[" * 999_995
ARRAYS = {"b": np.float32([[1.5, -2.0, 3.0]]), "a": np.float32([7.0])}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "model.safetensors")


def write_file(path, header, num_bytes):
    content = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(content).to_bytes(8, "little") + content)
        file.write(bytes(num_bytes))


class SafetensorsTest:
    def test_arrays_come_back_bit_for_bit(self, path):
        write_arrays(path, ARRAYS)
        headers = read_headers(path)
        assert headers.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(read_array(headers[name]), array)

    def test_numbers_of_16_bits_become_float32(self, path):
        halves = {name: x.astype("float16") for name, x in ARRAYS.items()}
        write_arrays(path, halves)
        for name, header in read_headers(path).items():
            np.testing.assert_array_equal(read_array(header), ARRAYS[name])

    def test_bfloat16_is_the_upper_half_of_float32(self, path):
        entry = {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}
        write_file(path, {"x": entry}, 0)
        with open(path, "ab") as file:
            file.write(bytes.fromhex("803f40c0"))
        array = read_array(read_headers(path)["x"])
        assert array.dtype == "float32"
        np.testing.assert_array_equal(array, [1.0, -3.0])

    @pytest.mark.parametrize(
        "entry, num_bytes, words",
        [
            ({"shape": [2**39, 2**39]}, 8, "not a complete file"),
            ({"data_offsets": [0, 12]}, 12, "not a complete file"),
            ({"data_offsets": [4, 12]}, 12, "not a complete file"),
            (
                {"dtype": "I64", "data_offsets": [0, 16]},
                16,
                "numbers of the type I64",
            ),
            ({"shape": [-2]}, 8, "not a complete file"),
            ({}, 7, "not a complete file"),
            ({}, 9, "not a complete file"),
        ],
    )
    def test_sizes_are_checked_before_anything_is_read(
        self, entry, num_bytes, words, path
    ):
        usual = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
        write_file(path, {"x": {**usual, **entry}}, num_bytes)
        with pytest.raises(UserError, match=words):
            read_headers(path)

    def test_a_header_that_nests_too_deep_is_refused(self, path):
        with open(path, "wb") as file:
            file.write(DEEP)
        with pytest.raises(UserError, match="not a complete file"):
            read_headers(path)

    def test_a_million_empty_arrays_are_refused_at_once(self, path):
        entry = b'"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},'
        content = b"{" + b"".join(map(entry.__mod__, range(10**6)))[:-1] + b"}"
        with open(path, "wb") as file:
            file.write(len(content).to_bytes(8, "little") + content)
        start = time.process_time()
        with pytest.raises(UserError, match="list of arrays is too long"):
            read_headers(path)
        assert time.process_time() - start < 0.5

    @pytest.mark.parametrize("name", ["x.index.json", "other.json"])
    def test_an_index_names_no_index(self, name, tmp_path):
        path = tmp_path / "x.index.json"
        path.write_text(json.dumps({"weight_map": {"x": name}}))
        with pytest.raises(UserError, match=f"names '{name}', no file"):
            read_headers(str(path))

    @pytest.mark.parametrize(
        "content",
        [b"", b"\1", b"\xff" * 16, b"\2" + bytes(7) + b"{]", b"\0" * 9],
    )
    def test_other_bytes_are_no_such_file(self, content, path):
        with open(path, "wb") as file:
            file.write(content)
        with pytest.raises(UserError, match="model.safetensors"):
            read_headers(path)
