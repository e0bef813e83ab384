"""Signs that a translation does not fit its source.

The limits were chosen on human translations: 220,000 pairs of software,
English to Italian, and 141,000 of Tatoeba and Multi30k. Of the software pairs,
1 in 5,000 raises an alarm, and about half of these are misaligned. Of the
others, 2 do, with "@@" as translation.
"""

import re

import numpy as np

REASONS = {
    "loop": "has a translation that repeats itself",
    "much_longer": "has a translation that is far too long",
    "much_shorter": "has a translation that is far too short",
    "uncovered": "has a translation that leaves out a part of it",
    "message": "has a plural or select of ICU, which is kept untranslated",
    "unknown": "has text that the vocabulary lacks and the model cannot read; "
    "--unknown copies or omits it",
    "low_score": "has a translation with an unusually low score",
    "repaired": "is translated by another search, since the first translation "
    "was doubtful",
    "copied": "is copied, since it has no words that the model knows well and "
    "its translation was doubtful",
}
# Another search may find a translation without these.
FAULTS = ("loop", "much_longer", "much_shorter", "uncovered", "low_score")
# A text and its translation differ in length by less than this factor.
LENGTH_FACTOR = 2
LENGTH_SLACK = 40  # characters, for short texts
# A loop is a phrase of at most this many units, this many times in a row.
WORD_LOOP = 8, 2.5  # "frammenti di frammenti di frammenti" has 2.5
CHARACTER_LOOP = 4, 10
# A translation leaves out this many words in a row if none of its own words has
# this share of its attention for one of them.
UNCOVERED_WORDS = 4
COVERING_SHARE = 0.15
# Attention is searched for gaps if a translation is shorter than its source by
# this factor. Longer ones paraphrase what they seem to leave out.
SHORT_FACTOR = 1.5
# Sources repeat themselves, too: "no, no, no", or a ruler of dashes.
SOURCE_FACTOR = 1.5

# Letters after % are not a word. A hyphen divides words, because a loop may
# join its words by hyphens.
_WORD = re.compile(r"(?<![%\w])\w(?:[^\s-]*\w)?")
# A loop of characters. It quickly rules out most texts, which have none.
_REPEATED = re.compile(
    rf"(.{{1,{CHARACTER_LOOP[0]}}})\1{{{CHARACTER_LOOP[1] - 1}}}", re.DOTALL
)
# Chinese, Japanese and Korean need fewer characters.
_DENSE = re.compile("[\u2e80-\uffef]")


def find_alarms(source, translation):
    """Lists the names of the `REASONS` to doubt a translation.

    It never returns "uncovered", which needs attention (see `leaves_out`),
    "message", which needs placeholders, "unknown", which needs the vocabulary,
    "low_score", which needs the `scoring.quality` of a run, nor what
    `decoding.repair` has done.

    >>> find_alarms("fragmentation", "frammenti di frammenti di frammenti")
    ['loop']
    >>> find_alarms("No, no, no!", "¡No, no, no!")
    []
    """
    if not source.strip():
        return []
    source_length, length = map(measure_length, (source, translation))
    is_missing = any(map(str.isalnum, source)) and not translation.strip()
    is_raised = {
        "loop": _has_loop(source, translation, _find_words, *WORD_LOOP)
        or bool(_REPEATED.search(translation))
        and _has_loop(source, translation, str, *CHARACTER_LOOP),
        "much_longer": length > LENGTH_FACTOR * source_length + LENGTH_SLACK,
        "much_shorter": is_missing
        or source_length > LENGTH_FACTOR * length + LENGTH_SLACK,
    }
    return [name for name in is_raised if is_raised[name]]


def is_short(source, translation):
    """Returns whether a translation is so short that it may lack something."""
    return measure_length(source) > SHORT_FACTOR * measure_length(translation)


def leaves_out(links):
    """Returns whether a translation leaves out a part of its source.

    `links` are the `WordLinks` between words that spaces separate. Attention to
    punctuation does not count, because it translates no word.
    """
    is_word = [any(map(str.isalnum, word.text)) for word in links.source_words]
    shares = links.weights.max(axis=0, initial=0)[np.array(is_word, bool)]
    gap = longest_gap = 0
    for share in shares:
        gap = gap + 1 if share < COVERING_SHARE else 0
        longest_gap = max(longest_gap, gap)
    return longest_gap >= UNCOVERED_WORDS


def count_repetitions(units, longest):
    """Returns the largest number of times that a phrase occurs in a row.

    A part of the phrase at the end counts as a fraction. The phrase has at most
    `longest` of the `units`.

    >>> count_repetitions("a day by day by day".split(), longest=3)
    2.5
    """
    most = 1.0
    if len(set(units)) == len(units):
        return most
    for period in range(1, min(longest, len(units) - 1) + 1):
        length = 0
        for unit, next_unit in zip(units, units[period:]):
            length = length + 1 if unit == next_unit else 0
            most = max(most, 1 + length / period)
    return most


def _has_loop(source, translation, divide, longest, limit):
    repetitions = count_repetitions(divide(translation), longest)
    return repetitions >= limit and repetitions >= (
        SOURCE_FACTOR * count_repetitions(divide(source), longest)
    )


def _find_words(text):
    return _WORD.findall(text.casefold())


def measure_length(text):
    """Returns the number of characters; one of Chinese or Japanese is three."""
    return len(text) + 2 * len(_DENSE.findall(text))
