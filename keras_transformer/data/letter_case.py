"""Texts in capitals and in title case, as a vocabulary would write them.

A model that has seen few such texts translates them badly, since a vocabulary
spells DOG by other subwords than dog, often by its letters.
"""

import re

from keras_transformer.data.disturbances import CODE
from keras_transformer.token_ids import WORD_START

MIN_WORDS = 2  # of a text in capitals; a single one can be an acronym
MIN_TITLE_WORDS = 4  # of a text in title case; fewer can be a name
# Ids that belong to the most frequent subwords of a language, such as "the".
MAX_FREQUENT_ID = 500
# How many times as frequent a spelling with capitals must be. Where languages
# share a vocabulary, "Hand" is a word of both English and German.
CAPITAL_FACTOR = 2

_WORD = re.compile(r"\S+")
_LETTER = re.compile(r"[^\W\d_]")
# A word without the punctuation around it.
_CORE = re.compile(r"[^\W\d_](?:.*[^\W\d_])?")
_SENTENCE_ENDS = (".", "!", "?", "…")


def restore_case(texts, vocabulary):
    """Writes texts in capitals, or in title case, in the usual case.

    It changes a text whose words are all in capitals, or all begin with one
    though some of them are words as frequent as "of", which titles write small.
    Each word becomes that of its spellings which the vocabulary encodes in the
    fewest subwords and, among these, in the most frequent ones: the, Tom, USA.
    So a vocabulary that was trained on capitals keeps them. A sentence begins
    with a capital if the vocabulary has capitals. Words that look like code
    stay; see `data.disturbances`.

    Args:
        texts: List of str.
        vocabulary: The `Subwords` of the sources, whose earlier ids are the
            more frequent ones.

    Returns:
        A list of as many str.
    """
    rows = [_find_words(text) for text in texts]
    if not any(rows):
        return list(texts)
    ranks = _rank_spellings(rows, vocabulary)
    has_capitals = any(
        piece.isalpha() and piece.isupper()
        for piece in (p.lstrip(WORD_START) for p in vocabulary.all_pieces())
    )
    return [
        _rewrite(text, row, ranks, has_capitals)
        if _needs_change(row, ranks)
        else text
        for text, row in zip(texts, rows)
    ]


def _find_words(text):
    """Returns matches of the words that have case, if all have capitals."""
    matches = []
    for match in _WORD.finditer(text):
        letter = _LETTER.search(match[0])
        if not letter or CODE.search(match[0]):
            continue
        if letter[0].islower():
            return []
        if match[0].upper() != match[0].lower():
            matches.append(match)
    return matches


def _rank_spellings(rows, vocabulary):
    """Returns the number of subwords and the rarest one of each spelling."""
    cores = {
        _CORE.search(spelling)[0]: None
        for row in rows
        for match in row
        for spelling in _spell(match[0])
    }
    encoded = vocabulary.encode(list(cores))
    return {
        core: (len(ids) - 1, max(ids[:-1], default=0))  # without the end id
        for core, ids in zip(cores, encoded)
    }


def _spell(word):
    """Returns a word as it is, in small letters, and with a first capital.

    Both others are the word itself if they would be longer or shorter, so that
    places in the text stay what they are.
    """
    lower = word.lower()
    title = _LETTER.sub(lambda m: m[0].upper(), lower, count=1)
    return [s if len(s) == len(word) else word for s in (word, lower, title)]


def _needs_change(matches, ranks):
    words = [match[0] for match in matches]
    if all(map(str.isupper, words)):
        return len(words) >= MIN_WORDS
    return len(words) >= MIN_TITLE_WORDS and any(
        len(word) > 1
        and ranks[_CORE.search(word.lower())[0]] <= (1, MAX_FREQUENT_ID)
        for word in words[1:]
    )


def _rewrite(text, matches, ranks, has_capitals):
    def cost(spelling):
        count, rarest = ranks[_CORE.search(spelling)[0]]
        factor = 1 if spelling.islower() else CAPITAL_FACTOR
        return count, factor * rarest

    pieces, end, is_start = [], 0, True
    for match in matches:
        spellings = _spell(match[0])
        if has_capitals and is_start:
            del spellings[1]
        pieces += [text[end : match.start()], min(spellings, key=cost)]
        end = match.end()
        is_start = match[0][-3:].rstrip("\"')»”’")[-1:] in _SENTENCE_ENDS
    return "".join([*pieces, text[end:]])
