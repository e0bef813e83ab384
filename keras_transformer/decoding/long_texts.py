"""Translations of texts that may be too long for the model."""

import typing

from keras_transformer.decoding.clauses import split_long
from keras_transformer.decoding.hypothesis import Hypothesis

TOO_LONG = "too_long"  # the text is not translated
SPLIT = "split"  # it is translated in parts
REACHED_LIMIT = "reached_limit"  # a translation may be cut off


class Translation(typing.NamedTuple):
    """The hypotheses of a text, and what a reader has to know of them."""

    hypotheses: list  # of `Hypothesis`, best first
    warnings: list  # of the constants above


def part_tokens(translator, max_tokens=None):
    """Returns the greatest number of tokens of a part of a text.

    Args:
        translator: A `TextTranslator`.
        max_tokens: Integer, the user's choice. Defaults to None, the length of
            the longest sentences that the model was trained with.
    """
    limit = max_tokens or translator.trained_length
    return min(limit, translator.max_tokens)


def parts_of(translator, texts, max_tokens):
    """Divides the texts that are too long, between clauses where possible.

    Args:
        translator: A `TextTranslator`.
        texts: List of str.
        max_tokens: Integer, the greatest number of tokens of a part.

    Returns:
        List with the parts of each text, lists of str.
    """
    return [
        split_long(text, max_tokens, translator.num_tokens) for text in texts
    ]


def translate_in_parts(
    translator, parts_of_texts, report=None, seed=0, glossary=None, **options
):
    """Translates texts that are divided into parts.

    The hypotheses of a text are those of its parts, joined, and their score is
    the mean of the parts.

    Args:
        translator: A `TextTranslator`.
        parts_of_texts: List of lists of str, see `parts_of`.
        report: Function that is called with the number of parts after each
            batch. Defaults to None.
        seed: Integer seed of the sampler. Defaults to 0.
        glossary: A `Glossary`, see `TextTranslator`. Defaults to None.
        **options: Fields of `DecodeOptions` to change.

    Returns:
        List of `Translation`.
    """
    parts = [part for each in parts_of_texts for part in each]
    hypotheses = translator.hypotheses(
        parts, report, seed=seed, glossary=glossary, **options
    )
    return [
        _joined(
            [
                Translation(
                    of_part, limit_warnings(translator, part, of_part, options)
                )
                for part, of_part in zip(each, hypotheses)
            ]
        )
        for each in parts_of_texts
    ]


def limit_warnings(translator, text, hypotheses, options, prefix=""):
    """Returns the warning that a translation may be cut off, or no warning.

    Args:
        translator: The `TextTranslator` that found the hypotheses.
        text: The source as the model reads it, a str.
        hypotheses: List of `Hypothesis`.
        options: Dictionary of the options that were changed.
        prefix: Str that the translations begin with. Defaults to none.
    """
    # A search that writes trees ends them before the limit.
    if translator.linearization or not text.strip():
        return []
    best = hypotheses[0]
    length = len(best.ids)
    if not length:
        (length,) = translator.num_tokens([best.text], of_targets=True)
    is_cut = length >= translator.length_limit(text, prefix, **options)
    return [REACHED_LIMIT] if is_cut else []


def _joined(parts):
    """Returns the translation of a text from those of its parts."""
    if len(parts) == 1:
        return parts[0]
    num_hypotheses = min(len(part.hypotheses) for part in parts)
    hypotheses = []
    for rank in range(num_hypotheses):
        ranked = [part.hypotheses[rank] for part in parts]
        hypotheses.append(
            Hypothesis(
                " ".join(one.text for one in ranked if one.text),
                sum(one.score for one in ranked) / len(ranked),
            )
        )
    limits = [warning for part in parts for warning in part.warnings]
    return Translation(hypotheses, [SPLIT, *limits[:1]])
