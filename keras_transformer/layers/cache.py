"""The memory of step-by-step decoding: keys and values of past positions."""

import typing

from keras import ops


class GrowingSlots(typing.NamedTuple):
    """Holds the entries of past positions and grows with every position.

    Choose it where a loop can change shapes, as in TensorFlow. It copies less
    than `FixedSlots`.

    Args:
        entries: Tensor with the slots on its third axis.
    """

    entries: typing.Any

    fixed_length = None  # not annotated, hence no field

    def write(self, newest, position):
        """Returns the slots with the entries of one position appended.

        Args:
            newest: Tensor like `entries`, with the slots of one position.
            position: Unused, since the newest position always comes last.
        """
        entries = ops.concatenate(
            [self.entries, newest], axis=2
        )  # (batch, beam or num_heads, num_slots, ...)
        return GrowingSlots(entries)


class FixedSlots(typing.NamedTuple):
    """Holds the entries of past positions, with room for all later ones.

    Choose it where shapes must not change, as in XLA and `jax.jit`.

    Args:
        entries: Tensor with the slots on its third axis.
    """

    entries: typing.Any

    @property
    def fixed_length(self):
        """The number of slots, an integer."""
        return self.entries.shape[2]

    def write(self, newest, position):
        """Returns the slots with the entries of one position replaced.

        Args:
            newest: Tensor like `entries`, with the slots of one position.
            position: Scalar integer tensor, counted from 0.
        """
        start = [0] * len(self.entries.shape)
        start[2] = position * newest.shape[2]
        # On TensorFlow this runs an XLA operation, which took 1.1 of the 7 s of
        # a beam search with base. `GrowingSlots` avoid it there.
        return FixedSlots(ops.slice_update(self.entries, start, newest))


class DecoderCache(typing.NamedTuple):
    """Holds what a decoder remembers of the past positions of every beam.

    It knows whether its shapes are fixed, so callers need not pass that on. The
    first axis of every tensor is `batch`. Keys and values never move: when
    beams fork or die, only the table of ancestors changes.

    Args:
        ancestors: Slots of shape `(batch, beam, length)`, see `ancestor_mask`.
        own: List of the keys and values of self-attention, a pair of slots per
            layer.
        memory: List of the keys and values of the encoder's output, a pair of
            tensors per layer.
        padding_mask: Boolean tensor of shape `(batch, input_len)`.
    """

    ancestors: typing.Any
    own: typing.Any
    memory: typing.Any
    padding_mask: typing.Any

    @property
    def fixed_length(self):
        """The number of positions that fit in, or None if the cache grows."""
        return self.ancestors.fixed_length

    def reorder(self, beams):
        """Returns the cache in which beam j continues beam `beams[j]`.

        Args:
            beams: Integer tensor of shape `(batch, beam)`.
        """
        ancestors = self.ancestors.entries
        ancestors = ops.take_along_axis(
            ancestors, beams[:, :, None], axis=1
        )  # (batch, beam, length)
        return self._replace(
            ancestors=self.ancestors._replace(entries=ancestors)
        )


def empty_slots(leading, num_slots, trailing=(), value=0, dtype="int32"):
    """Returns slots in which nothing is written yet.

    Args:
        leading: Two sizes, those of the axes before the slots.
        num_slots: Number of slots, an integer. None lets the slots grow.
        trailing: Tuple of the sizes of the axes after the slots.
        value: Number to fill the slots with. Defaults to 0.
        dtype: Data type of the entries. Defaults to int32.
    """
    slots = FixedSlots
    if num_slots is None:
        # A tensor: a traced loop would take a plain 0 for a constant length.
        slots, num_slots = GrowingSlots, 0 * leading[0]
    return slots(ops.full((*leading, num_slots, *trailing), value, dtype))
