"""Text processing of transformers' `MarianTokenizer`, apart from pieces."""

import re

# The languages of multilingual models, as in ">>fra<< A dog runs."
_LANGUAGE_CODE = re.compile("(>>.*?<<)?(.*)", re.DOTALL)
_LANGUAGE_PIECE = re.compile(">>(.+)<<")
# What `clean_up_tokenization` replaces, in this order.
CLEANED = {
    **{f" {mark}": mark for mark in ".?!,"},
    " ' ": "'",
    **{f" {end}": end for end in ("n't", "'m", "'s", "'ve", "'re")},
}


def split_language_code(text):
    """Returns the language code at the start of a text, and what follows.

    >>> split_language_code(">>fra<< A dog."), split_language_code("A dog.")
    (('>>fra<<', ' A dog.'), ('', 'A dog.'))
    """
    code, rest = _LANGUAGE_CODE.match(text).groups()
    return code or "", rest


def find_languages(pieces):
    """Returns the languages whose codes are among the pieces of a table.

    >>> find_languages(["</s>", ">>fra<<", "a"])
    ['fra']
    """
    matches = map(_LANGUAGE_PIECE.fullmatch, pieces)
    return [match[1] for match in matches if match]


def clean_up(text):
    """Returns a text without the spaces before punctuation.

    >>> clean_up("They do n't run , do they ?")
    "They don't run, do they?"
    """
    for old, new in CLEANED.items():
        text = text.replace(old, new)
    return text
