"""Constrained searches against an enumeration of all trees."""

import functools

import keras
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

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.engines.compiled_search import compile_search
from keras_transformer.parsing import tree_constraint as state_module
from keras_transformer.parsing.linearization import LINEARIZATIONS
from keras_transformer.parsing.linearization import WITH_WORDS
from keras_transformer.parsing.linearization import collect_symbols
from keras_transformer.parsing.linearization import find_linearization
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree_constraint import TreeConstraint
from keras_transformer.parsing.tree_constraint import make_constraint
from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.options import DecodeOptions

TENSORFLOW = keras.backend.backend() == "tensorflow"


ONE_LEAF = Pieces()
TWO_LEAVES = Pieces("A", ("n", "v"))
NO_LEAF = Pieces(leaves=())
IN_ORDER = InOrderPieces(leaves=())


def search(model, vocabulary, inputs, limits, options, **more):
    """Returns each sentence's hypotheses as tuples, and their scores."""
    find = compile_search(
        model, options, constraint=make_constraint(options, vocabulary)
    )
    return as_tuples(*find(inputs, np.array(limits, "int32"), **more))


@functools.cache
def n_best(vocabulary, beam_size):
    """Returns a model and its search, compiled once for several tests."""
    options = DecodeOptions().replace(
        beam_size=beam_size, num_hypotheses=beam_size
    )
    model = RandomModel(vocabulary, seed=beam_size)
    find = compile_search(
        model, options, constraint=make_constraint(options, vocabulary)
    )
    return model, lambda inputs, limits: as_tuples(
        *find(inputs, np.array(limits, "int32"))
    )


class LegalTest:
    @pytest.mark.parametrize(
        "vocabulary,num_words,limit,depth,opened",
        [
            (ONE_LEAF, 1, 9, 64, 10),
            (ONE_LEAF, 3, 10, 64, 10),
            (TWO_LEAVES, 4, 9, 64, 10),
            (ONE_LEAF, 4, 7, 64, 10),
            (ONE_LEAF, 2, 12, 2, 10),
            (ONE_LEAF, 3, 12, 3, 2),
            (TWO_LEAVES, 2, 12, 64, 2),
        ],
    )
    def test_legal_is_exactly_what_leads_to_a_tree(
        self, vocabulary, num_words, limit, depth, opened, monkeypatch
    ):
        monkeypatch.setattr(state_module, "MAX_DEPTH", depth)
        monkeypatch.setattr(state_module, "MAX_OPENED", opened)
        trees = vocabulary.trees(num_words, limit, depth, opened)
        assert trees
        assert all(vocabulary.is_tree(ids, num_words) for ids in trees)
        constraint = TreeConstraint.from_vocabulary(vocabulary)
        inputs = vocabulary.sources(num_words)
        assert_legal_is_what_comes_next(constraint, inputs, limit, trees)

    @pytest.mark.parametrize("vocabulary", [ONE_LEAF, NO_LEAF, IN_ORDER])
    def test_some_id_is_legal_after_any_ids(self, vocabulary):
        constraint = TreeConstraint.from_vocabulary(vocabulary)
        rng = np.random.default_rng(0)
        inputs = vocabulary.sources(0, 1, 2, 5)
        tree_state = constraint.begin(inputs, np.array([1, 4, 5, 9]), 50)
        for _ in range(20):
            ids = rng.integers(0, constraint.num_ids, (4, 50))
            tree_state = constraint.advance(tree_state, ids)
            legal = ops.convert_to_numpy(constraint.find_legal(tree_state))
            assert legal.any(axis=-1).all()

    def test_words_are_counted_not_their_pieces(self):
        constraint = TreeConstraint.from_vocabulary(ONE_LEAF)
        numbers = [0, 1, 2, 3, 7, 30]
        inputs = ONE_LEAF.sources(*numbers)
        assert list(constraint.count_leaves(inputs)) == numbers
        raised = constraint.raise_limits([1, 1, 9, 9, 9, 9], inputs)
        assert list(raised) == [1, 4, 9, 9, 10, 33]

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
    def test_only_illegal_ids_have_no_probability(self, dtype):
        constraint = TreeConstraint.from_vocabulary(TWO_LEAVES)
        tree_state = constraint.begin(
            TWO_LEAVES.sources(1, 5), np.array([4, 9]), 3
        )
        for ids in ([0, 0, 0], [3, 3, 3], [3, 5, 6]):
            ids = np.array([ids, ids], "int32")
            tree_state = constraint.advance(tree_state, ids)
        logits = np.linspace(-9, 9, 6 * constraint.num_ids).reshape(2, 3, -1)
        logits = ops.cast(logits.astype("float32"), dtype)
        legal_logits = constraint.exclude_illegal(logits, tree_state)
        assert keras.backend.standardize_dtype(legal_logits.dtype) == "float32"
        legal = ops.convert_to_numpy(constraint.find_legal(tree_state))
        logits = ops.convert_to_numpy(ops.cast(logits, "float32"))
        expected = np.where(legal, logits, -np.inf)
        np.testing.assert_array_equal(legal_logits, expected)


class SearchTest:
    @pytest.mark.parametrize(
        "vocabulary,num_words,limit,alpha",
        [
            pytest.param(ONE_LEAF, 1, 9, 0.6, marks=pytest.mark.slow),
            pytest.param(ONE_LEAF, 3, 10, 0.0, marks=pytest.mark.slow),
            (TWO_LEAVES, 4, 9, 0.3),
        ],
    )
    def test_a_wide_beam_equals_enumeration(
        self, vocabulary, num_words, limit, alpha
    ):
        trees = vocabulary.trees(num_words, limit)
        legal = legal_after(trees)
        wide = len(trees) + 7
        options = DecodeOptions(alpha=alpha).replace(num_hypotheses=wide)
        model = RandomModel(vocabulary, seed=num_words)
        inputs = vocabulary.sources(num_words)
        (hypotheses,), (scores,) = search(
            model, vocabulary, inputs, [limit], options
        )
        expected = {
            ids: model.log_prob(inputs[0], ids, legal)
            / ((5 + len(ids)) / 6) ** alpha
            for ids in trees
        }
        assert len(hypotheses) > 10
        assert_is_all_best_first(hypotheses, scores, expected)

    @pytest.mark.parametrize(
        "vocabulary, beam_size",
        [
            pytest.param(ONE_LEAF, 1, marks=pytest.mark.slow),
            (TWO_LEAVES, 5),
            pytest.param(ONE_LEAF, 5, marks=pytest.mark.slow),
            pytest.param(TWO_LEAVES, 1, marks=pytest.mark.slow),
        ],
    )
    def test_all_hypotheses_are_distinct_trees(self, vocabulary, beam_size):
        numbers = [1, 9, 2, 30, 5, 3, 1, 17]
        for salt in range(3):
            inputs = vocabulary.sources(*numbers, salt=salt)
            limits = [n + 3 + n * (salt + 1) // 2 for n in numbers]
            _, find = n_best(vocabulary, beam_size)
            hypotheses, scores = find(inputs, limits)
            assert np.all(scores[:, 1:] <= scores[:, :-1])
            for n, limit, trees in zip(numbers, limits, hypotheses):
                assert 1 <= len(trees) == len(set(trees))
                assert all(vocabulary.is_tree(ids, n) for ids in trees)
                assert all(len(ids) <= limit for ids in trees)

    def test_a_beam_of_one_takes_the_likeliest_legal_symbol(self):
        model, find = n_best(ONE_LEAF, 1)
        inputs = ONE_LEAF.sources(3)
        legal = legal_after(ONE_LEAF.trees(3, 11))
        expected = ()
        while END not in expected:
            expected += max(
                ((id_,) for id_ in legal[expected]),
                key=lambda id_: model.log_prob(
                    inputs[0], expected + id_, legal
                ),
            )
        hypotheses, _ = find(inputs, [11])
        assert hypotheses == [[expected]]

    def test_the_other_sentences_of_a_batch_do_not_matter(self):
        _, find = n_best(TWO_LEAVES, 5)
        inputs = TWO_LEAVES.sources(4, 1, 12, 7)
        limits = [20, 9, 60, 12]
        together, scores = find(inputs, limits)
        for i in range(4):
            alone, score = find(inputs[i : i + 1], limits[i : i + 1])
            assert alone == [together[i]]
            np.testing.assert_allclose(score[0], scores[i], rtol=1e-5)

    def test_limits_that_are_too_low_for_a_tree_are_raised(self):
        _, find = n_best(ONE_LEAF, 5)
        hypotheses, _ = find(ONE_LEAF.sources(1, 4, 16), [1, 2, 3])
        for n, trees in zip([1, 4, 16], hypotheses):
            assert len(trees) == 2  # one of each label
            for ids in trees:
                assert ONE_LEAF.is_tree(ids, n) and len(ids) == n + 3

    def test_no_word_makes_no_tree(self):
        _, find = n_best(ONE_LEAF, 5)
        hypotheses, _ = find(ONE_LEAF.sources(0, 2), [9, 9])
        assert hypotheses[0] == [(END,)]
        assert ONE_LEAF.is_tree(hypotheses[1][0], 2)

    def test_brackets_nest_no_deeper_than_allowed(self, monkeypatch):
        monkeypatch.setattr(state_module, "MAX_DEPTH", 3)
        (((ids,),), _) = search(
            RandomModel(ONE_LEAF, bias={3: 20.0}),
            ONE_LEAF,
            ONE_LEAF.sources(8),
            [90],
            DecodeOptions(),
        )
        kinds = [ONE_LEAF.kind(id_) for id_ in ids]
        steps = [(kind == "open") - (kind == "close") for kind in kinds]
        assert max(np.cumsum(steps)) == 3
        assert ONE_LEAF.is_tree(ids, 8)

    def test_unary_loops_are_bounded(self):
        model = RandomModel(ONE_LEAF, bias={3: 30.0})
        ((ids,),), _ = search(
            model, ONE_LEAF, ONE_LEAF.sources(1), [200], DecodeOptions()
        )
        most = state_module.MAX_OPENED
        assert ONE_LEAF.is_tree(ids, 1)
        assert len(ids) == 2 * most + 2

    @pytest.mark.parametrize(
        "more",
        [
            {"top_k": 2},
            pytest.param({"top_p": 0.5}, marks=pytest.mark.slow),
        ],
        ids=str,
    )
    def test_samples_are_trees_too(self, more):
        numbers = [2, 9, 1, 20]
        options = DecodeOptions(temperature=1.5, num_hypotheses=6, **more)
        hypotheses, _ = search(
            RandomModel(TWO_LEAVES),
            TWO_LEAVES,
            TWO_LEAVES.sources(*numbers),
            [12, 40, 9, 60],
            options,
            seeds=np.arange(4, dtype="int32"),
        )
        for n, trees in zip(numbers, hypotheses):
            assert len(trees) == 6
            assert all(TWO_LEAVES.is_tree(ids, n) for ids in trees)
        assert len(set(hypotheses[3])) > 1

    @pytest.mark.slow
    @pytest.mark.skipif(not TENSORFLOW, reason="growing caches")
    def test_growing_and_fixed_shapes_find_the_same(self):
        inputs = ONE_LEAF.sources(3, 1, 6, 2, 2)
        limits = np.array([9, 14, 16, 5, 12], "int32")
        options = DecodeOptions(num_hypotheses=4)
        model = RandomModel(ONE_LEAF, seed=2)
        constraint = TreeConstraint.from_vocabulary(ONE_LEAF)
        (growing, scores), (fixed, same) = (
            as_tuples(
                *find_hypotheses(
                    model,
                    options,
                    inputs,
                    limits,
                    fixed_length=fixed_length,
                    constraint=constraint,
                )
            )
            for fixed_length in (None, 16)
        )
        assert growing == fixed
        np.testing.assert_allclose(scores, same, rtol=1e-5)

    def test_an_unconstrained_search_finds_no_tree(self):
        inputs = ONE_LEAF.sources(5)
        options = DecodeOptions(constrained=False)
        ((ids,),), _ = search(
            RandomModel(ONE_LEAF), ONE_LEAF, inputs, [30], options
        )
        assert not ONE_LEAF.is_tree(ids, 5)

    def test_a_minimum_length_is_an_error(self):
        with pytest.raises(ValueError, match="min_length=3.*constrained=false"):
            make_constraint(DecodeOptions(min_length=3), ONE_LEAF)


class VocabularyTest:
    @pytest.mark.parametrize("linearization", LINEARIZATIONS)
    def test_a_vocabulary_with_the_symbols_of_trees_has_one(
        self, tmp_path, linearization
    ):
        tree = parse_tree("(TOP (S (NP (NN dog)) (VP (VBZ runs)) (. .)))")
        symbols = collect_symbols([tree], linearization)
        vocabulary = train_subwords(
            ["a dog ( runs ) <b> ."] * 30, 300, tmp_path / "model", symbols
        )
        assert find_linearization(vocabulary) == linearization
        constraint = make_constraint(DecodeOptions(), vocabulary)
        bracket = "-LRB-" if linearization in WITH_WORDS else "(NPX"
        texts = ["dogs run . ", "a", f"  XX {bracket} <NP> -LRB- 漢字"]
        for text, ids in zip(texts, vocabulary.encode(texts)):
            (number,) = constraint.count_leaves(np.array([ids]))
            is_whole = linearization not in WITH_WORDS
            assert number == (len(text.split()) if is_whole else len(ids) - 1)
        tree_state = constraint.begin(np.array([ids]), np.array([99]), 1)
        legal = constraint.find_legal(
            constraint.advance(tree_state, np.array([[0]]))
        )
        pieces = vocabulary.pieces(np.flatnonzero(legal))
        opening = [s for s in symbols if s[0] in "(<" and "/" not in s]
        first = ["▁" + s for s in opening] or ["<unk>"]  # which is PIECE
        assert sorted(pieces) == sorted(first)
        assert (
            make_constraint(DecodeOptions(constrained=False), vocabulary)
            is None
        )

    @pytest.mark.parametrize(
        "symbols", [[], ["<b>", "</b>"], ["XX"], ["<de>", "<en>"], ["(A", "XX"]]
    )
    def test_other_vocabularies_have_none(self, tmp_path, symbols):
        vocabulary = train_subwords(
            ["a dog ( runs ) (NP XX )NP <b>"] * 30,
            290,
            tmp_path / "model",
            symbols,
        )
        assert find_linearization(vocabulary) is None
        assert make_constraint(DecodeOptions(), vocabulary) is None
