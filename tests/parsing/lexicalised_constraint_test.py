"""The constraint on lexicalised trees, which contain the words."""

import numpy as np
import pytest
from in_order_trees import InOrderPieces
from keras import ops
from random_trees import END
from random_trees import Pieces
from random_trees import RandomModel
from random_trees import as_tuples
from random_trees import assert_is_all_best_first
from random_trees import assert_legal_is_what_comes_next
from random_trees import legal_after

from keras_transformer.decoding.engines.compiled_search import compile_search
from keras_transformer.parsing import tree_constraint as state_module
from keras_transformer.parsing.tree_constraint import PIECE
from keras_transformer.parsing.tree_constraint import TreeConstraint
from keras_transformer.parsing.tree_constraint import make_constraint
from keras_transformer.search.options import DecodeOptions

ONE_LEAF = Pieces()
NO_LEAF = Pieces(leaves=())
FIRST_PIECE = max(NO_LEAF.symbols) + 1
EACH_ORDER = pytest.mark.parametrize(
    "one_leaf, no_leaf",
    [(ONE_LEAF, NO_LEAF), (InOrderPieces(), InOrderPieces(leaves=()))],
    ids=["top_down", "in_order"],
)


class LegalTest:
    def test_words_are_repeated_piece_by_piece(self, monkeypatch):
        monkeypatch.setattr(state_module, "MAX_DEPTH", 3)
        monkeypatch.setattr(state_module, "MAX_OPENED", 2)
        inputs = NO_LEAF.sources(3)
        pieces = [len(word) * [PIECE] for word in NO_LEAF.words_of(inputs[0])]
        assert list(map(len, pieces)) == [1, 2, 3]
        trees = [
            ONE_LEAF.with_words(ids, pieces)
            for ids in ONE_LEAF.trees(3, 99, max_depth=3, max_opened=2)
        ]
        constraint = TreeConstraint.from_vocabulary(NO_LEAF)
        assert_legal_is_what_comes_next(constraint, inputs, 99, trees)

    def test_a_word_is_as_likely_as_the_likeliest_piece(self):
        constraint = TreeConstraint.from_vocabulary(NO_LEAF)
        tree_state = constraint.begin(NO_LEAF.sources(1), np.array([9]), 1)
        for id_ in (0, 3):
            tree_state = constraint.advance(tree_state, np.array([[id_]]))
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(1, 1, NO_LEAF.vocab_size)).astype("float32")
        legal_logits = ops.convert_to_numpy(
            constraint.exclude_illegal(logits, tree_state)
        )
        expected = np.full((1, 1, FIRST_PIECE), -np.inf, "float32")
        expected[..., [3, 5]] = logits[..., [3, 5]]  # the opening brackets
        expected[..., PIECE] = logits[..., FIRST_PIECE:].max()
        np.testing.assert_array_equal(legal_logits, expected)


class SearchTest:
    @EACH_ORDER
    def test_a_wide_beam_equals_enumeration(self, one_leaf, no_leaf):
        inputs = no_leaf.sources(3)
        words = no_leaf.words_of(inputs[0])
        trees = [
            one_leaf.with_words(ids, words) for ids in one_leaf.trees(3, 9)
        ]
        legal = legal_after(trees)
        wide = len(trees) + 7
        options = DecodeOptions(alpha=0.3).replace(num_hypotheses=wide)
        model = RandomModel(no_leaf, seed=1)
        find = compile_search(
            model, options, constraint=make_constraint(options, no_leaf)
        )
        (hypotheses,), (scores,) = as_tuples(
            *find(inputs, np.array([12], "int32"))
        )
        likeliest = model.table[:, FIRST_PIECE:].max(axis=1, keepdims=True)
        model.table[:, FIRST_PIECE:] = likeliest
        expected = {
            ids: model.log_prob(inputs[0], ids, legal)
            / ((5 + len(ids)) / 6) ** 0.3
            for ids in trees
        }
        assert len(hypotheses) > 10
        assert_is_all_best_first(hypotheses, scores, expected)

    @pytest.mark.parametrize(
        "more",
        [{}, pytest.param({"temperature": 1.5}, marks=pytest.mark.slow)],
        ids=str,
    )
    def test_hypotheses_hold_the_words_in_order(self, more):
        numbers = [1, 9, 0, 2, 30, 5]
        inputs = NO_LEAF.sources(*numbers)
        limits = np.array([1, 60, 9, 4, 300, 40], "int32")
        options = DecodeOptions(**more).replace(num_hypotheses=4)
        find = compile_search(
            RandomModel(NO_LEAF),
            options,
            constraint=make_constraint(options, NO_LEAF),
        )
        sequences, scores = find(
            inputs, limits, seeds=np.arange(6, dtype="int32")
        )
        assert (scores[:, 0] > -np.inf).all()
        for source, hypotheses, of_each in zip(inputs, sequences, scores):
            expected = [id_ for id_ in source.tolist() if id_ > END]
            for ids, score in zip(hypotheses.tolist(), of_each):
                if expected and score > -np.inf:
                    steps = [NO_LEAF.kind(id_) for id_ in ids]
                    assert steps.count("open") == steps.count("close") > 0
                    pieces = [i for i in ids if i >= FIRST_PIECE or i == PIECE]
                    assert pieces == expected
                    assert ids[ids.index(END) + 1 :] == [0] * ids.count(0)
