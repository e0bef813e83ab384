"""The header of an array in NumPy's `.npy` format."""

import math
import re
import typing

import numpy as np

_START = b"\x93NUMPY\x01\x00"  # of version 1.0, which all our arrays have
# NumPy evaluates a header as Python. A header that NumPy wrote for an array of
# numbers has this form, and any other one is refused unevaluated.
_HEADER = re.compile(
    rb"\{'descr': '([<>|][fiu][1248])', 'fortran_order': (?:True|False), "
    rb"'shape': \(((?:[0-9]{1,18}(?:, [0-9]{1,18})*,?)?)\), \} *\n"
)


class Header(typing.NamedTuple):
    """What the header of an array says, and its own length."""

    dtype: np.dtype
    shape: tuple
    num_bytes: int  # of the header itself

    @property
    def total_bytes(self):
        """Number of bytes of header and array."""
        return self.num_bytes + math.prod(self.shape) * self.dtype.itemsize


def read_header(file):
    """Reads the header of an array of numbers, but not the array.

    Args:
        file: Binary file at the beginning of the array.

    Returns:
        A `Header`.

    Raises:
        ValueError: If it is not the header of an array of numbers. The message
            is a clause, such as "which is not an array of numbers", for the
            caller's own message.

    Example:

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3), "float32"))
    >>> _ = file.seek(0)
    >>> read_header(file).shape
    (2, 3)
    """
    start = file.read(len(_START) + 2)
    length = int.from_bytes(start[len(_START) :], "little")
    match = _HEADER.fullmatch(file.read(length))
    if not start.startswith(_START) or match is None:
        raise ValueError("which is not an array of numbers")
    shape = tuple(int(size) for size in re.findall(rb"[0-9]+", match[2]))
    return Header(np.dtype(match[1].decode()), shape, len(start) + length)
