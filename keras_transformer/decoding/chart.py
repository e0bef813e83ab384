"""Reads constituents from the encoder of a parser."""

import numpy as np
from keras import ops

from keras_transformer.decoding.words import batch_by_length
from keras_transformer.decoding.words import encode_words
from keras_transformer.trees.consensus import LabelledSpan
from keras_transformer.trees.span_targets import find_labels
from keras_transformer.trees.tree import ROOT

SMALLEST = 0.01  # probability below which a constituent is left out


class Chart:
    """Finds the probabilities of the constituents of sentences.

    They are those of the `SpanClassifier` of a parser, which sees all spans at
    once while the decoder writes one tree after the other. Of several models
    with the same `Vocabularies`, as in an ensemble, they are the means.
    """

    def __init__(self, models, vocabularies):
        self.models = models
        self.vocabularies = vocabularies
        # The model may have room for more labels than the treebank has.
        self.labels = dict(enumerate(find_labels(vocabularies.targets)))

    def __call__(self, sentences):
        """Returns a list of `LabelledSpan` for each sentence, a list of words.

        The root is not among them.
        """
        charts = [[] for _ in sentences]
        for batch in batch_by_length(sentences):
            words = encode_words(
                self.vocabularies.sources, [sentences[i] for i in batch]
            )
            shares = self._compute(words.ids)
            for row, i in enumerate(batch):
                of_row = words.rows == row
                places = np.ix_(words.firsts[of_row], words.lasts[of_row])
                charts[i] = list(self._list_spans(shares[row][places]))
        return charts

    def _compute(self, ids):
        """Returns probabilities `(batch, length, length, num_labels)`."""
        logits = [
            model.spans(model.encode(ids)[0], training=False)
            for model in self.models
        ]
        shares = [ops.convert_to_numpy(ops.sigmoid(one)) for one in logits]
        return np.mean(shares, axis=0)

    def _list_spans(self, shares):
        """Yields the spans of a sentence from an array `(words, words, n)`."""
        for first, last, number in np.argwhere(shares > SMALLEST):
            label = self.labels.get(number, ROOT)
            if first <= last and label != ROOT:
                share = float(shares[first, last, number])
                yield LabelledSpan(label, int(first), int(last) + 1, share)


def make_chart(models, vocabularies):
    """Returns the `Chart` of those models that classify spans, or None."""
    models = [model for model in models if hasattr(model, "spans")]
    return Chart(models, vocabularies) if models else None
