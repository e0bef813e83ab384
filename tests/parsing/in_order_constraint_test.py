"""The constraint on trees whose brackets open after the first child."""

import numpy as np
import pytest
from in_order_trees import InOrderPieces
from random_trees import END
from random_trees import RandomModel
from random_trees import as_tuples
from random_trees import assert_legal_is_what_comes_next

from keras_transformer.decoding.engines.compiled_search import compile_search
from keras_transformer.parsing import tree_constraint as state_module
from keras_transformer.parsing.tree_constraint import PIECE
from keras_transformer.parsing.tree_constraint import TreeConstraint
from keras_transformer.parsing.tree_constraint import make_constraint
from keras_transformer.search.options import DecodeOptions

WITH_LEAF = InOrderPieces()
NO_LEAF = InOrderPieces(leaves=())
LEAF = max(WITH_LEAF.symbols)


def bare(ids, words):
    """Puts a leaf in the place of each word: undoes `Pieces.with_words`."""
    starts = {sum(map(len, words[:n])) for n in range(len(words))}
    num_pieces, kept = 0, []
    for id_ in ids:
        if id_ in NO_LEAF.symbols or id_ == END:
            kept.append(id_)
            continue
        if num_pieces in starts:
            kept.append(LEAF)
        num_pieces += 1
    return tuple(kept)


class TreesTest:
    def test_every_tree_is_enumerated_once(self):
        trees = WITH_LEAF.trees(3, 8)
        assert len(trees) == len(set(trees)) > 20
        assert all(WITH_LEAF.is_tree(ids, 3) for ids in trees)


class LegalTest:
    @pytest.mark.parametrize(
        "num_words,limit,depth,opened",
        [
            (1, 9, 64, 10),
            (2, 8, 64, 10),
            (3, 9, 64, 10),
            (3, 6, 64, 10),
            (2, 11, 2, 10),
            (3, 11, 3, 2),
            (2, 11, 64, 1),
        ],
    )
    def test_legal_is_exactly_what_leads_to_a_tree(
        self, num_words, limit, depth, opened, monkeypatch
    ):
        monkeypatch.setattr(state_module, "MAX_DEPTH", depth)
        monkeypatch.setattr(state_module, "MAX_OPENED", opened)
        inputs = NO_LEAF.sources(num_words)
        pieces = [len(word) * [PIECE] for word in NO_LEAF.words_of(inputs[0])]
        trees = [
            WITH_LEAF.with_words(ids, pieces)
            for ids in WITH_LEAF.trees(num_words, limit, depth, opened)
        ]
        assert trees
        more = len(sum(pieces, [])) - num_words
        constraint = TreeConstraint.from_vocabulary(NO_LEAF)
        assert_legal_is_what_comes_next(constraint, inputs, limit + more, trees)


class SearchTest:
    @pytest.mark.parametrize(
        "more",
        [{}, pytest.param({"temperature": 1.5}, marks=pytest.mark.slow)],
        ids=str,
    )
    def test_all_hypotheses_are_trees_over_the_words(self, more):
        numbers = [1, 9, 2, 30, 5]
        inputs = NO_LEAF.sources(*numbers)
        limits = np.array([9, 60, 9, 300, 40], "int32")
        options = DecodeOptions(**more).replace(num_hypotheses=4)
        find = compile_search(
            RandomModel(NO_LEAF),
            options,
            constraint=make_constraint(options, NO_LEAF),
        )
        found, _ = as_tuples(
            *find(inputs, limits, seeds=np.arange(5, dtype="int32"))
        )
        for number, source, hypotheses in zip(numbers, inputs, found):
            words = NO_LEAF.words_of(source)
            assert hypotheses
            for ids in hypotheses:
                tree = bare(ids, words)
                assert WITH_LEAF.is_tree(tree, number)
                assert WITH_LEAF.with_words(tree, words) == ids

    @pytest.mark.slow
    def test_unary_loops_are_bounded(self):
        opening, closing = 3, 4
        model = RandomModel(NO_LEAF, bias={opening: 30.0, closing: 20.0})
        find = compile_search(
            model,
            DecodeOptions(),
            constraint=make_constraint(DecodeOptions(), NO_LEAF),
        )
        inputs = NO_LEAF.sources(1)
        words = NO_LEAF.words_of(inputs[0])
        for room, most in ((1, 1), (200, state_module.MAX_OPENED)):
            ((ids,),), _ = as_tuples(*find(inputs, np.array([room], "int32")))
            assert WITH_LEAF.is_tree(bare(ids, words), 1)
            assert ids.count(opening) + ids.count(opening + 2) == most
