"""Tests that a checkpoint of any content is read or refused by its headers."""

import copy
import io
import os
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from processes import environment

from keras_transformer.files import array_files
from keras_transformer.files.array_files import read_arrays
from keras_transformer.files.array_files import read_header
from keras_transformer.files.array_files import read_headers

ARRAYS = {
    "model/a": np.arange(12, dtype="float32").reshape(3, 4),
    "progress/step": np.int64(7),
    "average/b": np.zeros((0, 2)),
}


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def write_zip(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ckpt-7.npz")


@pytest.fixture
def refused(path):
    """A function that returns the message, after at most 1 MiB of memory."""

    def message():
        tracemalloc.start()
        with pytest.raises(ValueError, match="ckpt-7.npz") as caught:
            read_arrays(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2**20
        return str(caught.value)

    return message


def test_the_message_about_a_shape_is_short():
    stored = {"a": (1,) * 100_000}
    with pytest.raises(ValueError, match="'a' is of shape") as caught:
        array_files.check_shapes({"a": (1,)}, stored, "x", "Get it again.")
    assert len(str(caught.value)) < 200


class CheckpointFileTest:
    def test_a_lack_of_memory_is_not_damage(self, path):
        np.savez(path, a=np.zeros(2**25))
        code = (
            "import resource, sys\n"
            "from keras_transformer.files.array_files import read_arrays\n"
            "resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))\n"
            "try:\n"
            "    read_arrays(sys.argv[1])\n"
            "except MemoryError:\n"
            "    sys.exit(7)\n"
        )
        command = [sys.executable, "-c", code, path]
        environ = environment(__file__, OPENBLAS_NUM_THREADS="1")
        assert subprocess.run(command, env=environ).returncode == 7

    def test_headers_are_those_of_the_arrays(self, path):
        np.savez(path, **ARRAYS)
        headers = read_headers(path)
        assert {name: h.shape for name, h in headers.items()} == {
            name: array.shape for name, array in ARRAYS.items()
        }
        assert headers["model/a"].dtype == np.float32

    def test_only_the_kinds_asked_for_are_read(self, path):
        np.savez(path, **ARRAYS)
        arrays = read_arrays(path, {"model", "average"})
        assert arrays.keys() == {"model/a", "average/b"}
        np.testing.assert_array_equal(arrays["model/a"], ARRAYS["model/a"])

    def test_array_in_columns_keeps_its_places(self, path):
        np.savez(path, a=np.asfortranarray(ARRAYS["model/a"]))
        np.testing.assert_array_equal(read_arrays(path)["a"], ARRAYS["model/a"])

    @pytest.mark.parametrize("size", [0, 1, 30, 200, 700])
    def test_truncated_file_is_refused(self, path, refused, size):
        np.savez(path, **ARRAYS)
        os.truncate(path, size)
        assert "complete .npz file" in refused()

    def test_every_changed_byte_is_read_or_refused(self, path):
        np.savez(path, a=ARRAYS["model/a"])
        with open(path, "rb") as file:
            content = file.read()
        for place in range(len(content)):
            changed = bytearray(content)
            changed[place] ^= 0xFF
            with open(path, "wb") as file:
                file.write(changed)
            try:
                read_arrays(path)
            except ValueError as error:
                assert "complete .npz file" in str(error)

    def test_bomb_of_zeros_is_refused_unread(self, path, refused):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("model/a.npy", "w") as member:
                header = npy(np.zeros(0, "float32"))
                member.write(header.replace(b"(0,), }      ", b"(5000000,), }"))
                for _ in range(20):
                    member.write(bytes(2**20))
        assert os.path.getsize(path) < 2**18
        assert "compressed" in refused()

    def test_members_that_overlap_are_refused(self, path, refused):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", npy(np.zeros(10_000)))
            for number in range(100):
                twin = copy.copy(archive.filelist[0])
                twin.filename = f"{number}.npy"
                archive.filelist.append(twin)
        refused()

    def test_array_that_claims_more_than_the_file_has_is_refused(
        self, path, refused
    ):
        shape, false_shape = b"(2,), }" + b" " * 8, b"(999999999,), }"
        content = npy(np.zeros(2)).replace(shape, false_shape)
        write_zip(path, {"model/a.npy": content})
        assert "contradicts its shape" in refused()

    def test_absurd_list_of_arrays_is_refused_unread(
        self, path, refused, monkeypatch
    ):
        monkeypatch.setattr(array_files, "MAX_DIRECTORY_BYTES", 2000)
        write_zip(path, {f"{n}.npy": npy(np.zeros(1)) for n in range(100)})
        assert "list of arrays is too long" in refused()

    def test_pickle_is_refused(self, path, refused):
        objects = np.array([{"a": 1}], dtype=object)
        write_zip(path, {"model/a.npy": npy(objects, allow_pickle=True)})
        assert "not an array of numbers" in refused()

    @pytest.mark.parametrize(
        "array", [np.array(["a"]), np.zeros(1, "complex64"), np.zeros(1, "?")]
    )
    def test_what_is_no_number_is_refused(self, path, refused, array):
        write_zip(path, {"model/a.npy": npy(array)})
        assert "not an array of numbers" in refused()

    @pytest.mark.parametrize(
        "members", [{"a.txt": b"text"}, {"a.npy": b""}, {"a.npy": b"text"}]
    )
    def test_members_of_other_kinds_are_refused(self, path, refused, members):
        write_zip(path, members)
        assert "complete .npz file" in refused()

    def test_what_is_no_file_is_refused_unopened(self, path, refused):
        os.mkfifo(path)
        assert "which is not a file" in refused()


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


class CheckFiniteTest:
    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(
        "values", [[np.nan, 1], [np.inf], [np.inf, -np.inf]]
    )
    def test_infinity_and_nan_are_found_without_a_warning(self, values):
        arrays = {"model/a": np.array(values, "float32")}
        words = "Cannot use file, where 'model/a' holds infinity or NaN. Copy."
        with pytest.raises(ValueError, match=words):
            array_files.check_finite(arrays, "file", "Copy.")

    def test_large_and_no_numbers_are_finite(self):
        arrays = {"a": np.full(9, 3e38, "float32"), "b": np.zeros(0)}
        array_files.check_finite(arrays, "file", "Copy.")
