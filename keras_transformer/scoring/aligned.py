"""Rows of text in columns of equal width."""


def aligned(rows):
    """Returns rows as lines, the first column to the left, others to the right.

    Args:
        rows: List of sequences of str, all of the same length.

    Example:

    >>> aligned([("text", "BLEU"), ("a", "7.5")])
    ['text  BLEU', 'a      7.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for first, *rest in rows:
        cells = [f"{cell:>{w}}" for cell, w in zip(rest, widths[1:])]
        lines.append("  ".join([f"{first:<{widths[0]}}", *cells]))
    return lines
