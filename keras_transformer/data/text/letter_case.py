"""Restores the usual case of texts in capitals, title case or small letters.

A model that has seen few such texts translates them badly, since a vocabulary
spells DOG with other subwords than dog, often letter by letter.
"""

import re

from keras_transformer.data.text.disturbances import CODE
from keras_transformer.data.text.disturbances import LETTER
from keras_transformer.data.text.disturbances import WORD
from keras_transformer.data.text.disturbances import capitalize
from keras_transformer.token_ids import UNKNOWN_ID

MIN_WORDS = 2  # of a text in capitals; a single one can be an acronym
MIN_TITLE_WORDS = 4  # of a text in title case; fewer can be a name
MIN_SENTENCE_WORDS = 4  # of one in small letters; fewer can be a heading
# Smaller ids belong to the most frequent subwords, such as "of".
MAX_FREQUENT_ID = 500
# A sentence in small letters is changed if its first word, with a capital, has
# a smaller id, such as "Several". Another word may be the name of a program.
MAX_FIRST_ID = 2_000
# A spelling with capitals counts as this many times rarer than it is. In a
# vocabulary of English and German, "Hand" may be more frequent than "hand".
CAPITAL_FACTOR = 2

MANY = 1_000_000  # subwords

# A word without the punctuation around it.
_CORE = re.compile(r"[^\W\d_](?:.*[^\W\d_])?")
_SENTENCE_ENDS = (".", "!", "?", "…")


def restore_case(texts, vocabulary):
    """Restores the usual case of texts that lost it.

    A text is changed if one of these is true:

    - All words are in capitals.
    - All words begin with a capital, and one is as frequent as "of", which real
      titles do not capitalise.
    - All words are in small letters, the text ends with a full stop or the
      like, and its first word often begins with a capital.
    - The vocabulary has no capitals, and the words begin with them.

    Each word is then written in small letters, with a first capital or as it
    was, whichever takes the fewest subwords and, among these, the most frequent
    ones. This gives "the", "Tom" and "USA"; a vocabulary that was trained on
    capitals keeps them. A sentence begins with a capital if the vocabulary has
    any. Words that look like code stay as they are; see `disturbances`. In the
    `vocabulary` of the sources, more frequent subwords have smaller ids.
    """
    has_capitals = vocabulary.has_capitals
    rows = [_find_words(text, has_capitals) for text in texts]
    if not any(rows):
        return list(texts)
    ranks = _rank_spellings(rows, vocabulary)
    return [
        _rewrite(text, row, ranks, has_capitals)
        if row and _has_lost_case(row, ranks, vocabulary)
        else text
        for text, row in zip(texts, rows)
    ]


def _find_words(text, has_capitals):
    """Returns matches of the words that have case, if they may have lost it.

    The list is empty for a text that is certainly in the usual case. Without
    capitals in the vocabulary, small letters are the usual case.
    """
    is_sentence = has_capitals and _ends_sentence(text.rstrip())
    if not is_sentence and text == text.lower():
        return []
    matches = []
    for match in WORD.finditer(text):
        word = match[0]
        has_case = LETTER.search(word) and word.upper() != word.lower()
        if not has_case or CODE.search(word):
            continue
        matches.append(match)
        # Text in the usual case ends here, mostly at its second word.
        if _begins_small(match) != _begins_small(matches[0]):
            return []
    if not matches or not has_capitals:
        return matches
    if _are_all(matches, str.islower):
        is_enough = is_sentence and len(matches) >= MIN_SENTENCE_WORDS
    elif _are_all(matches, str.isupper):
        is_enough = len(matches) >= MIN_WORDS
    else:
        is_title = not _begins_small(matches[0])
        is_enough = is_title and len(matches) >= MIN_TITLE_WORDS
    return matches if is_enough else []


def _begins_small(match):
    return LETTER.search(match[0])[0].islower()


def _are_all(matches, has_case):
    return all(has_case(match[0]) for match in matches)


def _ends_sentence(text):
    return text[-3:].rstrip("\"')»”’")[-1:] in _SENTENCE_ENDS


def _has_lost_case(matches, ranks, vocabulary):
    if not _are_all(matches, str.islower):
        return (
            not vocabulary.has_capitals
            or _are_all(matches, str.isupper)
            or _has_frequent_word(matches, ranks)
        )
    # For "I've", the part before the apostrophe is looked up.
    first = capitalize(re.split("['’]", _CORE.search(matches[0][0])[0])[0])
    (ids,) = vocabulary.encode([first])
    return len(ids) == 2 and ids[0] <= MAX_FIRST_ID


def _has_frequent_word(matches, ranks):
    """Returns whether a later word, in small letters, is a frequent one."""
    words = [_spell(match[0])[1] for match in matches[1:]]
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
    for core, ids in zip(cores, vocabulary.encode(list(cores))):
        # Without the end id. What is unknown is the last choice.
        count = len(ids) - 1
        if UNKNOWN_ID in ids:  # once for any number of characters in a row
            count += MANY * (1 + len(vocabulary.find_missing([core])))
        cores[core] = count, max([0, *ids[:-1]])
    return cores


def _spell(word):
    """Returns a word as it is, in small letters, and with a first capital.

    The word itself replaces spellings that would move the text after it.
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
            spellings = [s for s in spellings if not s.islower()] or spellings
        pieces += [text[end : match.start()], min(spellings, key=cost)]
        end = match.end()
        is_start = _ends_sentence(match[0])
    return "".join([*pieces, text[end:]])
