"""The scripts that letters belong to, such as Latin and Cyrillic."""

import functools
import unicodedata

from keras_transformer.errors import UserError
from keras_transformer.fields import did_you_mean

# Those in use today: the recommended and the limited-use scripts of Unicode's
# Annex 31, and a few more with text on the web.
SCRIPTS = (
    *("adlam", "arabic", "armenian", "balinese", "bamum", "batak", "bengali"),
    *("bopomofo", "buginese", "canadian_aboriginal", "chakma", "cham"),
    *("cherokee", "coptic", "cyrillic", "devanagari", "ethiopic", "georgian"),
    *("greek", "gujarati", "gurmukhi", "han", "hangul", "hanifi_rohingya"),
    *("hebrew", "hiragana", "javanese", "kannada", "katakana", "kayah_li"),
    *("khmer", "lao", "latin", "lepcha", "limbu", "lisu", "malayalam"),
    *("mandaic", "meetei_mayek", "miao", "mongolian", "myanmar", "new_tai_lue"),
    *("newa", "nko", "nyiakeng_puachue_hmong", "ol_chiki", "oriya", "osage"),
    *("saurashtra", "sinhala", "sundanese", "syloti_nagri", "syriac", "tai_le"),
    *("tai_tham", "tai_viet", "tamil", "telugu", "thaana", "thai", "tibetan"),
    *("tifinagh", "vai", "wancho", "yi"),
)
# What the Unicode names of the letters of a script start with.
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
