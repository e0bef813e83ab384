import io

import numpy as np
import pytest

from keras_transformer.files.npy import read_header


def header_of(array):
    file = io.BytesIO()
    np.save(file, array)
    size = file.tell()
    file.seek(0)
    return read_header(file), size


class ReadHeaderTest:
    @pytest.mark.parametrize("shape", [(), (0,), (2,), (2, 3), (1, 2, 3, 4)])
    @pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", ">f8"])
    def test_arrays_of_numpy_are_recognised(self, shape, dtype):
        header, size = header_of(np.zeros(shape, dtype))
        assert header.shape == shape
        assert header.dtype == np.dtype(dtype)
        assert header.total_bytes == size

    @pytest.mark.parametrize(
        "shape",
        [b"(-2,-3)", b"(" + b"9" * 40 + b",)", b"(" * 40, b"-" * 40 + b"2"],
    )
    def test_hostile_shape_is_refused(self, shape):
        content = io.BytesIO()
        np.save(content, np.zeros(2, "float32"))
        header = content.getvalue().replace(b"(2,)", shape)
        surplus = b" " * (len(header) - len(content.getvalue())) + b"\n"
        header = header.replace(surplus, b"\n")
        assert len(header) == len(content.getvalue())
        with pytest.raises(ValueError, match="not an array of numbers"):
            read_header(io.BytesIO(header))

    def test_long_header_is_refused(self):
        header = b"\x93NUMPY\x01\x00\x00\xf0" + b"(" * 0xF000
        with pytest.raises(ValueError, match="not an array of numbers"):
            read_header(io.BytesIO(header))

    def test_objects_are_refused(self):
        file = io.BytesIO()
        np.save(file, np.array([{}], dtype=object), allow_pickle=True)
        file.seek(0)
        with pytest.raises(ValueError, match="not an array of numbers"):
            read_header(file)
