"""The spans that a parser learns from, against those of its trees."""

import numpy as np
import pytest
from tree_examples import INDENTED
from tree_examples import deep_tree
from tree_examples import random_trees

from keras_transformer.data.generation.token_arrays import TokenPairs
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.parsing.linearization import LINEARIZATIONS
from keras_transformer.parsing.linearization import collect_symbols
from keras_transformer.parsing.span_targets import SpanTargets
from keras_transformer.parsing.span_targets import find_labels
from keras_transformer.parsing.target_text import write_tree
from keras_transformer.parsing.tree import ROOT
from keras_transformer.parsing.tree import clean
from keras_transformer.parsing.tree import find_spans
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.token_ids import WORD_START

TREES = [
    *random_trees(100),
    clean(parse_tree(INDENTED)),
    parse_tree("(TOP (S (NP (NP (NN 漢字))) (VP (VP (VB ☃) (NN dogdog)))))"),
    deep_tree(300),
]
TEXTS = [" ".join(tree.words()) for tree in TREES]


@pytest.fixture(scope="module", params=LINEARIZATIONS)
def targets(request, tmp_path_factory):
    """Returns texts of trees, and a vocabulary with their symbols."""
    path = tmp_path_factory.mktemp("vocabulary") / "model"
    symbols = collect_symbols(TREES, request.param)
    texts = [write_tree(tree, request.param) for tree in TREES]
    return texts, train_subwords(TEXTS, 340, path, symbols)


@pytest.fixture(scope="module")
def words_alone(tmp_path_factory):
    """Returns a vocabulary without symbols of trees."""
    path = tmp_path_factory.mktemp("vocabulary") / "model"
    return train_subwords(TEXTS, 310, path)


def encode(sources, targets, source_vocabulary, vocabulary):
    """Returns the `TokenPairs` of texts."""
    sides = source_vocabulary.encode(sources), vocabulary.encode(targets)
    return TokenPairs(*map(TokenSequences.from_lists, sides))


def read(targets, source_vocabulary, trees=slice(None)):
    """Returns the `TokenPairs` and the spans of all trees."""
    texts, vocabulary = targets
    pairs = encode(TEXTS[trees], texts[trees], source_vocabulary, vocabulary)
    num_labels = len(find_labels(vocabulary))
    reader = SpanTargets(source_vocabulary, vocabulary, num_labels)
    shape = [len(pairs.inputs), *(int(side.lengths.max()) for side in pairs)]
    return pairs, reader.read(pairs, np.arange(shape[0]), shape)


def number_words(vocabulary, ids):
    """Returns the number of the word of each id, by its marks."""
    pieces = vocabulary.pieces(ids[:-1])
    return np.cumsum([piece.startswith(WORD_START) for piece in pieces]) - 1


def spans_by_hand(tree, labels, words):
    """Returns the spans between tokens, `words` being those of each token."""
    return {
        (
            int(np.flatnonzero(words == first)[0]),
            int(np.flatnonzero(words == stop - 1)[-1]),
            labels.index(label),
        )
        for label, first, stop in find_spans(tree)
        if label != ROOT
    }


class SpanTargetsTest:
    @pytest.mark.parametrize("is_shared", [True, False])
    def test_the_spans_are_those_of_the_tree(
        self, targets, words_alone, is_shared
    ):
        _, vocabulary = targets
        source_vocabulary = vocabulary if is_shared else words_alone
        labels = find_labels(vocabulary)
        pairs, spans = read(targets, source_vocabulary)
        assert spans.dtype == np.int32
        for tree, source, actual in zip(TREES, pairs.inputs, spans):
            words = number_words(source_vocabulary, source)
            assert words[-1] + 1 == len(tree.words())
            listed = [tuple(span) for span in actual.tolist() if span[2] >= 0]
            # The text has TOP as well where it holds several trees.
            listed = [one for one in listed if labels[one[2]] != ROOT]
            assert set(listed) == spans_by_hand(tree, labels, words)
            assert len(set(listed)) == len(listed)

    def test_words_of_several_tokens_are_among_the_examples(self, targets):
        _, vocabulary = targets
        words = [
            number_words(vocabulary, ids) for ids in vocabulary.encode(TEXTS)
        ]
        assert any(len(each) > each[-1] + 1 for each in words)

    def test_what_is_left_is_negative(self, targets):
        _, vocabulary = targets
        pairs, spans = read(targets, vocabulary)
        is_span = (spans >= 0).all(axis=-1)
        np.testing.assert_array_equal(spans[~is_span], -1)
        # The spans come first, so an update reads them in one piece.
        assert not (np.diff(is_span.astype(int), axis=1) > 0).any()
        ends = spans[..., 1][is_span]
        lengths = np.broadcast_to(pairs.inputs.lengths[:, None], is_span.shape)
        assert (ends < lengths[is_span] - 1).all()  # before the end id

    def test_rows_choose_the_pairs_and_a_negative_one_has_none(self, targets):
        _, vocabulary = targets
        pairs, expected = read(targets, vocabulary)
        rows = np.array([5, -1, 0, -1])
        reader = SpanTargets(vocabulary, vocabulary, 99)
        _, _, target_len = shape = 4, 7, expected.shape[1] + 3
        spans = reader.read(pairs, rows, shape)
        assert spans.shape == (4, target_len, 3)
        for actual, row in zip(spans, rows):
            actual, padding = np.split(actual, [expected.shape[1]])
            wanted = expected[row] if row >= 0 else np.full_like(actual, -1)
            np.testing.assert_array_equal(actual, wanted)
            np.testing.assert_array_equal(padding, -1)

    def test_a_label_above_itself_occurs_once(self, targets):
        _, vocabulary = targets
        labels = find_labels(vocabulary)
        _, spans = read(targets, vocabulary, trees=slice(101, 102))
        names = [labels[span[2]] for span in spans[0] if span[2] >= 0]
        assert sorted(names) == ["NP", "S", "VP"]

    def test_too_few_labels_are_an_error_with_the_number(self, targets):
        _, vocabulary = targets
        number = len(find_labels(vocabulary))
        with pytest.raises(ValueError, match=f"span_labels={number}[.]$"):
            SpanTargets(vocabulary, vocabulary, number - 1)
        SpanTargets(vocabulary, vocabulary, number)


class FindLabelsTest:
    def test_they_are_those_of_all_trees_and_the_root(self, targets):
        _, vocabulary = targets
        expected = {label for tree in TREES for label, *_ in find_spans(tree)}
        labels = find_labels(vocabulary)
        assert set(labels) == expected | {ROOT}
        assert len(set(labels)) == len(labels)

    def test_other_vocabularies_have_none(self, words_alone):
        assert find_labels(words_alone) == []
