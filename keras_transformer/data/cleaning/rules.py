"""Rules that judge a pair of sentences by itself.

The functions `is_...` and `has_...` of a side, or of both, return whether their
rule drops the pair, and `drop_...` return such functions for given limits.
Limits that a sentence of one or two words could break have a margin.
"""

import dataclasses
import functools
import re
import unicodedata
from collections.abc import Callable

from keras_transformer.data.text.language_detector import load_detector
from keras_transformer.errors import UserError
from keras_transformer.errors import did_you_mean

# Those in use today: the recommended and the limited-use scripts of Unicode's
# Annex 31, and a few more with text on the web.
SCRIPTS = tuple(
    "adlam arabic armenian balinese bamum batak bengali bopomofo buginese "
    "canadian_aboriginal chakma cham cherokee coptic cyrillic devanagari "
    "ethiopic georgian greek gujarati gurmukhi han hangul hanifi_rohingya "
    "hebrew hiragana javanese kannada katakana kayah_li khmer lao latin "
    "lepcha limbu lisu malayalam mandaic meetei_mayek miao mongolian myanmar "
    "new_tai_lue newa nko nyiakeng_puachue_hmong ol_chiki oriya osage "
    "saurashtra sinhala sundanese syloti_nagri syriac tai_le tai_tham "
    "tai_viet tamil telugu thaana thai tibetan tifinagh vai wancho yi".split()
)
# Prefixes of the Unicode names of a script's letters.
_SCRIPT_OF_NAME = {name.upper().replace("_", " "): name for name in SCRIPTS} | {
    "CANADIAN SYLLABICS": "canadian_aboriginal",
    "CJK": "han",
}
_WIDTHS = ("FULLWIDTH", "HALFWIDTH")


def parse_scripts(text, name):
    """Returns the scripts of a text such as `han,hiragana,katakana`."""
    scripts = frozenset(part.strip().lower() for part in text.split(","))
    for script in sorted(scripts - set(SCRIPTS)):
        raise UserError(
            f"{name} must be scripts, separated by commas. Received: "
            f"{script!r}. {did_you_mean(script, SCRIPTS)}Use some of: "
            f"{', '.join(SCRIPTS)}."
        )
    return scripts


@functools.lru_cache(maxsize=None)
def script_of(character):
    """Returns the script of a letter, or None.

    Digits, punctuation and signs such as `ª` have no script.

    >>> [script_of(character) for character in "aж漢カ7"]
    ['latin', 'cyrillic', 'han', 'katakana', None]
    """
    if not character.isalpha():
        return None
    words = unicodedata.name(character, "").split()
    if words and words[0] in _WIDTHS:
        del words[0]
    starts = (" ".join(words[:number]) for number in (1, 2, 3))
    scripts = filter(None, map(_SCRIPT_OF_NAME.get, starts))
    return next(scripts, None)


def is_mostly_in(text, scripts):
    """Returns whether at least half of any letters are of some scripts.

    >>> is_mostly_in("Windows XP работает быстро.", {"cyrillic"})
    True
    """
    # The usual case needs no look at each letter.
    if "latin" in scripts and text.isascii():
        return True
    scripts_of_letters = [s for s in map(script_of, text) if s]
    num_inside = sum(script in scripts for script in scripts_of_letters)
    return 2 * num_inside >= len(scripts_of_letters)


# Equal sides up to this length are often right: names, numbers, Spanish "No.".
MAX_IDENTICAL_CHARACTERS = 30
# A good short pair may be as uneven as "Help!" and "¡Socorro! ¡Auxilio!".
RATIO_MARGIN = 20

_CONTROLS = "\x00-\x08\x0a-\x1f\x7f-\x9f"  # without the tab
# The bytes 0x80 to 0xbf of UTF-8 as Latin-1 and Windows-1252 show them. Quotes,
# dashes and the ellipsis are missing, since they may follow a capital: „Ä“.
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


class _LettersOnly(dict):
    """A table for `str.translate` that is filled as characters occur."""

    def __missing__(self, code):
        character = chr(code)
        # Marks belong to the letters: they are the vowels of Hindi and Thai.
        is_letter = unicodedata.category(character)[0] in "LM"
        self[code] = character.casefold() if is_letter else None
        return self[code]


_LETTERS_ONLY = _LettersOnly()


def normal_form(text):
    """Returns a text without case, punctuation, digits and spaces.

    >>> normal_form("Room 101, please!") == normal_form("room 7 PLEASE")
    True
    """
    return unicodedata.normalize("NFKC", text).translate(_LETTERS_ONLY)


@dataclasses.dataclass(frozen=True)
class PairRule:
    """Drops the pairs for which a function says so."""

    name: str  # in `--rules` and in the report
    drops: Callable  # function of the source and the target

    def find_drops(self, pairs):
        """Returns a list that tells for each pair whether it is dropped."""
        return [self.drops(source, target) for source, target in pairs]


def make_side_rule(name, drops_source, drops_target=None):
    """Returns the rule that drops pairs with a side that a function drops.

    Both sides have the same function if only one is given.
    """
    drops_target = drops_target or drops_source
    return PairRule(name, lambda s, t: drops_source(s) or drops_target(t))


def is_empty(text):
    """Returns whether a side holds no text, or only invisible characters."""
    # Control characters, and format characters such as U+200B.
    return all(
        character.isspace() or unicodedata.category(character) in ("Cc", "Cf")
        for character in text
    )


def is_identical(source, target):
    """Returns whether a whole sentence is the same on both sides.

    >>> is_identical("No.", "No.")
    False
    >>> is_identical(*["This line was never translated at all."] * 2)
    True
    """
    return source == target and len(source) > MAX_IDENTICAL_CHARACTERS


def is_uneven(source, target, max_ratio):
    """Returns whether the lengths of the sides are too different.

    >>> is_uneven("Help!", "¡Socorro! ¡Auxilio!", max_ratio=4)
    False
    >>> is_uneven("@@", "Young girls weave corn stalks.", max_ratio=4)
    True
    """
    shorter, longer = sorted((len(source), len(target)))
    return longer > max_ratio * shorter + RATIO_MARGIN


def is_broken(text):
    """Returns whether the encoding of a side is broken.

    Signs of it are U+FFFD, control characters, and UTF-8 that a program took
    for Latin-1 or Windows-1252.

    >>> is_broken("Ein BÃ¤r")
    True
    """
    return bool(_SUSPECT.search(text) and _BROKEN.search(text))


# An opening or closing tag of HTML. The letter after "<" and the list of names
# leave comparisons ("a < b") and placeholders ("<file>") alone.
_MARKUP = re.compile(
    r"</?(?:a|abbr|article|b|blockquote|body|br|caption|center|code|dd|div|dl"
    r"|dt|em|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img"
    r"|input|label|li|link|meta|nav|ol|option|p|pre|script|section|small|span"
    r"|strong|style|sub|sup|table|tbody|td|th|thead|title|tr|tt|u|ul)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)


def has_markup(text):
    """Returns whether a side has a tag of HTML.

    >>> has_markup("<p class='x'>A bear</p>")
    True
    >>> has_markup("Open <file> if a < b.")
    False
    """
    return bool(_MARKUP.search(text))


def drop_other_scripts(scripts):
    """Returns the function of a rule against other scripts; None allows all."""
    return lambda text: bool(scripts) and not is_mostly_in(text, scripts)


def drop_held_out(lines):
    """Returns the function of a rule against sentences of dev or test."""
    forms = frozenset(map(normal_form, lines)) - {""}
    return lambda text: normal_form(text) in forms


# A less confident guess drops no pair: a short one may fit several languages.
MIN_CONFIDENCE = 0.8


def drop_wrong_language(source_language, target_language):
    """Returns the functions of a rule against sides in another language.

    There is one function for each side. They use fastText's small model of 176
    languages (Joulin et al., 2017). None stands for any language.
    """
    detect = load_detector("The rule language")
    languages = detect("a")
    codes = source_language, target_language
    for name, language in zip(("source_language", "target_language"), codes):
        if language and language not in languages:
            suggestion = did_you_mean(language, languages, cutoff=0.5)
            raise UserError(
                f"`{name}` must be a code that the identifier knows. Received: "
                f"{language!r}. {suggestion}Most codes have two letters, such "
                "as en."
            )

    def is_in_another(language, text):
        return bool(language) and any(
            score > MIN_CONFIDENCE and guess != language
            for guess, score in detect(text, 1).items()
        )

    return [functools.partial(is_in_another, code) for code in codes]
