"""Texts that are too long for a model, divided where they can be."""

import re

# Where to divide a text, the best places first: after the end of a sentence,
# between clauses, after a comma, before a conjunction, between words.
_PLACES = [
    r"(?<=[.!?…])\s+",
    r"(?<=[;:])\s+",
    r"(?<=,)\s+",
    r"\s+(?=(?:and|but|or|because|which|that|und|aber|oder|weil|sondern|y|e|o"
    r"|pero|porque|que|et|ou|mais|car)\s)",
    r"\s+",
]


def split_long(text, max_tokens, num_tokens):
    """Divides a text into parts that are short enough.

    Args:
        text: Str.
        max_tokens: Integer, the greatest number of tokens of a part.
        num_tokens: Function that returns the number of tokens of each text of a
            list, the end token included.

    Returns:
        List of str, the parts with text. A single character that has more
        tokens is a part by itself.

    Example:

    >>> split_long("I came, I saw; I won.", 4, lambda texts: [
    ...     len(text.split()) for text in texts])
    ['I came, I saw;', 'I won.']
    """
    (count,) = num_tokens([text])
    if count <= max_tokens:
        return [text]
    for pattern in _PLACES:
        pieces = [piece for piece in re.split(pattern, text) if piece]
        if len(pieces) > 1:
            return _joined(pieces, max_tokens, num_tokens)
    middle = len(text) // 2
    if not middle:
        return [text]
    halves = text[:middle], text[middle:]
    return [
        part
        for half in halves
        for part in split_long(half, max_tokens, num_tokens)
    ]


def _joined(pieces, max_tokens, num_tokens):
    """Joins neighbours as long as they fit, and divides what does not fit."""
    parts, room = [], 0
    # The sum over pieces is an upper limit, since each counts an end.
    for piece, count in zip(pieces, num_tokens(pieces)):
        if count > max_tokens:
            parts += split_long(piece, max_tokens, num_tokens)
            room = 0
        elif count <= room:
            parts[-1] += f" {piece}"
            room -= count
        else:
            parts.append(piece)
            room = max_tokens - count
    return parts
