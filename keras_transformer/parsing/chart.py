"""The chart of constituents that a parser reads from its encoder."""

import typing

import numpy as np
from keras import ops

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.parsing.consensus import LabelledSpan
from keras_transformer.parsing.span_targets import find_labels
from keras_transformer.parsing.tree import ROOT
from keras_transformer.token_ids import END_ID

MAX_ROWS = 32
MAX_CELLS = 200_000  # pairs of tokens; their chart takes about 1 GB
MAX_TOKENS = 500  # their spans take 1 to 2 GB
SMALLEST = 0.01  # probability below which a constituent is left out


class WordTokens(typing.NamedTuple):
    """The tokens of a sentence, and the places of its words among them."""

    ids: list[int]  # with the end id
    firsts: list[int]  # position of the first token of each word
    lasts: list[int]  # position of the last token of each word


def encode_words(vocabulary, sentences):
    """Returns the `WordTokens` of sentences, which are lists of words."""
    # The subwords of a word are the same in every sentence.
    words = iter(vocabulary.encode([w for words in sentences for w in words]))
    encoded = []
    for sentence in sentences:
        tokens = WordTokens([], [], [])
        for _ in sentence:
            first = len(tokens.ids)
            tokens.ids.extend(next(words)[:-1])
            tokens.firsts.append(first)
            # A word without subwords gets the place of the next token.
            tokens.lasts.append(max(first, len(tokens.ids) - 1))
        tokens.ids.append(END_ID)
        encoded.append(tokens)
    return encoded


def batch_by_length(encoded):
    """Yields lists of the numbers of `WordTokens` with similar lengths.

    Sentences without words are left out.
    """
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i].ids))
    batch = []
    for i in order:
        if not encoded[i].firsts:
            continue
        cells = (len(batch) + 1) * len(encoded[i].ids) ** 2
        if len(batch) == MAX_ROWS or (batch and cells > MAX_CELLS):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


class Chart:
    """Finds the probabilities of the constituents of sentences.

    They come from the `SpanClassifier` of a parser, which sees all spans at
    once, while the decoder writes symbol by symbol. For several models with the
    same `Vocabularies`, as in an ensemble, they are averaged.
    """

    def __init__(self, models, vocabularies):
        self.models = models
        self.vocabularies = vocabularies
        # The model may have room for more labels than the treebank has.
        self.labels = dict(enumerate(find_labels(vocabularies.targets)))

    def __call__(self, sentences):
        """Returns a list of `LabelledSpan` for each sentence, given as words.

        The root is not among them. The list is empty for a sentence of more
        than `MAX_TOKENS`, since so many spans do not fit into memory.
        """
        encoded = encode_words(self.vocabularies.sources, sentences)
        charts = [[] for _ in sentences]
        for batch in batch_by_length(encoded):
            if len(encoded[batch[-1]].ids) > MAX_TOKENS:
                break  # all remaining sentences are at least as long
            ids = pad([encoded[i].ids for i in batch])
            logits = [
                model.spans(model.encode(ids)[0], training=False)
                for model in self.models
            ]  # each (batch, length, length, num_labels)
            shares = [ops.convert_to_numpy(ops.sigmoid(one)) for one in logits]
            shares = np.mean(shares, axis=0)
            for i, shares_of_row in zip(batch, shares):
                places = np.ix_(encoded[i].firsts, encoded[i].lasts)
                charts[i] = list(self._list_spans(shares_of_row[places]))
        return charts

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
