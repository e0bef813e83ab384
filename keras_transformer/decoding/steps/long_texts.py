"""Texts that are too long for the model, translated in parts."""

import itertools
import re
import typing

from keras_transformer.decoding.engines import Hypothesis

TOO_LONG = "too_long"  # the text is not translated
SPLIT = "split"  # it is translated in parts
REACHED_LIMIT = "reached_limit"  # a translation may be cut off
# Where to divide a text, the best places first: after the end of a sentence,
# between clauses, after a comma, before a conjunction, between words. No space
# follows the wide punctuation of Chinese and Japanese.
_PLACES = [
    r"(?<=[.!?…])\s+|(?<=[。！？])\s*",
    r"(?<=[;:])\s+|(?<=[；：])\s*",
    r"(?<=,)\s+|(?<=[，、])\s*",
    r"\s+(?=(?:and|but|or|because|which|that|und|aber|oder|weil|sondern|y|e|o"
    r"|pero|porque|que|et|ou|mais|car)\s)",
    r"\s+",
]
_WIDE = "。！？；：，、"


class Translation(typing.NamedTuple):
    """The hypotheses of a text, and warnings about them."""

    hypotheses: list  # of `Hypothesis`, best first
    warnings: list  # of the constants above, and `alarms.REASONS`


def limit_part_tokens(translator, max_tokens=None):
    """Returns the maximum number of tokens of a part of a text.

    It is the user's choice, or the length of the longest training sentences.
    """
    limit = max_tokens or translator.trained_length
    return min(limit, translator.max_tokens)


def split_texts(translator, texts, max_tokens):
    """Divides the texts that are too long, between clauses where possible."""
    return [
        split_long(text, max_tokens, translator.count_tokens) for text in texts
    ]


def translate_in_parts(
    translator,
    parts_of_texts,
    report=None,
    seed=0,
    glossary=None,
    protect=None,
    **options,
):
    """Returns a `Translation` for each text, a list of its parts.

    The hypotheses of the parts are joined, and their scores are averaged. The
    other arguments are those of `Translator.hypotheses`.
    """
    parts = [part for each in parts_of_texts for part in each]
    terms = {"glossary": glossary, "protect": protect}
    hypotheses = list(
        translator.hypotheses(parts, report, seed=seed, **terms, **options)
    )
    alarms = translator.find_alarms(parts, hypotheses, **terms)
    translations = (
        Translation(
            each,
            find_warnings(translator, part, each, options) + alarms_of_part,
        )
        for part, each, alarms_of_part in zip(parts, hypotheses, alarms)
    )
    return [
        _join(list(itertools.islice(translations, len(each))))
        for each in parts_of_texts
    ]


def find_warnings(translator, text, hypotheses, options, prefix=""):
    """Returns the warning that a translation may be cut off, or no warning.

    `text` is the source as the model reads it, `options` are those that were
    changed, and the translation begins with `prefix`.
    """
    # A search that writes trees ends them before the limit.
    if translator.linearization or not text.strip():
        return []
    best = hypotheses[0]
    length = len(best.ids)
    if not length:
        (length,) = translator.count_tokens([best.text], of_targets=True)
    is_cut = length >= translator.length_limit(text, prefix, **options)
    return [REACHED_LIMIT] if is_cut else []


def _join(parts):
    """Returns the translation of a text from those of its parts."""
    if len(parts) == 1:
        return parts[0]
    hypotheses = [
        Hypothesis(
            " ".join(one.text for one in ranked if one.text),
            sum(one.score for one in ranked) / len(ranked),
        )
        for ranked in zip(*(part.hypotheses for part in parts))
    ]
    warnings = [warning for part in parts for warning in part.warnings]
    return Translation(hypotheses, [SPLIT, *dict.fromkeys(warnings)])


def split_long(text, max_tokens, count_tokens):
    """Divides a text into parts of at most `max_tokens` tokens.

    `count_tokens` takes a list of texts and counts an end for each. A single
    character that has more tokens is a part by itself.

    >>> split_long("I came, I saw; I won.", 4, lambda texts: [
    ...     len(text.split()) for text in texts])
    ['I came, I saw;', 'I won.']
    """
    (count,) = count_tokens([text])
    if count <= max_tokens:
        return [text]
    for pattern in _PLACES:
        pieces = [piece for piece in re.split(pattern, text) if piece]
        if len(pieces) > 1:
            return _pack(pieces, max_tokens, count_tokens)
    middle = len(text) // 2
    if not middle:
        return [text]
    halves = text[:middle], text[middle:]
    return [
        part
        for half in halves
        for part in split_long(half, max_tokens, count_tokens)
    ]


def _pack(pieces, max_tokens, count_tokens):
    """Joins neighbouring pieces that fit, and divides those that do not."""
    parts, room = [], 0
    # The sum over pieces is an upper limit, since each counts an end.
    for piece, count in zip(pieces, count_tokens(pieces)):
        if count > max_tokens:
            parts += split_long(piece, max_tokens, count_tokens)
            room = 0
        elif count <= room:
            parts[-1] += piece if parts[-1][-1] in _WIDE else f" {piece}"
            room -= count
        else:
            parts.append(piece)
            room = max_tokens - count
    return parts
