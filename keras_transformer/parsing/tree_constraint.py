"""The constraint that limits a search to well-formed trees."""

import typing

import numpy as np
from keras import ops

from keras_transformer.errors import UserError
from keras_transformer.parsing.linearization import WITH_WORDS
from keras_transformer.parsing.linearization import find_symbol_ids
from keras_transformer.parsing.linearization import identify_linearization
from keras_transformer.parsing.linearization import read_symbol
from keras_transformer.search.beams import NEVER
from keras_transformer.search.beams import gather_beams
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import UNKNOWN_ID

MAX_DEPTH = 64  # brackets open at once; at most 28 in 3,669 sentences of WSJ
MAX_OPENED = 10  # brackets opened between two leaves; at most 6 in them

# The kinds of symbols that a beam may have written last.
NOTHING, LEAF, OPENING, CLOSING = range(4)
PIECE = UNKNOWN_ID  # stands for the source's next piece during a search


class TreeState(typing.NamedTuple):
    """Tracks how much of its tree each beam has written and still needs.

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

    def reorder(self, beams):
        return gather_beams(self, beams)

    def write(self, opens, closes, leaves, label):
        """Returns the state after one more symbol.

        `opens`, `closes` and `leaves` are 1 for the beams that write this kind
        of symbol, else 0. `label` is its number. All are int32 `(batch, beam)`.
        """
        here = ops.equal(
            ops.arange(MAX_DEPTH, dtype="int32"), self.depth[:, :, None]
        )
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
        # Closing the outermost bracket completes the tree, so it has to wait
        # until no leaf is left. An inner one may close earlier.
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
        innermost = ops.equal(
            ops.arange(MAX_DEPTH, dtype="int32"), self.depth[:, :, None] - 1
        )
        return ops.sum(ops.where(innermost, self.labels, 0), axis=-1)

    def next_piece(self):
        """Returns the source ids that come next, `(batch, beam)`."""
        # Leaves are written in the order of the source. So the number of those
        # still to come tells which piece is next, and no place is stored.
        is_piece = ops.cast(self.source > END_ID, "int32")
        place = ops.sum(is_piece, axis=-1) - self.leaves
        places = ops.arange(ops.shape(self.source)[2], dtype="int32")
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
        # After the outermost bracket only another one can open around it. That
        # takes room for its opening, its end and the end of all.
        goes_on = (self.opened < MAX_OPENED) & (self.leaves + 3 <= self.room)
        is_not_last = (self.depth > 1) | goes_on
        return (self.depth > 0) & (is_not_last | ops.equal(self.leaves, 0))

    def may_write_leaf(self):
        is_inside = (self.depth > 0) | ops.equal(self.last, NOTHING)
        return (self.leaves > 0) & is_inside


def make_constraint(options, vocabulary, source_vocabulary=None):
    """Returns the `TreeConstraint` that the options ask for, or None.

    The vocabularies are the `Subwords` of targets and sources; without a
    `source_vocabulary` both are one. A vocabulary without symbols of trees has
    no constraint. Raises a `UserError` for options that trees cannot obey.
    """
    if not options.constrained:
        return None
    constraint = TreeConstraint.from_vocabulary(vocabulary, source_vocabulary)
    for name in ("min_length", "no_repeat_ngram_size"):
        if constraint and (value := getattr(options, name)):
            raise UserError(
                f"`{name}` must be 0 where the output is a tree, because the "
                "words determine the length of a tree, and symbols repeat. "
                f"Received: {name}={value}. Leave it out, or set "
                "constrained=false."
            )
    return constraint


class TreeConstraint:
    """Allows only those symbols that lead to a well-formed tree over the words.

    A beam may open a bracket if a word is left to fill it and there is room to
    close it again. At most `MAX_OPENED` brackets open between two words, which
    also bounds unary loops. A beam may close only the innermost bracket, and
    only if it holds something. The outermost bracket closes when no word is
    left; then only the end can follow. So every beam can always reach its end.

    In-order brackets open after a first child, so they need no further word,
    and a constituent outside all brackets can become a first child.

    The probability of an illegal symbol is zero. The search chooses from the
    first `num_ids` ids, since pieces of words are never legal, and needs the
    first `num_logits` logits, or all if None.

    In a tree with its words each leaf is the next piece of the source's words.
    During the search `PIECE` stands for all of them, and `insert_next_piece`
    replaces it by the piece. `PIECE` is as likely as the likeliest piece:
    the model decides whether a word comes next, not which word. The sum over
    all pieces would include a share of the label smoothing that brackets lack,
    and would give fewer brackets.

    The `symbols` are a dictionary by id, with both brackets of each label and
    the leaves of trees without words. `starts_word`, `(source_vocab_size,)`, is
    True for each id that begins a word.

    >>> import numpy as np
    >>> symbols = {3: "(S", 4: ")S", 5: "XX"}
    >>> constraint = TreeConstraint(symbols, np.arange(9) == 8)
    >>> inputs = np.array([[8, 7, 8, 1]])  # two words
    >>> limits = constraint.raise_limits([4], inputs)
    >>> tree_state = constraint.begin(inputs, limits, beam_size=1)
    >>> for id_ in (0, 3, 5, 5, 4):
    ...     tree_state = constraint.advance(tree_state, np.array([[id_]]))
    ...     print(np.flatnonzero(constraint.find_legal(tree_state)))
    [3]
    [5]
    [5]
    [4]
    [1]
    """

    def __init__(self, symbols, starts_word):
        linearization = identify_linearization(symbols.values())
        self._repeats_words = linearization in WITH_WORDS
        self._state = InOrderState if linearization == "in_order" else TreeState
        self.num_ids = max(symbols) + 1
        # The likeliest piece of a word is found among all logits.
        self.num_logits = None if self._repeats_words else self.num_ids
        read = {id_: read_symbol(symbol) for id_, symbol in symbols.items()}
        names = sorted({label for _, label, _ in read.values()})
        kinds, labels = [None] * self.num_ids, [-1] * self.num_ids
        for id_, (kind, label, _) in read.items():
            kinds[id_] = kind
            labels[id_] = names.index(label)
        kinds[END_ID] = "end"
        if self._repeats_words:
            kinds[PIECE] = "leaf"
        self._is = {
            name: np.array([kind == name for kind in kinds])
            for name in ("open", "close", "leaf", "end")
        }
        self._labels = np.array(labels, "int32")
        self._closed_label = np.where(self._is["close"], self._labels, -1)
        self._starts_word = np.array(starts_word)

    @classmethod
    def from_vocabulary(cls, vocabulary, source_vocabulary=None):
        """Returns the constraint of a vocabulary, None if it has no trees."""
        symbols = find_symbol_ids(vocabulary)
        if not symbols:
            return None
        return cls(symbols, (source_vocabulary or vocabulary).starts_word)

    def count_leaves(self, inputs):
        """Counts the words of sentences, or the pieces of words, `(batch,)`."""
        if self._repeats_words:
            is_leaf = inputs > END_ID
        else:
            is_leaf = ops.take(self._starts_word, inputs)  # (batch, input_len)
        return ops.sum(ops.cast(is_leaf, "int32"), axis=-1)

    def raise_limits(self, limits, inputs):
        """Raises limits, `(batch,)`, to the minimum length of a tree.

        The limits include the end id. They rise to at most two ids more than
        `inputs`, int32 `(batch, input_len)`, have.
        """
        leaves = self.count_leaves(inputs)
        minimum = ops.where(leaves > 0, leaves + 3, 1)  # two brackets, the end
        return ops.maximum(ops.cast(limits, "int32"), minimum)

    def begin(self, inputs, limits, beam_size):
        """Returns the `TreeState` of beams that have not written anything."""
        leaves = self.count_leaves(inputs)
        leaves = ops.repeat(leaves[:, None], beam_size, axis=1)  # (batch, beam)
        zeros = ops.zeros_like(leaves)
        # Only trees with their words repeat the source.
        source = inputs if self._repeats_words else inputs[:, :1]
        return self._state(
            leaves=leaves,
            room=zeros + limits[:, None],
            depth=zeros,
            opened=zeros,
            last=zeros + NOTHING,
            # (batch, beam, MAX_DEPTH), and (batch, beam, input_len)
            labels=ops.repeat(zeros[:, :, None], MAX_DEPTH, axis=2),
            source=ops.repeat(source[:, None, :], beam_size, axis=1),
        )

    def advance(self, tree_state, ids):
        """Returns the `TreeState` after the beams have written these ids.

        The ids, `(batch, beam)`, are 0 at the first position and nowhere else.
        """
        opens, closes, leaves = (
            ops.cast(ops.take(self._is[kind], ids), "int32")  # (batch, beam)
            for kind in ("open", "close", "leaf")
        )
        label = ops.take(self._labels, ids)  # (batch, beam)
        return tree_state.write(opens, closes, leaves, label)

    def find_legal(self, tree_state):
        """Tells which symbols may come next, `(batch, beam, num_ids)`."""
        # The state is a counter automaton: it knows how many brackets are open,
        # how many leaves are left and how much room there is. These counts
        # decide which kinds of symbols, and so which symbols, are allowed.
        opens, closes = tree_state.may_open(), tree_state.may_close()
        writes_leaf = tree_state.may_write_leaf()
        if self._repeats_words:
            # Within a word only the rest of the word may come next.
            is_whole = ops.take(
                self._starts_word, tree_state.next_piece()
            )  # (batch, beam)
            is_whole = is_whole | (tree_state.leaves <= 0)
            opens, closes = opens & is_whole, closes & is_whole
            writes_leaf = writes_leaf | ~is_whole
        # A beam without probability may be malformed. It still has to end.
        is_stuck = ~(opens | writes_leaf | closes)
        ends = tree_state.may_end() | is_stuck
        # No symbol has the label -2, so no bracket may close there.
        label = ops.where(closes, tree_state.innermost_label(), -2)
        legal = ops.equal(label[:, :, None], self._closed_label)
        kinds = {"open": opens, "leaf": writes_leaf, "end": ends}
        for kind, is_legal in kinds.items():
            legal = legal | (is_legal[:, :, None] & self._is[kind])
        return legal

    def exclude_illegal(self, logits, tree_state):
        """Sets the logits of illegal symbols to minus infinity.

        From `(batch, beam, num_logits)` to float32 `(batch, beam, num_ids)`.
        """
        logits = ops.cast(logits, "float32")
        # Only brackets, the end and `PIECE` compete. Pieces of words have
        # the ids after them, and the likeliest piece gives `PIECE` its logit.
        if self._repeats_words:
            of_pieces = logits[:, :, self.num_ids :]
            likeliest = ops.max(of_pieces, axis=-1, keepdims=True)
            logits = logits[:, :, : self.num_ids]
            logits = ops.where(self._is["leaf"], likeliest, logits)
        return ops.where(self.find_legal(tree_state), logits, NEVER)

    def insert_next_piece(self, ids, tree_state):
        """Replaces `PIECE` in ids `(batch, beam)` by the source's next piece.

        The `tree_state` is that before these ids.
        """
        if not self._repeats_words:
            return ids
        return ops.where(ops.equal(ids, PIECE), tree_state.next_piece(), ids)

    def insert_pieces(self, sequences, inputs):
        """Replaces every `PIECE` by the pieces of the source, in order.

        `sequences` are int32 `(batch, num_hypotheses, length)`, and `inputs`
        are `(batch, input_len)`.
        """
        if not self._repeats_words:
            return sequences
        is_piece = ops.equal(sequences, PIECE)
        places = ops.cumsum(ops.cast(is_piece, "int32"), axis=-1) - 1
        # A sequence without probability may have more pieces than the source.
        places = ops.clip(places, 0, ops.shape(inputs)[1] - 1)
        # (batch, num_hypotheses, length)
        pieces = ops.take_along_axis(inputs[:, None], places, axis=2)
        return ops.where(is_piece, pieces, sequences)
