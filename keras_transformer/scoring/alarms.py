"""Signs that a translation does not fit its source.

The limits were chosen on pairs that people translated: 220,000 of software,
English to Italian, and 141,000 of Tatoeba and Multi30k. They raise an alarm for
1 in 4,000 of the former, of which about half are faults of alignment, and for 2
of the latter, whose translation is "@@".
"""

import re

REASONS = {
    "loop": "has a translation that repeats itself",
    "much_longer": "has a translation that is far too long",
    "much_shorter": "has a translation that is far too short",
    "low_score": "has a translation with an unusually low score",
}
# A text and its translation differ in length by less than this factor.
LENGTH_FACTOR = 2
LENGTH_SLACK = 40  # characters, for short texts
# A loop is a phrase of at most this many units, this many times in a row.
WORD_LOOP = 8, 2.5  # "frammenti di frammenti di frammenti" has 2.5
CHARACTER_LOOP = 4, 10
# Sources repeat themselves, too: "no, no, no", or a ruler of dashes.
SOURCE_FACTOR = 1.5

# The letter of %s is not a word, but ISO-639 is.
_WORD = re.compile(r"\w\S*\w")
# A loop of characters. Most texts have none, and this finds that out quickly.
_REPEATED = re.compile(
    rf"(.{{1,{CHARACTER_LOOP[0]}}})\1{{{CHARACTER_LOOP[1] - 1}}}", re.DOTALL
)
# Chinese, Japanese and Korean need fewer characters.
_DENSE = re.compile("[\u2e80-\uffef]")


def find_alarms(source, translation):
    """Returns the names of the `REASONS` to doubt a translation, a list.

    "low_score" is not among them: it needs the `evaluation.quality` of a run.

    >>> find_alarms("fragmentation", "frammenti di frammenti di frammenti")
    ['loop']
    >>> find_alarms("No, no, no!", "¡No, no, no!")
    []
    """
    if not source.strip():
        return []
    source_length, length = map(_measure, (source, translation))
    found = {
        "loop": _has_loop(source, translation, _find_words, *WORD_LOOP)
        or bool(_REPEATED.search(translation))
        and _has_loop(source, translation, str, *CHARACTER_LOOP),
        "much_longer": length > LENGTH_FACTOR * source_length + LENGTH_SLACK,
        "much_shorter": source_length > LENGTH_FACTOR * length + LENGTH_SLACK,
    }
    return [name for name in found if found[name]]


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


def _measure(text):
    return len(text) + 2 * len(_DENSE.findall(text))
