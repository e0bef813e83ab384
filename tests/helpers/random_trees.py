"""Vocabularies of symbols without text, and a model that writes at random."""

import functools
import itertools
import math
import typing

import numpy as np
from keras import ops

from keras_transformer.token_ids import END_ID as END

NODES = 997


class Pieces:
    """A vocabulary of trees with one leaf symbol, several or none.

    Args:
        labels: Labels of the brackets, a str of characters.
        leaves: Symbols of the leaves. Several make the trees tagged, none makes
            them lexicalised.
    """

    forms = ("({}", "){}")  # of both brackets of a label

    def __init__(self, labels="AB", leaves=("XX",)):
        tagged = len(leaves) > 1
        forms = ("<{}>", "</{}>") if tagged else self.forms
        symbols = [form.format(label) for label in labels for form in forms]
        symbols += [f"<{leaf}/>" if tagged else leaf for leaf in leaves]
        self.symbols = dict(enumerate(symbols, 3))
        self.all = ["<pad>", "</s>", "<unk>", *("▁" + s for s in symbols)]
        self.all += ["<0x00>", "<0xFF>", "ing", "▁dog", "▁"]
        self.vocab_size = len(self.all)

    def pieces(self, ids):
        return [self.all[i] for i in ids]

    def all_pieces(self):
        return self.all

    def kind(self, id_):
        symbol = self.symbols.get(id_, "")
        if symbol == "XX" or symbol.endswith("/>"):
            return "leaf"
        if symbol.startswith((")", "</")) or symbol.endswith(")"):
            return "close"
        return "open" if symbol else None

    @property
    def starts_word(self):
        return [piece.startswith("▁") for piece in self.all]

    def label(self, id_):
        return self.symbols[id_].strip("()<>/")

    def sources(self, *nums_words, salt=0):
        """Returns sources of so many words of one to three pieces each.

        Args:
            *nums_words: Number of words of each source.
            salt: Integer; another one gives other words. Defaults to 0.

        Returns:
            Int32 array `(batch, input_len)`, padded with 0.
        """
        size = self.vocab_size
        words = [
            [size - 1 - i % 2] + [size - 3] * ((i + salt) % 3)
            for i in range(max(nums_words))
        ]
        rows = [sum(words[:n], []) + [END] for n in nums_words]
        padded = np.zeros((len(rows), max(map(len, rows))), "int32")
        for row, ids in zip(padded, rows):
            row[: len(ids)] = ids
        return padded

    def words_of(self, source):
        """Splits the ids of a source into words, a list of lists."""
        ids = [id_ for id_ in source.tolist() if id_ > END]
        starts = [i for i, id_ in enumerate(ids) if self.starts_word[id_]]
        return [ids[a:b] for a, b in zip(starts, [*starts[1:], None])]

    def with_words(self, ids, words):
        """Puts the ids of the words in the places of the leaves."""
        words = iter(words)
        return tuple(
            id_
            for i in ids
            for id_ in (next(words) if self.kind(i) == "leaf" else [i])
        )

    def is_tree(self, ids, num_words):
        """Returns whether ids are one tree over `num_words`, and the end."""
        opened, leaves, before = [], 0, None
        *ids, last = ids
        for place, id_ in enumerate(ids):
            kind = self.kind(id_)
            if kind is None or (place and not opened):
                return False
            if kind == "open":
                opened.append(self.label(id_))
            elif not opened:
                return False
            elif kind == "leaf":
                leaves += 1
            elif before == "open" or opened.pop() != self.label(id_):
                return False
            before = kind
        return last == END and not opened and leaves == num_words and bool(ids)

    def trees(self, num_words, limit, max_depth=99, max_opened=99):
        """Returns all trees with the end that have at most `limit` ids."""
        by_kind = {
            kind: [i for i in self.symbols if self.kind(i) == kind]
            for kind in ("open", "close", "leaf")
        }

        @functools.cache
        def constituents(words, room, depth):
            if not depth or room < words + 2:
                return []
            return [
                (open_id, *children, close_id)
                for open_id, close_id in zip(by_kind["open"], by_kind["close"])
                for children in sequences(words, room - 2, depth - 1)
            ]

        @functools.cache
        def sequences(words, room, depth):
            """Returns all sequences of children over a number of words."""
            children = [] if words else [()]
            for first_words in range(1, words + 1):
                first = constituents(first_words, room, depth)
                if first_words == 1 and room:
                    first = [*first, *((leaf,) for leaf in by_kind["leaf"])]
                children += [
                    one + rest
                    for one in first
                    for rest in sequences(
                        words - first_words, room - len(one), depth
                    )
                ]
            return children

        def most_opened(ids):
            groups = itertools.groupby(ids, lambda i: self.kind(i) == "open")
            return max(len(list(group)) for key, group in groups if key)

        return [
            (*ids, END)
            for ids in constituents(num_words, limit - 1, max_depth)
            if most_opened(ids) <= max_opened
        ]


class NodeCache(typing.NamedTuple):
    """The node of a `RandomModel` that each beam has reached."""

    node: typing.Any  # (batch, beam)

    def reorder(self, beams):
        node = ops.take_along_axis(self.node, beams, axis=1)
        return self._replace(node=node)


class RandomModel:
    """A model whose logits depend on the sentence and on all ids so far."""

    compute_dtype = "float32"

    def __init__(self, vocabulary, seed=0, dtype="float32", bias=()):
        self.variables = []
        rng = np.random.default_rng(seed)
        logits = rng.normal(0.0, 2.0, (NODES, vocabulary.vocab_size))
        logits[:, [0, 2]] += 3.0  # makes illegal ids likelier
        for id_, value in dict(bias).items():
            logits[:, id_] += value
        self.table = np.array(ops.cast(logits.astype("float32"), dtype))
        self.dtype = dtype

    def encode(self, inputs):
        return inputs, inputs != 0

    def init_cache(self, inputs, mask, beam_size, fixed_length=None):
        places = ops.arange(1, ops.shape(inputs)[1] + 1)
        node = ops.sum(ops.cast(inputs, "int32") * places, axis=1) % NODES
        node = ops.repeat(node[:, None], beam_size, axis=1)
        return NodeCache(node)

    def decode_step(self, ids, position, cache, num_ids=None):
        node = (cache.node * 31 + ids + 1) % NODES
        table = np.float32(self.table)[:, :num_ids]
        logits = ops.take(table, node, axis=0)
        return ops.cast(logits, self.dtype), cache._replace(node=node)

    def log_prob(self, source, ids, legal):
        """Computes the log-probability of ids among the legal ones.

        Args:
            source: Source ids `(input_len,)`.
            ids: Tuple of ids with the end id.
            legal: Dictionary of prefix to the set of ids that may follow.
        """
        places = np.arange(1, len(source) + 1)
        node = int(np.sum(source * places)) % NODES
        total, before = 0.0, 0
        for place, id_ in enumerate(ids):
            node = (node * 31 + before + 1) % NODES
            shares = {
                i: math.exp(float(self.table[node, i]))
                for i in legal[ids[:place]]
            }
            total += math.log(shares[id_] / sum(shares.values()))
            before = id_
        return total


def legal_after(trees):
    """Returns the ids that can follow each prefix of any of the trees."""
    legal = {}
    for ids in trees:
        for place, id_ in enumerate(ids):
            legal.setdefault(ids[:place], set()).add(id_)
    return legal


def assert_legal_is_what_comes_next(constraint, inputs, limit, trees):
    """Asserts that the legal ids are those that lead to one of the trees."""
    expected = legal_after(trees)
    tree_state = constraint.begin(inputs, np.array([limit]), len(trees))
    written = np.zeros((len(trees), 1 + max(map(len, trees))), "int32")
    for row, ids in zip(written, trees):
        row[1 : len(ids) + 1] = ids
    for place in range(written.shape[1] - 1):
        tree_state = constraint.advance(tree_state, written[None, :, place])
        legal = ops.convert_to_numpy(constraint.find_legal(tree_state))[0]
        for ids, allowed in zip(trees, legal):
            if place < len(ids):
                assert set(np.flatnonzero(allowed)) == expected[ids[:place]]


def as_tuples(sequences, scores):
    """Returns hypotheses as tuples up to their ends, and the scores.

    Hypotheses that score minus infinity are left out.
    """
    sequences, scores = map(ops.convert_to_numpy, (sequences, scores))
    assert not np.isnan(scores).any()
    hypotheses = [
        [
            tuple(ids[: list(ids).index(END) + 1].tolist())
            for ids, score in zip(*each)
            if score > -np.inf
        ]
        for each in zip(sequences, scores)
    ]
    return hypotheses, scores


def assert_is_all_best_first(hypotheses, scores, expected):
    """Asserts that a sentence has exactly these hypotheses, best first.

    Args:
        hypotheses: List of tuples of ids.
        scores: Scores of the hypotheses, then of others.
        expected: Dictionary of tuple of ids to score.
    """
    assert len(hypotheses) == len(set(hypotheses)) == len(expected)
    for best_first in (
        sorted(expected.values(), reverse=True),
        [expected[ids] for ids in hypotheses],
    ):
        np.testing.assert_allclose(
            scores[: len(hypotheses)], best_first, rtol=1e-4
        )
