"""Words instead of tokens, so that attention reads as in the paper."""

import re
import unicodedata

import numpy as np

from keras_transformer.token_ids import END_LABEL
from keras_transformer.token_ids import WORD_START

_BYTE = re.compile("<0x([0-9A-F]{2})>")


def join_words(tokens, splits_punctuation=True):
    """Joins the tokens of each word.

    A piece of punctuation is a separate word, as in the paper's figures, or
    not with `splits_punctuation=False`, which suits the words of a treebank.
    Returns the words and the position of the first token of each.

    >>> join_words(["▁a", "▁per", "fect", "▁law", ",", "(end)"])
    (['a', 'perfect', 'law', ',', '(end)'], [0, 1, 3, 4, 5])
    """
    starts = [
        place
        for place, token in enumerate(tokens)
        if place == 0
        or token == END_LABEL
        or token.startswith(WORD_START)
        or (splits_punctuation and _is_boundary(tokens[place - 1], token))
    ]
    stops = [*starts[1:], len(tokens)]
    return [_text(tokens[a:b]) for a, b in zip(starts, stops)], starts


def join_weights(weights, starts):
    """Returns the attention between words, of shape `(..., words, words)`.

    The weights are summed over the tokens of the word that receives them, and
    averaged over those of the word that attends, so each row still sums to 1.
    They have the shape `(..., tokens, tokens)`; `starts` is from `join_words`.
    """
    lengths = np.diff([*starts, weights.shape[-1]])
    weights = np.add.reduceat(weights, starts, axis=-1)
    return np.add.reduceat(weights, starts, axis=-2) / lengths[:, None]


def _is_boundary(before, token):
    # A lone mark and the bytes of a character belong to the tokens around them.
    if before == WORD_START or _BYTE.match(before) or _BYTE.match(token):
        return False
    return not (_is_joined(before[-1]) and _is_joined(token[0]))


def _is_joined(character):
    # Chinese and Japanese have no spaces, so a piece of them is a word.
    if unicodedata.east_asian_width(character) in "FW":
        return False
    return unicodedata.category(character)[0] in "LMN"


def _text(tokens):
    pieces = (
        bytes.fromhex(byte[1])
        if (byte := _BYTE.fullmatch(token))
        else token.encode()
        for token in tokens
    )
    text = b"".join(pieces).decode(errors="replace")
    return text.removeprefix(WORD_START) or "␣"
