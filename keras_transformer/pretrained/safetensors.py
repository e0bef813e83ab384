"""Files of safetensors: arrays of numbers behind a header in JSON.

The format has no code in it, unlike a pickle: eight bytes with the length of
the header, the header, and the arrays one after another.
"""

import json
import math
import os
import typing

import numpy as np

from keras_transformer.files.reading import check_file
from keras_transformer.files.reading import file_error
from keras_transformer.files.records import find_fault
from keras_transformer.files.writing import atomic_write

MAX_HEADER_BYTES = 2**24
# NumPy has no bfloat16, so its bits are read as integers.
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_SIZE = range(2**40)
_ENTRY = {"dtype": str, "shape": [_SIZE], "data_offsets": [_SIZE, _SIZE]}
_REMEDY = "Get the file again."


class Header(typing.NamedTuple):
    """What the header of a file says of an array."""

    dtype: str  # one of `DTYPES`
    shape: tuple
    start: int  # of its bytes in the file


def read_headers(path):
    """Reads the `Header` of each array by name, but no array.

    A size that the file cannot hold is an error here, before anything is
    allocated. All arrays are of floating-point numbers.
    """
    check_file(path, _REMEDY)
    num_bytes = os.path.getsize(path)
    with open(path, "rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        if not 0 < header_bytes <= min(MAX_HEADER_BYTES, num_bytes - 8):
            fault = "which is not a complete file of safetensors"
            raise file_error(path, fault, _REMEDY)
        content = file.read(header_bytes)
    try:
        entries = json.loads(content)
        fault = find_fault(entries, {str: {}})
    except (ValueError, RecursionError):
        fault = "whose header is not JSON"
    if fault:
        raise file_error(path, fault, _REMEDY)
    entries.pop("__metadata__", None)
    start = 8 + header_bytes
    headers = {
        name: _parse(name, entry, start, path)
        for name, entry in entries.items()
    }
    # Arrays fill the file one after another, so none can overlap.
    for name in sorted(headers, key=lambda name: headers[name].start):
        if headers[name].start != start:
            fault = f"where {name[:80]!r} is not behind the array before it"
            raise file_error(path, fault, _REMEDY)
        start += _count_bytes(headers[name])
    if start != num_bytes:
        fault = f"which has {num_bytes:,} bytes instead of {start:,}"
        raise file_error(path, fault, _REMEDY)
    return headers


def _parse(name, entry, start, path):
    fault = find_fault(entry, _ENTRY)
    if not fault and entry["dtype"] not in DTYPES:
        fault = f"which has numbers of the type {entry['dtype'][:20]}"
    if not fault:
        first, last = entry["data_offsets"]
        header = Header(entry["dtype"], tuple(entry["shape"]), start + first)
        if last - first == _count_bytes(header):
            return header
        fault = "which has another size than its shape"
    raise file_error(path, f"where {name[:80]!r} is wrong: {fault}", _REMEDY)


def _count_bytes(header):
    return math.prod(header.shape) * np.dtype(DTYPES[header.dtype]).itemsize


def read_array(path, header):
    """Reads the array of a `Header` as float32, exactly unless it is F64."""
    array = np.fromfile(
        path,
        DTYPES[header.dtype],
        math.prod(header.shape),
        offset=header.start,
    ).reshape(header.shape)
    if header.dtype == "BF16":
        # A bfloat16 is the upper half of a float32.
        return (array.astype("uint32") << 16).view("float32")
    return array.astype("float32")


def write_arrays(path, arrays):
    """Writes a dictionary of float32 arrays, in the order of their names."""
    entries, end = {"__metadata__": {"format": "pt"}}, 0
    for name in sorted(arrays):
        start, end = end, end + arrays[name].nbytes
        entries[name] = {
            "dtype": "F32",
            "shape": arrays[name].shape,
            "data_offsets": [start, end],
        }
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    with atomic_write(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for name in sorted(arrays):
            file.write(np.ascontiguousarray(arrays[name], "<f4").tobytes())
