"""Files of arrays, whose headers are checked before anything is allocated.

An array is in NumPy's `.npy` format. A checkpoint has several in a `.npz` file.
"""

import contextlib
import errno
import io
import math
import os
import typing
import zipfile

import numpy as np

from keras_transformer.files import reading
from keras_transformer.files.writing import atomic_write

MAX_DIRECTORY_BYTES = 2**24  # of the list of arrays at the end of the file
# NumPy parses a header as a Python literal, which gets slow or fails for a long
# one. The headers of our arrays have at most 128 characters.
_MAX_HEADER_SIZE = 512


class Header(typing.NamedTuple):
    """The content of the header of an array."""

    dtype: np.dtype
    shape: tuple
    total_bytes: int  # of header and array


def read_header(file):
    """Reads the header of an array of numbers from a binary file.

    The message of a ValueError is a clause, such as "which is not an array of
    numbers", for the caller's message.
    """
    start = file.tell()
    try:
        version = np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(
            file, max_header_size=_MAX_HEADER_SIZE
        )
    except (MemoryError, OSError):  # the content may be right
        raise
    except Exception as error:  # damaged bytes raise many kinds
        raise ValueError("which is not an array of numbers") from error
    # NumPy also accepts objects, records, and sizes that no array has.
    is_array = version == (1, 0) and dtype.kind in "fiu"
    if not is_array or not all(0 <= size < 2**63 for size in shape):
        raise ValueError("which is not an array of numbers")
    num_bytes = file.tell() - start + math.prod(shape) * dtype.itemsize
    return Header(dtype, shape, num_bytes)


def read_headers(path):
    """Reads the `Header` of each array by name, but no array.

    It takes milliseconds and little memory, whatever the file holds. `np.savez`
    writes each array uncompressed. Anything else is refused, because a small
    file could then fill the memory.
    """
    with _open(path) as archive:
        return _parse_headers(archive, os.path.getsize(path))


def read_checksums(path):
    """Returns the CRC-32 that the file records for each array, by name."""
    with _open(path) as archive:
        return {info.filename: info.CRC for info in archive.infolist()}


def read_arrays(path, kinds=None):
    """Reads arrays by name, after the headers of all of them.

    `kinds` are beginnings of names, such as `{"model"}`; None reads all arrays.
    """
    arrays = {}
    with _open(path) as archive:
        for name in _parse_headers(archive, os.path.getsize(path)):
            if kinds is None or name.partition("/")[0] in kinds:
                with archive.open(name + ".npy") as member:
                    # A pickle could execute code.
                    arrays[name] = np.lib.format.read_array(
                        member, allow_pickle=False
                    )
                    member.read()  # to the end, where the checksum is compared
    return arrays


def write_arrays(path, arrays):
    """Writes arrays by name to a file that appears once it is complete."""
    # An open file, since NumPy adds `.npz` to a path with another ending.
    with atomic_write(path, "wb") as file:
        np.savez(file, **arrays)


def check_finite(arrays, path, remedy):
    """Checks that the arrays of a file hold neither infinity nor NaN."""
    for name, array in arrays.items():
        # The sum is finite only if all numbers are, and it takes no memory.
        # NumPy would warn of one of infinities of both signs.
        with np.errstate(invalid="ignore"):
            total = np.sum(array, dtype="float64")
        if not np.isfinite(total):
            fault = f"where {name!r} holds infinity or NaN"
            raise reading.file_error(path, fault, remedy)


@contextlib.contextmanager
def _open(path):
    """Opens a file to read, with one form of error for any bad content."""
    remedy = None
    # Only one of a series, unlike base.npz, has another before it.
    if os.path.basename(path).startswith("ckpt-"):
        remedy = "Delete it; the checkpoint before it is used instead."
    reading.check_file(path, remedy)
    try:
        with _File(path) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except MemoryError:
        raise
    except Exception as error:  # zipfile raises many kinds
        # Damaged bytes make zipfile seek to places that do not exist.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise reading.read_error(path, error) from error
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        reason = reason.removeprefix("which is ")
        fault = f"which is not a complete .npz file of numbers ({reason})"
        raise reading.file_error(path, fault, remedy) from error


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
            raise ValueError(f"{name[:60]!r} is not an array or occurs twice")
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name[:60]!r} is compressed")
        room -= info.file_size
        with archive.open(info) as member:
            headers[name] = read_header(member)
        if room < 0 or headers[name].total_bytes != info.file_size:
            raise ValueError(f"the size of {name[:60]!r} contradicts its shape")
    return headers


def check_shapes(expected, stored, path, remedy):
    """Checks that a checkpoint holds exactly the arrays that it should.

    The dictionaries hold a shape, or words instead, by the name of an array.
    The message names the first array that differs.
    """
    for name in sorted(expected.keys() | stored.keys()):
        shapes = (stored.get(name, "absent"), expected.get(name, "absent"))
        if shapes[0] != shapes[1]:
            actual, required = (
                f"of shape {shape!s:.60}" if isinstance(shape, tuple) else shape
                for shape in shapes
            )
            fault = f"where {name[:80]!r} is {actual} but must be {required}"
            raise reading.file_error(path, fault, remedy)
