"""How imported vocabularies spell text, apart from their pieces.

Vocabularies of Marian do as transformers' `MarianTokenizer` does.

To Tensor2Tensor, a text is a sequence of tokens: runs of letters and numbers,
and the runs of other characters between them. A single space between two words
is left out. Each token ends with `_`, and missing characters are escaped. The
spelling of `New_York is nice.` is `New_\\u_York_is_nice_._`.
"""

import itertools
import re
import unicodedata

# The languages of multilingual models, as in ">>fra<< A dog runs."
_LANGUAGE_CODE = re.compile("(>>.*?<<)?(.*)", re.DOTALL)
_LANGUAGE_PIECE = re.compile(">>(.+)<<")
# What `clean_up_tokenization` replaces, in this order.
CLEANED = {" .": ".", " ?": "?", " !": "!", " ,": ",", " ' ": "'"}
CLEANED |= {" n't": "n't", " 'm": "'m", " 's": "'s", " 've": "'ve"}
CLEANED |= {" 're": "'re"}


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


# Every vocabulary has the characters of escapes.
ESCAPE_CHARACTERS = frozenset("\\_u;0123456789")
ESCAPES = {"\\": "\\\\", "_": "\\u"}
_ESCAPE = re.compile(r"\\(\\|u|[0-9]+;)")
NO_CHARACTER = "\u3013"  # stands for the number of no character
# The piece of an id that no text has. No subtoken holds a line feed.
BLANK = "\n[0-9]+;"


def name_blank(place):
    """Returns the piece of an id that no text has and that has no text."""
    return f"\n{place};"


def is_alphanumeric(character):
    """Returns whether Unicode calls a character a letter or a number."""
    return unicodedata.category(character)[0] in "LN"


def spell_text(text, alphabet):
    """Returns the spelling of a text with the characters of an alphabet.

    >>> spell_text("Oh - that's 5\\u20ac.", set("Oh-tas.") | ESCAPE_CHARACTERS)
    'Oh_\\\\32;-\\\\32;_that_\\\\39;_s_5_\\\\8364;._'
    """
    tokens = [
        "".join(characters)
        for _, characters in itertools.groupby(text, is_alphanumeric)
    ]
    last = len(tokens) - 1
    spelling = []
    for place, token in enumerate(tokens):
        if token == " " and 0 < place < last:
            continue
        spelling += [_spell_character(c, alphabet) for c in token]
        spelling.append("_")
    return "".join(spelling)


def _spell_character(character, alphabet):
    if character in ESCAPES:
        return ESCAPES[character]
    # A line of the vocabulary file cannot hold a line feed.
    is_known = character in alphabet and character != "\n"
    return character if is_known else f"\\{ord(character)};"


def read_spelling(spelling):
    """Returns the text of a spelling by `spell_text` or by a model.

    >>> read_spelling("New_\\\\u_York_is_nice_._")
    'New_York is nice.'
    """
    parts = re.sub(BLANK, "", spelling).split("_")
    tokens = [_ESCAPE.sub(_read_escape, part) for part in parts]
    text, after_word = [], False
    for token in filter(None, tokens):
        is_word = is_alphanumeric(token[0])
        text += [" ", token] if is_word and after_word else [token]
        after_word = is_word
    return "".join(text)


def _read_escape(match):
    if not match[1].endswith(";"):
        return "_" if match[1] == "u" else "\\"
    digits = match[1][:-1].lstrip("0") or "0"
    number = int(digits) if len(digits) < 8 else 0x110000
    is_character = number < 0x110000 and not 0xD800 <= number < 0xE000
    return chr(number) if is_character else NO_CHARACTER
