"""Writes texts in capitals, or in title case, as people usually write.

A model that has seen few such texts translates them badly, since a vocabulary
spells DOG by other subwords than dog, often letter by letter.
"""

import re

from keras_transformer.data.disturbances import CODE
from keras_transformer.data.disturbances import LETTER
from keras_transformer.data.disturbances import WORD
from keras_transformer.data.disturbances import capitalize

MIN_WORDS = 2  # of a text in capitals; a single one can be an acronym
MIN_TITLE_WORDS = 4  # of a text in title case; fewer can be a name
# Smaller ids are those of the most frequent subwords, such as "of".
MAX_FREQUENT_ID = 500
# A spelling with capitals counts as this many times rarer than it is. In a
# vocabulary of English and German, "Hand" may be more frequent than "hand".
CAPITAL_FACTOR = 2

# A word without the punctuation around it.
_CORE = re.compile(r"[^\W\d_](?:.*[^\W\d_])?")
_SENTENCE_ENDS = (".", "!", "?", "…")


def restore_case(texts, vocabulary):
    """Writes texts in capitals, or in title case, in the usual case.

    A text is changed if all its words are in capitals. It is also changed if
    all of them begin with a capital and one is as frequent as "of", which real
    titles do not capitalise. Each word is then written in small letters, with a
    first capital or as it was, whichever takes the fewest subwords and, among
    these, the most frequent ones. This gives the, Tom and USA, and a vocabulary
    that was trained on capitals keeps them. A sentence begins with a capital if
    the vocabulary has any. Words that look like code stay as they are; see
    `data.disturbances`.

    Args:
        texts: List of str.
        vocabulary: The `Subwords` of the sources. Its more frequent subwords
            have smaller ids.

    Returns:
        A list of as many str.
    """
    rows = [_find_words(text) for text in texts]
    if not any(rows):
        return list(texts)
    ranks = _rank_spellings(rows, vocabulary)
    return [
        _rewrite(text, row, ranks, vocabulary.has_capitals)
        if _is_in_capitals(row) or _has_frequent_word(row, ranks)
        else text
        for text, row in zip(texts, rows)
    ]


def _find_words(text):
    """Returns matches of the words that have case, if all have capitals.

    The list is empty if they are too few.
    """
    matches = []
    for match in WORD.finditer(text):
        letter = LETTER.search(match[0])
        if not letter or CODE.search(match[0]):
            continue
        if letter[0].islower():
            return []
        if match[0].upper() != match[0].lower():
            matches.append(match)
    limit = MIN_WORDS if _is_in_capitals(matches) else MIN_TITLE_WORDS
    return matches if len(matches) >= limit else []


def _is_in_capitals(matches):
    return all(match[0].isupper() for match in matches)


def _has_frequent_word(matches, ranks):
    """Returns whether a later word, in small letters, is a frequent one."""
    words = [match[0].lower() for match in matches[1:]]
    return any(
        len(word) > 1 and ranks[_CORE.search(word)[0]] <= (1, MAX_FREQUENT_ID)
        for word in words
    )


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

    A spelling of another length is replaced by the word itself, so that no
    place in the text moves.
    """
    lower = word.lower()
    spellings = word, lower, capitalize(lower)
    return [s if len(s) == len(word) else word for s in spellings]


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
