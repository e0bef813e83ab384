"""The labelled spans of the trees that a parser learns from."""

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.parsing.linearization import WITH_WORDS
from keras_transformer.parsing.linearization import find_symbol_ids
from keras_transformer.parsing.linearization import identify_linearization
from keras_transformer.parsing.linearization import read_symbol


def find_labels(vocabulary):
    """Returns the list of the labels of trees, in the order of a classifier.

    `vocabulary` is the vocabulary of the targets. TOP is one of the labels.
    """
    symbols = find_symbol_ids(vocabulary)
    steps = (read_symbol(symbols[id_]) for id_ in sorted(symbols))
    return [label for step, label, _ in steps if step == "open"]


class SpanTargets:
    """Reads the labelled spans of a batch from the ids of words and trees.

    The vocabularies belong to the sources and the targets, and `num_labels` is
    the number of labels that the model has room for.
    """

    def __init__(self, source_vocabulary, vocabulary, num_labels):
        labels = find_labels(vocabulary)
        if len(labels) > num_labels:
            raise UserError(
                "`span_labels` must be at least the number of labels of the "
                f"trees. Received: span_labels={num_labels}, while the trees "
                f"have {len(labels)}. Use --hparams=span_labels={len(labels)}."
            )
        self._begins_word = source_vocabulary.starts_word
        self._is_leaf = vocabulary.starts_word.copy()
        self._brackets = {}  # of each id: step and number of the label
        symbols = find_symbol_ids(vocabulary)
        for id_, symbol in symbols.items():
            step, label, _ = read_symbol(symbol)
            if step != "leaf":
                self._brackets[id_] = step, labels.index(label)
                self._is_leaf[id_] = False
        linearization = identify_linearization(symbols.values())
        if linearization not in WITH_WORDS:
            self._is_leaf[:] = False
            self._is_leaf[list(symbols.keys() - self._brackets.keys())] = True
        self._is_in_order = linearization == "in_order"

    def read(self, token_pairs, rows, shape):
        """Returns the spans of a batch, int32 `(rows, target_len, 3)`.

        They are what `span_loss` takes, with the first and the last
        position of a span among the source tokens. `rows` are the numbers of
        the pairs, of shape `(rows,)`; -1 means no pair. `shape` is the shape of
        the batch, as in `BatchPlan`.
        """
        spans = np.full((len(rows), shape[2], 3), -1, np.int32)
        for places, row in zip(spans, rows):
            if row >= 0:
                source, target = (side[row] for side in token_pairs)
                labelled = sorted(self._find_spans(source, target))
                places[: len(labelled)] = np.reshape(labelled, (-1, 3))
        return spans

    def _find_spans(self, source, target):
        """Returns the set of spans of a sentence and its tree."""
        (firsts,) = np.nonzero(self._begins_word[source])
        if len(firsts) != np.count_nonzero(self._is_leaf[target]):
            return set()  # a word vanished when its text was normalised
        # The last token of a word precedes the next word, or the end id.
        lasts = np.append(firsts[1:], len(source) - 1) - 1
        return {
            (firsts[first], lasts[last], label)
            for first, last, label in self._find_brackets(target)
        }

    def _find_brackets(self, target):
        """Yields the first word, last word and label of each bracket."""
        num_words, opened = 0, []
        child = 0  # first word of the child that was completed last
        for id_ in target.tolist():
            if self._is_leaf[id_]:
                child = num_words
                num_words += 1
            elif id_ in self._brackets:
                step, label = self._brackets[id_]
                if step == "open":
                    # In order, a bracket follows its first child.
                    opened.append(child if self._is_in_order else num_words)
                else:
                    child = opened.pop()
                    yield child, num_words - 1, label
