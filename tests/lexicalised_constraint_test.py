"""Tests of the constraint on trees that have the words in them."""

import numpy as np
import pytest
from keras import ops
from random_trees import Pieces
from random_trees import legal_after

from keras_transformer import tree_constraint
from keras_transformer.tree_constraint import TreeConstraint

ONE_LEAF = Pieces()
NO_LEAF = Pieces(leaves=())


def with_pieces(ids, words):
    """Ids of a tree with those of a word in place of each leaf of ONE_LEAF."""
    words = iter(words)
    (leaf,) = (i for i in ONE_LEAF.symbols if ONE_LEAF.kind(i) == "leaf")
    return tuple(
        id_ for i in ids for id_ in (next(words) if i == leaf else [i])
    )


class LegalTest:
    def test_words_are_repeated_piece_by_piece(self, monkeypatch):
        monkeypatch.setattr(tree_constraint, "MAX_DEPTH", 3)
        monkeypatch.setattr(tree_constraint, "MAX_OPENED", 2)
        inputs = NO_LEAF.sources(3)
        *source, _ = inputs[0].tolist()
        starts = [i for i, id_ in enumerate(source) if NO_LEAF.starts_word(id_)]
        words = [source[a:b] for a, b in zip(starts, [*starts[1:], None])]
        assert list(map(len, words)) == [1, 2, 3]
        trees = [
            with_pieces(ids, words)
            for ids in ONE_LEAF.trees(3, 99, max_depth=3, max_opened=2)
        ]
        expected = legal_after(trees)
        constraint = TreeConstraint.of(NO_LEAF)
        begun = constraint.begin(inputs, np.array([99]), len(trees))
        said = np.zeros((len(trees), 1 + max(map(len, trees))), "int32")
        for row, ids in zip(said, trees):
            row[1 : len(ids) + 1] = ids
        for place in range(said.shape[1] - 1):
            begun = constraint.advance(begun, said[None, :, place])
            legal = ops.convert_to_numpy(constraint.legal(begun))[0]
            for ids, found in zip(trees, legal):
                if place < len(ids):
                    assert set(np.flatnonzero(found)) == expected[ids[:place]]

    def test_a_word_is_as_likely_as_the_likeliest(self):
        constraint = TreeConstraint.of(NO_LEAF)
        inputs = NO_LEAF.sources(1)
        begun = constraint.begin(inputs, np.array([9]), 1)
        for id_ in (0, 3):
            begun = constraint.advance(begun, np.array([[id_]]))
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(1, 1, NO_LEAF.vocab_size))
        found = constraint.legal_alone(logits.astype("float32"), begun)
        found = np.exp(ops.convert_to_numpy(found)[0, 0])
        is_word = [NO_LEAF.kind(i) is None for i in range(len(found))]
        is_word[:3] = False, False, False
        assert found[inputs[0, 0]] == pytest.approx(
            np.exp(logits[0, 0, is_word]).max(), rel=1e-5
        )
        np.testing.assert_allclose(
            found[[3, 5]], np.exp(logits[0, 0, [3, 5]]), 1e-5
        )
        assert (found > 0).sum() == 3
