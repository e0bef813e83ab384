"""Finds the words of sentences among the tokens that a parser encodes."""

import typing

import numpy as np

from keras_transformer.decoding.batching import pad
from keras_transformer.token_ids import END_ID

MAX_ROWS = 32
MAX_CELLS = 100_000  # pairs of words, whose arrays then fill about 0.5 GB


class WordTokens(typing.NamedTuple):
    """The tokens of a batch of sentences, and where the words are in them."""

    ids: np.ndarray  # (batch, length), padded with 0
    rows: np.ndarray  # the sentence of each word, (num_words,)
    firsts: np.ndarray  # position of the first token of each word
    lasts: np.ndarray  # that of the last token


def batch_by_length(sentences):
    """Yields lists of the numbers of sentences with similar numbers of words.

    An empty sentence is in none.
    """
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    batch = []
    for i in order:
        cells = (len(batch) + 1) * len(sentences[i]) ** 2
        if len(batch) == MAX_ROWS or (batch and cells > MAX_CELLS):
            yield batch
            batch = []
        if sentences[i]:
            batch.append(i)
    if batch:
        yield batch


def encode_words(vocabulary, sentences):
    """Returns the `WordTokens` of sentences, lists of words, none empty."""
    # The subwords of a word are the same in every sentence.
    words = iter(vocabulary.encode([w for words in sentences for w in words]))
    sources, places = [], []
    for row, sentence in enumerate(sentences):
        source = []
        for _ in sentence:
            first = len(source)
            source += next(words)[:-1]
            # A word without subwords takes the place of what follows it.
            places.append((row, first, max(first, len(source) - 1)))
        sources.append([*source, END_ID])
    return WordTokens(pad(sources), *np.array(places).T)
