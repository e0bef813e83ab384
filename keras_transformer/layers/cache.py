"""The memory of step-by-step decoding: keys and values of past positions."""

import typing

from keras import ops


class GrowingSlots(typing.NamedTuple):
    """Holds past positions on the third axis and grows by one each step.

    Choose it where a loop can change shapes, as in TensorFlow. It copies less
    than `FixedSlots`.
    """

    entries: typing.Any

    def write(self, newest, position, limit=None):
        """Appends one position, and keeps the `limit` newest ones, or all."""
        entries = ops.concatenate(
            [self.entries, newest], axis=2
        )  # (batch, beam or num_heads, num_slots, ...)
        if limit is not None:
            entries = entries[:, :, -limit * newest.shape[2] :]
        return GrowingSlots(entries)

    def list_positions(self, newest):
        """Returns the position of each entry, where each has one slot."""
        number = ops.shape(self.entries)[2]
        return newest + 1 - number + ops.arange(number, dtype="int32")


class FixedSlots(typing.NamedTuple):
    """Holds past positions on the third axis, in a fixed number of slots.

    Choose it where shapes must not change, as in XLA and `jax.jit`. When all
    slots are taken, the newest position replaces the oldest one.
    """

    entries: typing.Any

    def write(self, newest, position, limit=None):
        """Returns the slots with the entries of one position replaced."""
        start = [0] * len(self.entries.shape)
        start[2] = position * newest.shape[2] % ops.shape(self.entries)[2]
        # On TensorFlow this runs an XLA operation, which took 1.1 of the 7 s of
        # a beam search with base. `GrowingSlots` avoid it there.
        return FixedSlots(ops.slice_update(self.entries, start, newest))

    def list_positions(self, newest):
        """Returns the position of each entry; empty slots are before 0."""
        number = ops.shape(self.entries)[2]
        return newest - (newest - ops.arange(number, dtype="int32")) % number


class DecoderCache(typing.NamedTuple):
    """Holds the keys and values of a stack of layers for every beam.

    The first axis of every tensor is `batch`. Keys and values never move: when
    beams fork or die, only the table of ancestors changes. With a
    neighbourhood, the cache keeps only the positions that it reaches back to.
    """

    # Slots (batch, beam, length) with positions of `past`; see `ancestor_mask`.
    ancestors: typing.Any
    past: typing.Any  # self-attention's keys and values, a pair per layer
    # In a decoder, keys and values of the encoder's output, a pair per layer,
    # and its padding mask, (batch, input_len).
    memory: typing.Any = ()
    padding_mask: typing.Any = ()

    def reorder(self, beams):
        """Returns the cache in which beam j continues beam `beams[j]`."""
        # Every beam has a separate slot at each position, so a beam is the
        # list of the slots that its ancestors wrote. Moving this small table
        # replaces moving keys and values of all layers.
        ancestors = self.ancestors.entries
        ancestors = ops.take_along_axis(
            ancestors, ops.expand_dims(beams, 2), axis=1
        )  # (batch, beam, length)
        return self._replace(
            ancestors=self.ancestors._replace(entries=ancestors)
        )


def count_remembered(neighbourhood_size):
    """Returns how many positions a step attends to, or None for all."""
    return neighbourhood_size // 2 + 1 if neighbourhood_size else None


def make_slots(leading, num_slots, trailing=(), value=0, dtype="int32"):
    """Returns slots with one value, growing ones if `num_slots` is None."""
    slots = FixedSlots
    if num_slots is None:
        # A tensor: a traced loop would take a plain 0 for a constant length.
        slots, num_slots = GrowingSlots, 0 * leading[0]
    return slots(ops.full((*leading, num_slots, *trailing), value, dtype))
