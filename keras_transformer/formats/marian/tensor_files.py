"""The arrays of a model in safetensors, in one file or in several."""

import json
import os
import typing

import ml_dtypes  # noqa: F401, teaches NumPy the name bfloat16
import safetensors.numpy

from keras_transformer.files.reading import check_file
from keras_transformer.files.reading import file_error
from keras_transformer.files.reading import read_record
from keras_transformer.files.writing import atomic_write

DTYPES = ("F64", "F32", "F16", "BF16")
_INDEX = {"weight_map": {str: str}}
_REMEDY = "Get the file again."


# Of the names, types and shapes. Models here have a few hundred arrays.
MAX_HEADER_BYTES = 2**22


class Header(typing.NamedTuple):
    """Where an array is, and what it is."""

    path: str
    name: str
    dtype: str
    shape: tuple


def read_headers(path):
    """Reads the `Header` of each array by name, but no array.

    `path` is a file of safetensors, or the index in JSON of several. A size
    that a file cannot hold is an error here, before anything is allocated, and
    so is a list of far too many arrays. All arrays are of floating-point
    numbers.
    """
    if path.endswith(".json"):
        return _read_index(path)
    check_file(path, _REMEDY)
    with open(path, "rb") as file:
        if int.from_bytes(file.read(8), "little") > MAX_HEADER_BYTES:
            fault = "whose list of arrays is too long"
            raise file_error(path, fault, _REMEDY)
    headers = {}
    with _open(path) as file:
        for name in file.keys():
            array = file.get_slice(name)
            if array.get_dtype() not in DTYPES:
                fault = f"where {name[:80]!r} has numbers of the type "
                raise file_error(path, fault + array.get_dtype(), _REMEDY)
            shape = tuple(array.get_shape())
            headers[name] = Header(path, name, array.get_dtype(), shape)
    return headers


def _read_index(path):
    names = read_record(path, _INDEX, _REMEDY)["weight_map"]
    headers = {}
    for file in sorted(set(names.values())):
        if os.path.basename(file) != file or file.endswith(".json"):
            fault = f"which names {file[:80]!r}, no file of arrays beside it"
            raise file_error(path, fault, _REMEDY)
        shard = os.path.join(os.path.dirname(path), file)
        headers |= read_headers(shard)
    for name in sorted(headers.keys() ^ names.keys()):
        fault = f"which does not agree with its files about {name[:80]!r}"
        raise file_error(path, fault, _REMEDY)
    return headers


def read_array(header):
    """Reads an array as float32, exactly unless it has 64 bits."""
    with _open(header.path) as file:
        return file.get_tensor(header.name).astype("float32")


def write_arrays(path, arrays, metadata=None):
    """Writes a dictionary of arrays to a file of safetensors."""
    # Readers ask for the format.
    metadata = {"format": "pt", **(metadata or {})}
    content = safetensors.numpy.save(arrays, metadata=metadata)
    # The library writes these entries in a random order.
    end = 8 + int.from_bytes(content[:8], "little")
    header = {**json.loads(content[8:end]), "__metadata__": metadata}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    with atomic_write(path, "wb") as file:
        file.write(content[:8] + text.encode().ljust(end - 8))
        file.write(memoryview(content)[end:])


def read_metadata(path):
    """Returns the texts that a file of safetensors holds by name."""
    check_file(path, _REMEDY)
    with _open(path) as file:
        return file.metadata() or {}


def _open(path):
    try:
        return safetensors.safe_open(path, framework="np")
    except safetensors.SafetensorError as error:
        reason = str(error).removeprefix("Error while deserializing header: ")
        fault = f"which is not a complete file of safetensors ({reason[:200]})"
        raise file_error(path, fault, _REMEDY) from error
