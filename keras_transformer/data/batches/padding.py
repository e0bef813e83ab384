"""Lists of ids as arrays."""

import numpy as np


def pad(sequences):
    """Returns lists of ids as one int32 array, `(batch, length)`, with 0s."""
    longest = max(map(len, sequences))
    array = np.zeros((len(sequences), longest), "int32")
    for row, ids in zip(array, sequences):
        row[: len(ids)] = ids
    return array
