"""The scripts that letters belong to, such as Latin and Cyrillic."""

import difflib
import functools
import unicodedata

SCRIPTS = (
    *("arabic", "armenian", "bengali", "cyrillic", "devanagari", "ethiopic"),
    *("georgian", "greek", "gujarati", "gurmukhi", "han", "hangul", "hebrew"),
    *("hiragana", "kannada", "katakana", "khmer", "lao", "latin", "malayalam"),
    *("mongolian", "myanmar", "oriya", "sinhala", "tamil", "telugu", "thai"),
    "tibetan",
)
_SCRIPT_OF_NAME = {name.upper(): name for name in SCRIPTS} | {"CJK": "han"}
_WIDTHS = ("FULLWIDTH", "HALFWIDTH")


def parse_scripts(text, name):
    """Returns the scripts of a text such as `han,hiragana,katakana`.

    Args:
        text: Names of `SCRIPTS`, separated by commas.
        name: What the error message calls the text, such as
            "`--source_script`".

    Raises:
        ValueError: If a name is unknown.
    """
    scripts = frozenset(part.strip().lower() for part in text.split(","))
    for script in sorted(scripts - set(SCRIPTS)):
        close = difflib.get_close_matches(script, SCRIPTS)
        hint = f"Did you mean: {', '.join(close)}? " if close else ""
        raise ValueError(
            f"{name} must be scripts, separated by commas. Received: "
            f"{script!r}. {hint}Use some of: {', '.join(SCRIPTS)}."
        )
    return scripts


@functools.lru_cache(maxsize=None)
def script_of(character):
    """Returns the script of a letter, or None.

    Digits, punctuation and signs such as `ª` have no script.

    Example:

    >>> [script_of(character) for character in "aж漢カ7"]
    ['latin', 'cyrillic', 'han', 'katakana', None]
    """
    if not character.isalpha():
        return None
    words = unicodedata.name(character, "").split()
    if words and words[0] in _WIDTHS:
        del words[0]
    return _SCRIPT_OF_NAME.get(words[0]) if words else None


def is_mostly_in(text, scripts):
    """Returns whether at least half of the letters are of some scripts.

    A text without letters is in every script.

    Args:
        text: The text.
        scripts: Set of names of `SCRIPTS`.

    Example:

    >>> is_mostly_in("Windows XP работает быстро.", {"cyrillic"})
    True
    """
    # The usual case needs no look at each letter.
    if "latin" in scripts and text.isascii():
        return True
    scripts_of_letters = [s for s in map(script_of, text) if s]
    num_inside = sum(script in scripts for script in scripts_of_letters)
    return 2 * num_inside >= len(scripts_of_letters)
