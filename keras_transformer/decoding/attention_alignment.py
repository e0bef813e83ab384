"""Which words of a translation belong to which words of its source."""

import re

import numpy as np

from keras_transformer.token_ids import WORD_START

_BYTE = re.compile("<0x[0-9A-F]{2}>")


def align_words(attention, source_words, target_words):
    """Aligns words by the attention of the decoder to the source.

    A word is aligned with the word that it attends to most, if this word is
    also attended to most by it (the intersection of both directions). The
    weights are means over the heads of the last layer but one, whose attention
    is nearest to an alignment (Garg et al., 2019).

    Args:
        attention: An `Attention`.
        source_words: List of str, the words of the source without spaces.
        target_words: List of str, the words of the translation.

    Returns:
        List of pairs of integers, a place in `source_words` and one in
        `target_words`. None if the words are not spelt like the tokens.
    """
    sources = _words_of_tokens(attention.source_tokens, source_words)
    targets = _words_of_tokens(attention.target_tokens, target_words)
    if not (sources and targets):
        return None
    layer = attention.cross[max(0, len(attention.cross) - 2)]
    weights = layer.mean(axis=0)[: len(targets), : len(sources)]
    weights = weights @ np.eye(len(source_words))[sources]
    sums = np.eye(len(target_words))[targets].T @ weights
    counts = np.bincount(targets, minlength=len(target_words))
    means = sums / np.maximum(counts, 1)[:, None]  # (target, source)
    # Attention often rests on punctuation, which no word is a translation of.
    means *= np.equal.outer(_are_words(target_words), _are_words(source_words))
    best_sources = means.argmax(axis=1)
    best_targets = means.argmax(axis=0)
    return [
        (int(source), target)
        for target, source in enumerate(best_sources)
        if best_targets[source] == target and means[target, source] > 0
    ]


def _are_words(words):
    return [word[0].isalnum() for word in words]


def _words_of_tokens(tokens, words):
    """Returns the place of each token's word, or None if they do not fit.

    The last token, the end, has no word.
    """
    texts = [token.replace(WORD_START, "") for token in tokens[:-1]]
    if "".join(texts) != "".join(words) or any(map(_BYTE.search, texts)):
        return None
    stops = np.cumsum(list(map(len, words)))
    starts = np.cumsum([0, *map(len, texts)])[:-1]
    places = np.searchsorted(stops, starts, side="right")
    # A token of white space alone at the end has the last word.
    return np.minimum(places, len(words) - 1).tolist()
