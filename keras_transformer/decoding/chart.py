"""Reads constituents from the encoder of a parser."""

import numpy as np
from keras import ops

from keras_transformer.decoding.batching import pad
from keras_transformer.decoding.words import batch_by_length
from keras_transformer.decoding.words import encode_words
from keras_transformer.trees.consensus import LabelledSpan
from keras_transformer.trees.span_targets import find_labels
from keras_transformer.trees.tree import ROOT

MAX_TOKENS = 500  # whose spans take 1 to 2 GB
SMALLEST = 0.01  # probability below which a constituent is left out


class Chart:
    """Finds the probabilities of the constituents of sentences.

    They are those of the `SpanClassifier` of a parser, which sees all spans at
    once, while the decoder writes symbol by symbol. Of several models with the
    same `Vocabularies`, as in an ensemble, they are the means.
    """

    def __init__(self, models, vocabularies):
        self.models = models
        self.vocabularies = vocabularies
        # The model may have room for more labels than the treebank has.
        self.labels = dict(enumerate(find_labels(vocabularies.targets)))

    def __call__(self, sentences):
        """Returns a list of `LabelledSpan` for each sentence, a list of words.

        The root is not among them. The list is empty for a sentence of more
        than `MAX_TOKENS`, whose spans are too many for the memory.
        """
        encoded = encode_words(self.vocabularies.sources, sentences)
        charts = [[] for _ in sentences]
        for batch in batch_by_length(encoded):
            if len(encoded[batch[-1]].ids) > MAX_TOKENS:
                break  # it is alone in its batch, and all others are longer
            shares = self._compute(pad([encoded[i].ids for i in batch]))
            for i, shares_of_row in zip(batch, shares):
                places = np.ix_(encoded[i].firsts, encoded[i].lasts)
                charts[i] = list(self._list_spans(shares_of_row[places]))
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
