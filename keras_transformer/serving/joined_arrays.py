"""Joins the arrays of several requests."""

import numpy as np


def join(parts):
    """Returns dictionaries of arrays, concatenated along the first axis.

    Arrays of different trailing axes are padded with zeros or empty strings.

    Args:
        parts: List of dictionaries with the same keys.

    Example:

    >>> join([{"ids": np.array([[5, 1]])}, {"ids": np.array([[1]])}])["ids"]
    array([[5, 1],
           [1, 0]])
    """
    if len(parts) == 1:
        return parts[0]
    return {
        name: _concatenate([part[name] for part in parts]) for name in parts[0]
    }


def _concatenate(arrays):
    shapes = [array.shape[1:] for array in arrays]
    # Translations are as long as the longest of their batch, so parts may
    # differ in width.
    if len(set(shapes)) > 1:
        largest = np.max(shapes, axis=0)
        arrays = [_pad(array, largest) for array in arrays]
    return np.concatenate(arrays)  # (batch, ...)


def _pad(array, shape):
    blank = b"" if array.dtype == object else 0  # objects are strings
    padded = np.full((len(array), *shape), blank, array.dtype)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded
