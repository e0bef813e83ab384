"""Reading of one checkpoint, a `.npz` file, whose headers are checked first."""

import io
import os
import zipfile

import numpy as np

from keras_transformer.files import npy
from keras_transformer.files import reading

MAX_DIRECTORY_BYTES = 2**24  # of the list of arrays at the end of the file


def read_headers(path):
    """Reads the `npy.Header` of each array by name, but no array.

    It takes milliseconds and little memory, whatever the file holds. `np.savez`
    writes each array uncompressed. Anything else is refused, because a small
    file could then fill the memory.
    """
    reading.check_file(path, remedy=_find_remedy(path))
    try:
        with _File(path) as file, zipfile.ZipFile(file) as archive:
            return _parse_headers(archive, os.path.getsize(path))
    except Exception as error:  # zipfile raises many kinds
        raise _make_error(path, error) from error


def read_checksums(path):
    """Returns the CRC-32 that the file holds of each array, by name."""
    reading.check_file(path, remedy=_find_remedy(path))
    try:
        with _File(path) as file, zipfile.ZipFile(file) as archive:
            return {info.filename: info.CRC for info in archive.infolist()}
    except Exception as error:
        raise _make_error(path, error) from error


def read_arrays(path, kinds=None):
    """Reads arrays by name, after the headers of all of them.

    `kinds` are beginnings of names, such as `{"model"}`; None reads all arrays.
    """
    names = [
        name
        for name in read_headers(path)
        if kinds is None or name.partition("/")[0] in kinds
    ]
    arrays = {}
    try:
        with _File(path) as file, zipfile.ZipFile(file) as archive:
            for name in names:
                with archive.open(name + ".npy") as member:
                    # A pickle could execute code.
                    arrays[name] = np.lib.format.read_array(
                        member, allow_pickle=False
                    )
                    member.read()  # to the end, where the checksum is compared
    except Exception as error:
        raise _make_error(path, error) from error
    return arrays


class _File(io.FileIO):
    """A file that refuses to read an absurdly long list of arrays."""

    def read(self, size=-1):
        if size > MAX_DIRECTORY_BYTES:
            raise ValueError("its list of arrays is too long")
        return super().read(size)


def _parse_headers(archive, num_bytes):
    # A small file can claim to hold more than the memory does: by compression,
    # by members that overlap, or by a header with an absurd shape. Each of
    # these is refused before any array is allocated.
    headers = {}
    room = num_bytes
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name == info.filename or name in headers:
            raise ValueError(f"{name[:60]!r} is no array or occurs twice")
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name[:60]!r} is compressed")
        room -= info.file_size
        with archive.open(info) as member:
            headers[name] = npy.read_header(member)
        if room < 0 or headers[name].total_bytes != info.file_size:
            raise ValueError(f"{name[:60]!r} has another size than its shape")
    return headers


def check_shapes(expected, stored, path, remedy):
    """Checks that a checkpoint holds exactly the arrays that it should.

    The dictionaries hold a shape, or words in its place, by the name of an
    array. The message names the first array that differs.
    """
    for name in sorted(expected.keys() | stored.keys()):
        wanted, found = (
            shapes.get(name, "absent") for shapes in (expected, stored)
        )
        if found != wanted:
            found, wanted = (
                f"of shape {shape}" if isinstance(shape, tuple) else shape
                for shape in (found, wanted)
            )
            fault = f"where {name[:80]!r} is {found} but must be {wanted}"
            raise reading.file_error(path, fault, remedy)


def _make_error(path, error):
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    reason = reason.removeprefix("which is ")
    fault = f"which is not a complete .npz file of numbers ({reason})"
    return reading.file_error(path, fault, _find_remedy(path))


def _find_remedy(path):
    """Returns what to do about a damaged file, None for the usual."""
    # Only one of a series, unlike base.npz, has another before it.
    if os.path.basename(path).startswith("ckpt-"):
        return "Delete it; the checkpoint before it is used instead."
    return None
