"""Finds the words of sentences among the tokens that a parser encodes."""

import typing

from keras_transformer.token_ids import END_ID

MAX_ROWS = 32
MAX_CELLS = 200_000  # pairs of tokens, whose chart takes about 1 GB


class WordTokens(typing.NamedTuple):
    """The tokens of a sentence, and the places of its words among them."""

    ids: list[int]  # with the end id
    firsts: list[int]  # position of the first token of each word
    lasts: list[int]  # position of the last token of each word


def encode_words(vocabulary, sentences):
    """Returns the `WordTokens` of each sentence, a list of words."""
    # The subwords of a word are the same in every sentence.
    words = iter(vocabulary.encode([w for words in sentences for w in words]))
    encoded = []
    for sentence in sentences:
        tokens = WordTokens([], [], [])
        for _ in sentence:
            first = len(tokens.ids)
            tokens.ids.extend(next(words)[:-1])
            tokens.firsts.append(first)
            # A word without subwords takes the place of what follows it.
            tokens.lasts.append(max(first, len(tokens.ids) - 1))
        tokens.ids.append(END_ID)
        encoded.append(tokens)
    return encoded


def batch_by_length(encoded):
    """Yields lists of the numbers of `WordTokens` with similar lengths.

    A sentence without words is in none.
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
