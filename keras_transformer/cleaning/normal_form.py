"""The form of a sentence in which near duplicates are the same."""

import unicodedata


class _LettersOnly(dict):
    """A table for `str.translate` that learns each character when it comes."""

    def __missing__(self, code):
        character = chr(code)
        # Marks belong to the letters: they are the vowels of Hindi and Thai.
        is_letter = unicodedata.category(character)[0] in "LM"
        self[code] = character.casefold() if is_letter else None
        return self[code]


_LETTERS_ONLY = _LettersOnly()


def normal_form(text):
    """Returns a text without case, punctuation, digits and spaces.

    Example:

    >>> normal_form("Room 101, please!") == normal_form("room 7 PLEASE")
    True
    """
    return unicodedata.normalize("NFKC", text).translate(_LETTERS_ONLY)
