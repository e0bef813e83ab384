"""Translations with what is known of them, and parts of long texts."""

import dataclasses
import re
import typing
from collections.abc import Sequence

from keras_transformer.data.memory.store import Match
from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.placeholders import Placeholders

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


class CallOptions(typing.TypedDict, total=False):
    """The other arguments of a call of a translator, for type checkers."""

    beam_size: int | None
    alpha: float | None
    extra_length: int | None
    min_length: int | None
    no_repeat_ngram_size: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    mbr_samples: int | None
    constrained: bool | None
    prefixes: list[str] | None
    seed: int
    glossary: Glossary | None
    protect: Placeholders | None
    repair: bool


class Translation(typing.NamedTuple):
    """The hypotheses of a text, and what a caller asked about them."""

    hypotheses: list[Hypothesis]  # best first
    warnings: Sequence[str] = ()  # the constants above, and `alarms.REASONS`
    links: WordLinks | None = None  # of the best hypothesis
    quality: float | None = None  # of the best one, see `scoring.quality`
    matches: Sequence[Match] = ()  # what a memory gave for the best one


@dataclasses.dataclass(frozen=True)
class Extras:
    """What `Translator.translate_window` does besides finding hypotheses."""

    max_tokens: int | None = None  # longer texts have the warning `TOO_LONG`
    splits: bool = False  # translates these in parts, with the warning `SPLIT`
    warns: bool = False  # finds all other warnings
    links_words: bool = False  # finds `links`
    scores_words: bool = False  # finds `links` with scores
    repairs: bool = False  # replaces doubtful ones; needs `warns`
    quality: typing.Any = None  # `QualityEstimate`, which judges if it `warns`


def translate_parts(translator, window, extras, call):
    """Translates a window in parts of at most `extras.max_tokens` tokens.

    `call` is the `Call` of the window.
    """
    all_parts = [
        split_long(text, extras.max_tokens, translator.count_tokens)
        for text in window.texts
    ]
    window = Window([part for parts in all_parts for part in parts])
    extras = dataclasses.replace(extras, max_tokens=None, splits=False)
    translations = iter(
        translator.translate_window(
            window,
            seed=call.seed,
            glossary=call.glossary,
            protect=call.protect,
            extras=extras,
            **dataclasses.asdict(call.options),
        )
    )
    joined = []
    for parts in all_parts:
        of_text = [next(translations) for _ in parts]
        whole = join_translations(
            of_text, lambda texts: " ".join(filter(None, texts))
        )
        whole = whole._replace(warnings=[SPLIT, *whole.warnings])
        joined.append(whole if len(parts) > 1 else of_text[0])
    return joined


def join_translations(translations, join):
    """Joins the translations of the parts of a text, without links.

    `join` makes one text of several. Scores are averaged, and the quality is
    that of the worst part.
    """
    hypotheses = [
        Hypothesis(
            join([one.text for one in ranked]),
            sum(one.score for one in ranked) / len(ranked),
        )
        for ranked in zip(*(each.hypotheses for each in translations))
    ]
    qualities = [one.quality for one in translations if one.quality is not None]
    return Translation(
        hypotheses or [Hypothesis(join([]), 0.0)],
        list(dict.fromkeys(w for one in translations for w in one.warnings)),
        quality=min(qualities, default=None),
        matches=[match for one in translations for match in one.matches],
    )


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
