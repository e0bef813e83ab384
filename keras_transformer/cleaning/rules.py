"""Rules that judge a pair of sentences by itself.

The functions `is_...` return whether their rule drops a pair, and `drop_...`
return such a function for given limits. A limit that a sentence of one or two
words could break has a margin, so that no good short pair is lost.
"""

import dataclasses
import re
from collections.abc import Callable

from keras_transformer.cleaning.duplicates import normal_form
from keras_transformer.cleaning.scripts import is_mostly_in

# Sides that are the same up to this length are often right: names, numbers,
# "No." in Spanish.
MAX_IDENTICAL_CHARACTERS = 30
# A short sentence may be many times as long as its translation: "Help!" and
# "¡Socorro! ¡Auxilio!".
RATIO_MARGIN = 20

_CONTROLS = "\x00-\x08\x0a-\x1f\x7f-\x9f"  # without the tab
# The bytes 0x80 to 0xbf of UTF-8 as Latin-1 and Windows-1252 show them. The
# quotes, dashes and the ellipsis are missing, since they may follow a capital
# letter: „Ä“.
_REST = "\xa0-\xaa\xac-\xba\xbc-\xbf€ƒ†‡ˆ‰Š‹ŒŽ˜™š›œžŸ"
_BROKEN = re.compile(
    "\ufffd"  # the sign for bytes that a program could not decode
    f"|[{_CONTROLS}]"
    f"|[ÂÃÄÅ][{_REST}]"  # "Ã¤" for "ä"
    r"|[ÂÃÄÅ][«»](?=[^\W\d_])"  # "NoÃ«l", but not "«Å»"
    "|â€"  # the start of a quote or a dash
    f"|(?:[ÐÑ][{_REST}«»]){{2}}"  # Cyrillic
)
# What every match of the above starts with. A search for a single character is
# six times as fast, and nearly all text passes it.
_SUSPECT = re.compile(f"[\ufffd{_CONTROLS}ÂÃÄÅâÐÑ]")


@dataclasses.dataclass(frozen=True)
class PairRule:
    """Drops the pairs for which a function says so."""

    name: str  # in `--rules` and in the report
    drops: Callable  # function of the source and the target

    def find_drops(self, pairs):
        """Returns a list that tells for each pair whether it is dropped."""
        return [self.drops(source, target) for source, target in pairs]


def is_empty(source, target):
    """Returns whether one side holds no text."""
    return not source or not target or source.isspace() or target.isspace()


def is_identical(source, target):
    """Returns whether a whole sentence is the same on both sides.

    >>> is_identical("No.", "No.")
    False
    >>> is_identical(*["This line was never translated at all."] * 2)
    True
    """
    return source == target and len(source) > MAX_IDENTICAL_CHARACTERS


def drop_too_long(max_length):
    """Returns the function of a rule against sides of too many characters."""

    def is_too_long(source, target):
        return len(source) > max_length or len(target) > max_length

    return is_too_long


def drop_uneven(max_ratio):
    """Returns the function of a rule against sides of different lengths.

    >>> is_uneven = drop_uneven(4)
    >>> is_uneven("Help!", "¡Socorro! ¡Auxilio!")
    False
    >>> is_uneven("@@", "Young girls weave corn stalks.")
    True
    """

    def is_uneven(source, target):
        shorter, longer = sorted((len(source), len(target)))
        return longer > max_ratio * shorter + RATIO_MARGIN

    return is_uneven


def is_broken(source, target):
    """Returns whether the encoding of one side is broken.

    Signs of it are U+FFFD, control characters, and UTF-8 that a program took
    for Latin-1 or Windows-1252.

    >>> is_broken("A bear", "Ein BÃ¤r")
    True
    """
    return _is_broken(source) or _is_broken(target)


def _is_broken(text):
    return bool(_SUSPECT.search(text) and _BROKEN.search(text))


def drop_wrong_script(source_scripts, target_scripts):
    """Returns the function of a rule against sides mostly in other scripts."""

    def is_in_wrong_script(source, target):
        return bool(
            (source_scripts and not is_mostly_in(source, source_scripts))
            or (target_scripts and not is_mostly_in(target, target_scripts))
        )

    return is_in_wrong_script


def drop_held_out(lines):
    """Returns the function of a rule against sentences of dev or test."""
    forms = frozenset(map(normal_form, lines)) - {""}

    def is_held_out(source, target):
        return normal_form(source) in forms or normal_form(target) in forms

    return is_held_out
