"""Disturbances: careless ways to write a text, which a model rarely sees.

Each is a pure function of a text and a `random.Random`, and is named like the
function. Training applies some of them to its sources (see `source_noise`), and
`kt-evaluate --stress` measures how much each one costs. Words that look like
code, such as `%s`, `--option`, `<fr>` or `v2`, keep their case and letters.
"""

import random
import re
import unicodedata

TYPO_SHARE = 0.15  # of the words that are long enough
EMOJI = "😀😂🙏👍🎉😢🤔🔥"

WORD = re.compile(r"\S+")
CODE = re.compile(r"[\d<>\[\]{}@#$%&*=_/\\|~^+`]|^-")
LETTER = re.compile(r"[^\W\d_]")
_FINAL_PUNCTUATION = re.compile(r"(?<=\w)\s*[.!?…。！？।؟]+\s*$")
# Marks on Latin and Greek letters. Others can be vowels, or make new letters.
_ACCENTED = re.compile("([A-Za-z\u00c0-\u03ff])[\u0300-\u036f]+")


def capitals(text, generator):
    """Writes all words in capitals.

    >>> capitals("Use --help, or read it.", None)
    'USE --help, OR READ IT.'
    """
    return _change_words(text, str.upper)


def lower_case(text, generator):
    """Writes all words in small letters."""
    return _change_words(text, str.lower)


def title_case(text, generator):
    """Begins all words with a capital.

    >>> title_case("a dog isn't (quite) well-known.", None)
    "A Dog Isn't (Quite) Well-known."
    """
    return _change_words(text, capitalize)


def capitalize(word):
    """Writes the first letter of a word as a capital.

    >>> capitalize("(quite)")
    '(Quite)'
    """
    return LETTER.sub(lambda match: match[0].upper(), word, count=1)


def typos(text, generator):
    """Swaps, drops or doubles a letter in some words, at least in one."""
    words = text.split(" ")
    places = [
        place
        for place, word in enumerate(words)
        if len(LETTER.findall(word)) > 3 and not CODE.search(word)
    ]
    num_typos = min(len(places), max(1, round(TYPO_SHARE * len(places))))
    for place in generator.sample(places, num_typos):
        words[place] = _mistype(words[place], generator)
    return " ".join(words)


def missing_accents(text, generator):
    """Drops the accents of Latin and Greek letters.

    >>> missing_accents("¿Qué? Ça va, Jürgen. й が", None)
    '¿Que? Ca va, Jurgen. й が'
    """
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _ACCENTED.sub(r"\1", decomposed))


def missing_final_punctuation(text, generator):
    """Drops the full stop, or another mark, at the end.

    >>> missing_final_punctuation("Who is there?!", None)
    'Who is there'
    """
    return _FINAL_PUNCTUATION.sub("", text)


def doubled_spaces(text, generator):
    """Writes two spaces for one."""
    return text.replace(" ", "  ")


def emoji(text, generator):
    """Appends one of `EMOJI`."""
    return f"{text} {generator.choice(EMOJI)}"


# Training lacks two of them. Vocabularies read doubled spaces as one space, and
# since targets stay clean, a model would learn to delete emoji.
OF_TRAINING = (
    capitals,
    lower_case,
    title_case,
    typos,
    missing_accents,
    missing_final_punctuation,
)
ALL = (*OF_TRAINING, doubled_spaces, emoji)


def disturb(text, generator):
    """Applies one disturbance of `OF_TRAINING` that changes the text.

    Each is equally likely. A text that none of them changes stays as it is.
    """
    for change in generator.sample(OF_TRAINING, len(OF_TRAINING)):
        if (disturbed := change(text, generator)) != text:
            return disturbed
    return text


def drop_emoji(text):
    """Returns a text without one of the `EMOJI` at its end.

    >>> drop_emoji("Hola 😂. 😀")
    'Hola 😂.'
    """
    return re.sub(rf"\s*[{EMOJI}]$", "", text)


def disturb_all(texts, change):
    """Applies one disturbance to a test set, always in the same way."""
    generator = random.Random(change.__name__)
    return [change(text, generator) for text in texts]


def _change_words(text, change):
    def change_word(match):
        word = match[0]
        return word if CODE.search(word) else change(word)

    return WORD.sub(change_word, text)


def _mistype(word, generator):
    # People rarely mistype the first letter of a word.
    places = [match.start() for match in LETTER.finditer(word)][1:]
    place = generator.choice(places[:-1])
    head, letter, tail = word[:place], word[place], word[place + 1 :]
    return generator.choice(
        [
            head + tail[0] + letter + tail[1:],
            head + tail,
            head + 2 * letter + tail,
        ]
    )
