"""Selects and reorders the beams of a search."""

from keras import ops
from keras import tree

NEVER = float("-inf")  # log-probability of what cannot happen


def gather_beams(state, beams):
    """Gathers the beams of every tensor of a state.

    Args:
        state: Nested tensors of shape `(batch, beam, ...)`.
        beams: Integer tensor of shape `(batch, beam)`.

    Returns:
        The state in which beam j is what beam `beams[j]` was.
    """
    return tree.map_structure(lambda values: select(values, beams), state)


def select(values, indices):
    """Takes rows of each sentence's values.

    Args:
        values: Tensor of shape `(batch, rows, ...)`.
        indices: Integer tensor of shape `(batch, number)`.

    Returns:
        Tensor of shape `(batch, number, ...)`.
    """
    axes = (1,) * (len(values.shape) - 2)
    indices = ops.reshape(
        indices, (-1, indices.shape[1], *axes)
    )  # (batch, number, 1, ...)
    return ops.take_along_axis(values, indices, axis=1)  # (batch, number, ...)
