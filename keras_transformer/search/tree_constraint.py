"""What may come next in a linearised tree, so that a search finds no other."""

import typing

import numpy as np
from keras import ops

from keras_transformer.search.beam_search import NEVER
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import UNKNOWN_ID
from keras_transformer.token_ids import WORD_START
from keras_transformer.trees.linearization import linearization_of_symbols
from keras_transformer.trees.linearization import symbol_kind
from keras_transformer.trees.linearization import symbol_label
from keras_transformer.trees.target_text import symbol_ids

PIECE = (
    UNKNOWN_ID  # in a search, whatever piece of a word comes next in the source
)
MAX_DEPTH = 64  # brackets open at once; 28 in 3,669 sentences of the WSJ
MAX_OPENED = 10  # brackets opened one right after another; 6 in the same


class TreeState(typing.NamedTuple):
    """How far each beam has come in writing its tree.

    Args:
        leaves: Number of leaves still to come, int32 `(batch, beam)`.
        room: Number of symbols that fit in before the end, likewise.
        depth: Number of open brackets, likewise.
        opened: Number of brackets that the last symbols opened, likewise.
        labels: Label numbers of the open brackets, outermost first, int32
            `(batch, beam, MAX_DEPTH)`.
        source: Source ids that the leaves repeat in the lexicalised form,
            int32 `(batch, beam, input_len)`.
    """

    leaves: typing.Any
    room: typing.Any
    depth: typing.Any
    opened: typing.Any
    labels: typing.Any
    source: typing.Any


def make_constraint(options, vocabulary):
    """Makes the constraint that a search with a vocabulary is to obey.

    Args:
        options: a `DecodeOptions`, for `constrained` and `min_length`.
        vocabulary: a `Subwords`, or None.

    Returns:
        a `TreeConstraint`; None where the options want none, or where the
        vocabulary is none of trees.

    Raises:
        ValueError: if trees shall have a least length.
    """
    if vocabulary is None or not options.constrained:
        return None
    constraint = TreeConstraint.of(vocabulary)
    if constraint and options.min_length:
        raise ValueError(
            "`min_length` must be 0 where the output is a tree, which is as "
            f"long as its words need. Received: min_length={options.min_length}"
            ". Leave it out, or use constrained=false."
        )
    return constraint


class TreeConstraint:
    """Allows a search whatever makes a well-formed tree over the input's words.

    The tree is written in the symbols of `linearization`. A bracket is opened
    where a word is left to fill it and there is room to close it again, at most
    `MAX_OPENED` in a row, which bounds unary loops as well. The innermost alone
    can be closed, if it holds something; the outermost once no word is left,
    and then the end is all that can come. So a beam never gets stuck.

    An illegal symbol has no probability: it is as if the model had never heard
    of it. Nor has any id from `num_ids` on, those of the words' pieces: the
    search goes on without them, which makes it faster.

    In a lexicalised tree a leaf is a piece of a word: that of the source
    which comes next. In the search it is `PIECE`, for `spelled` to replace. It
    is as likely as the likeliest piece of all: the model is asked whether a
    word comes, not which. (The sum of all has a share of the label smoothing
    that brackets lack, and gives fewer brackets.)

    Attributes:
        num_ids: the ids that a search is about are those below.
        num_logits: how many logits of the model it takes; None for all.

    Args:
        symbols: dictionary of id to symbol, such as `{3: "(S", 4: ")S"}`: both
            brackets of each label, and the leaves of all linearizations but
            the lexicalised one.
        starts_word: booleans `(vocab_size,)`, by id: whether it is the first of
            its word's ids.

    Example:

    >>> import numpy as np
    >>> symbols = {3: "(S", 4: ")S", 5: "XX"}
    >>> constraint = TreeConstraint(symbols, np.arange(9) == 8)
    >>> inputs = np.array([[8, 7, 8, 1]])  # two words
    >>> limits = constraint.raised_limits([4], inputs)
    >>> tree_state = constraint.begin(inputs, limits, beam_size=1)
    >>> for id_ in (0, 3, 5, 5, 4):
    ...     tree_state = constraint.advance(tree_state, np.array([[id_]]))
    ...     print(np.flatnonzero(constraint.legal(tree_state)))
    [3]
    [5]
    [5]
    [4]
    [1]
    """

    def __init__(self, symbols, starts_word):
        linearization = linearization_of_symbols(symbols.values())
        self._repeats_words = linearization == "lexicalised"
        self.num_ids = max(symbols) + 1
        self.num_logits = None if self._repeats_words else self.num_ids
        names = sorted({symbol_label(s) for s in symbols.values()})
        kinds, labels = [None] * self.num_ids, [-1] * self.num_ids
        for id_, symbol in symbols.items():
            kinds[id_] = symbol_kind(symbol)
            labels[id_] = names.index(symbol_label(symbol))
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
    def of(cls, vocabulary):
        """Makes the constraint of a vocabulary; None if it is none of trees."""
        symbols = symbol_ids(vocabulary)
        if not symbols:
            return None
        pieces = vocabulary.pieces(range(vocabulary.vocab_size))
        return cls(symbols, [piece.startswith(WORD_START) for piece in pieces])

    def num_leaves(self, inputs):
        """Counts the leaves of the trees of encoded sentences.

        A leaf is a word, and in a lexicalised tree each piece of a word.

        Args:
            inputs: source ids, int32 `(batch, input_len)`.

        Returns:
            int32 tensor of shape `(batch,)`.
        """
        if self._repeats_words:
            is_leaf = inputs > END_ID
        else:
            is_leaf = ops.take(self._starts_word, inputs)
        return ops.sum(ops.cast(is_leaf, "int32"), axis=-1)

    def raised_limits(self, limits, inputs):
        """Raises limits to what a tree over the words takes at least.

        Args:
            limits: greatest lengths with the end, int32 `(batch,)`.
            inputs: source ids, int32 `(batch, input_len)`.

        Returns:
            int32 tensor of shape `(batch,)`. No tree takes more than two ids
            more than its source.
        """
        leaves = self.num_leaves(inputs)
        least = ops.where(leaves > 0, leaves + 3, 1)  # two brackets, the end
        return ops.maximum(ops.cast(limits, "int32"), least)

    def begin(self, inputs, limits, beam_size):
        """Returns what is known of trees of which nothing is said yet.

        Args:
            inputs: source ids, int32 `(batch, input_len)`.
            limits: as `raised_limits` returns them.
            beam_size: number of beams.

        Returns:
            `TreeState`.
        """
        leaves = ops.repeat(self.num_leaves(inputs)[:, None], beam_size, axis=1)
        nothing = ops.zeros_like(leaves)
        source = inputs if self._repeats_words else inputs[:, :1]
        return TreeState(
            leaves,
            nothing + limits[:, None],
            nothing,
            nothing,
            ops.repeat(nothing[:, :, None], MAX_DEPTH, axis=2),
            ops.repeat(source[:, None, :], beam_size, axis=1),
        )

    def advance(self, tree_state, ids):
        """Notes what was said last.

        Args:
            tree_state: a `TreeState`.
            ids: int32 `(batch, beam)`; 0, and only 0, at the first position.

        Returns:
            `TreeState`.
        """
        opens, closes, leaves = (
            ops.cast(ops.take(self._is[kind], ids), "int32")
            for kind in ("open", "close", "leaf")
        )
        here = ops.equal(ops.arange(MAX_DEPTH), tree_state.depth[:, :, None])
        here = ops.logical_and(here, ops.cast(opens, "bool")[:, :, None])
        label = ops.take(self._labels, ids)[:, :, None]
        return TreeState(
            tree_state.leaves - leaves,
            tree_state.room - 1,
            tree_state.depth + opens - closes,
            (tree_state.opened + 1) * opens,
            ops.where(here, label, tree_state.labels),
            tree_state.source,
        )

    def legal(self, tree_state):
        """Tells which symbols may come next.

        Args:
            tree_state: a `TreeState`.

        Returns:
            boolean tensor of shape `(batch, beam, num_ids)`.
        """
        leaves, room, depth, opened, labels, _ = tree_state
        some_left = leaves > 0
        closes = _all(
            depth > 0,
            ops.equal(opened, 0),
            ops.logical_or(depth > 1, ops.logical_not(some_left)),
        )
        opens = _all(
            some_left,
            depth < MAX_DEPTH,
            opened < MAX_OPENED,
            leaves + depth + 2 <= room,
        )
        if self._repeats_words:  # within a word nothing but the rest can come
            is_whole = ops.take(self._starts_word, _next_piece(tree_state))
            is_whole = ops.logical_or(is_whole, ops.logical_not(some_left))
            opens, closes = _all(opens, is_whole), _all(closes, is_whole)
        is_leaf_legal = ops.logical_and(some_left, depth > 0)
        # A beam without probability may hold anything: it ends.
        ends = ops.logical_not(
            ops.logical_or(ops.logical_or(opens, is_leaf_legal), closes)
        )
        innermost = ops.equal(ops.arange(MAX_DEPTH), depth[:, :, None] - 1)
        label = ops.sum(ops.where(innermost, labels, 0), axis=-1)
        label = ops.where(closes, label, -2)[:, :, None]
        found = ops.equal(label, self._closed_label)
        for is_kind, is_legal in (
            (self._is["open"], opens),
            (self._is["leaf"], is_leaf_legal),
            (self._is["end"], ends),
        ):
            of_kind = ops.logical_and(is_legal[:, :, None], is_kind)
            found = ops.logical_or(found, of_kind)
        return found  # (batch, beam, num_ids)

    def legal_alone(self, logits, tree_state):
        """Takes all probability from what may not come next.

        Args:
            logits: tensor of shape `(batch, beam, num_logits)`.
            tree_state: a `TreeState`.

        Returns:
            float32 tensor of shape `(batch, beam, num_ids)`.
        """
        logits = ops.cast(logits, "float32")
        if self._repeats_words:
            of_pieces = logits[:, :, self.num_ids :]
            likeliest = ops.max(of_pieces, axis=-1, keepdims=True)
            logits = logits[:, :, : self.num_ids]
            logits = ops.where(self._is["leaf"], likeliest, logits)
        return ops.where(self.legal(tree_state), logits, NEVER)

    def spelled(self, ids, tree_state):
        """Puts the next piece of the source in the place of `PIECE`.

        Args:
            ids: int32 `(batch, beam)`.
            tree_state: the `TreeState` that does not know of them yet.

        Returns:
            int32 tensor of shape `(batch, beam)`.
        """
        if not self._repeats_words:
            return ids
        return ops.where(ops.equal(ids, PIECE), _next_piece(tree_state), ids)

    def spelled_out(self, sequences, inputs):
        """Puts the pieces of the source in the places of all `PIECE`, in order.

        Args:
            sequences: ids `(batch, num_hypotheses, length)`.
            inputs: source ids, int32 `(batch, input_len)`.

        Returns:
            int32 tensor of the shape of `sequences`.
        """
        if not self._repeats_words:
            return sequences
        is_piece = ops.equal(sequences, PIECE)
        places = ops.cumsum(ops.cast(is_piece, "int32"), axis=-1) - 1
        # What has no probability may hold more of them than the source.
        places = ops.clip(places, 0, ops.shape(inputs)[1] - 1)
        shape = ops.shape(sequences)
        places = ops.reshape(places, (shape[0], -1))
        pieces = ops.take_along_axis(inputs, places, axis=1)
        return ops.where(is_piece, ops.reshape(pieces, shape), sequences)


def _next_piece(tree_state):
    """The source ids that the next leaves repeat, `(batch, beam)`."""
    is_piece = ops.cast(tree_state.source > END_ID, "int32")
    before = ops.sum(is_piece, axis=-1) - tree_state.leaves
    here = ops.equal(
        ops.arange(ops.shape(tree_state.source)[2]), before[:, :, None]
    )
    return ops.sum(ops.where(here, tree_state.source, 0), axis=-1)


def _all(first, *others):
    for other in others:
        first = ops.logical_and(first, other)
    return first
