"""The header of an array in NumPy's `.npy` format."""

import math
import typing

import numpy as np

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

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3), "float32"))
    >>> _ = file.seek(0)
    >>> read_header(file).shape
    (2, 3)
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
