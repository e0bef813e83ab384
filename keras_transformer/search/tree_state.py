"""The progress of each beam of a search in writing its tree."""

import typing

from keras import ops

from keras_transformer.token_ids import END_ID

MAX_DEPTH = 64  # brackets open at once; at most 28 in 3,669 sentences of WSJ
MAX_OPENED = 10  # brackets opened between two leaves; at most 6 in them

# What a beam has written last.
NOTHING, LEAF, OPENING, CLOSING = range(4)


class TreeState(typing.NamedTuple):
    """Counts what each beam has written of its tree and what is still to come.

    It knows the rules of well-formed trees, but not the ids of their symbols.
    Brackets open before their first child; `InOrderState` has the other rules.
    """

    leaves: typing.Any  # leaves still to come, int32 (batch, beam)
    room: typing.Any  # symbols that fit in before the end, int32 (batch, beam)
    depth: typing.Any  # open brackets, int32 (batch, beam)
    opened: typing.Any  # brackets opened since the last leaf (batch, beam)
    last: typing.Any  # NOTHING, LEAF, OPENING or CLOSING, int32 (batch, beam)
    labels: typing.Any  # of open brackets, int32 (batch, beam, MAX_DEPTH)
    source: typing.Any  # ids that leaves repeat, int32 (batch, beam, input_len)

    @classmethod
    def begin(cls, leaves, limits, source, beam_size):
        """Returns the state of beams that have not written anything.

        `leaves` and `limits`, the numbers of leaves and of ids, are int32
        `(batch,)`; `source`, `(batch, input_len)`, has the ids of the leaves.
        """
        leaves = ops.repeat(leaves[:, None], beam_size, axis=1)  # (batch, beam)
        zeros = ops.zeros_like(leaves)
        return cls(
            leaves=leaves,
            room=zeros + limits[:, None],
            depth=zeros,
            opened=zeros,
            last=zeros + NOTHING,
            labels=ops.repeat(
                zeros[:, :, None], MAX_DEPTH, axis=2
            ),  # (batch, beam, MAX_DEPTH)
            source=ops.repeat(
                source[:, None, :], beam_size, axis=1
            ),  # (batch, beam, input_len)
        )

    def write(self, opens, closes, leaves, label):
        """Returns the state after one more symbol.

        `opens`, `closes` and `leaves` are 1 for the beams that write this kind
        of symbol, else 0. `label` is its number. All are int32 `(batch, beam)`.
        """
        here = ops.equal(ops.arange(MAX_DEPTH), self.depth[:, :, None])
        here = here & ops.cast(opens, "bool")[:, :, None]
        return self._replace(
            leaves=self.leaves - leaves,
            room=self.room - 1,
            depth=self.depth + opens - closes,
            opened=(self.opened + opens) * (1 - leaves),
            last=LEAF * leaves + OPENING * opens + CLOSING * closes,
            labels=ops.where(here, label[:, :, None], self.labels),
        )

    def may_open(self):
        """Tells which beams may open a bracket, boolean `(batch, beam)`."""
        # The leaves, the open brackets, this one's end, the end of all.
        has_room = self.leaves + self.depth + 2 <= self.room
        is_shallow = (self.depth < MAX_DEPTH) & (self.opened < MAX_OPENED)
        return (self.leaves > 0) & is_shallow & has_room

    def may_close(self):
        """Tells which beams may close a bracket, boolean `(batch, beam)`."""
        holds_something = ops.not_equal(self.last, OPENING)
        is_inner_or_last = (self.depth > 1) | ~(self.leaves > 0)
        return (self.depth > 0) & holds_something & is_inner_or_last

    def may_write_leaf(self):
        """Tells which beams may write a leaf, boolean `(batch, beam)`."""
        return (self.leaves > 0) & (self.depth > 0)

    def may_end(self):
        """Tells which beams may end their tree, boolean `(batch, beam)`."""
        is_complete = ops.equal(self.depth, 0) & ops.equal(self.leaves, 0)
        return is_complete & ops.equal(self.last, CLOSING)

    def innermost_label(self):
        """Returns the innermost bracket's label or 0, `(batch, beam)`."""
        innermost = ops.equal(ops.arange(MAX_DEPTH), self.depth[:, :, None] - 1)
        return ops.sum(ops.where(innermost, self.labels, 0), axis=-1)

    def next_piece(self):
        """Returns the source ids that come next, `(batch, beam)`."""
        is_piece = ops.cast(self.source > END_ID, "int32")
        place = ops.sum(is_piece, axis=-1) - self.leaves
        places = ops.arange(ops.shape(self.source)[2])
        here = ops.equal(places, place[:, :, None])  # (batch, beam, input_len)
        return ops.sum(ops.where(here, self.source, 0), axis=-1)


class InOrderState(TreeState):
    """The state of beams whose brackets open after their first child.

    A word or a constituent that is complete may become the first child of
    another one. Outside all brackets that is the only way to go on, so room and
    an opening bracket must be left for it.
    """

    def may_open(self):
        is_complete = ops.equal(self.last, LEAF) | ops.equal(self.last, CLOSING)
        # The leaves, the open brackets, this one and its end.
        has_room = self.leaves + self.depth + 2 <= self.room
        is_shallow = (self.depth < MAX_DEPTH) & (self.opened < MAX_OPENED)
        return is_complete & is_shallow & has_room

    def may_close(self):
        goes_on = (self.opened < MAX_OPENED) & (self.leaves + 3 <= self.room)
        is_not_last = (self.depth > 1) | goes_on
        return (self.depth > 0) & (is_not_last | ops.equal(self.leaves, 0))

    def may_write_leaf(self):
        is_inside = (self.depth > 0) | ops.equal(self.last, NOTHING)
        return (self.leaves > 0) & is_inside
