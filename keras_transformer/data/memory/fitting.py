"""Fits a stored translation to a sentence that differs by names."""

import difflib
import re
import typing

from keras_transformer.data.memory import store

# On software text that people translated in order, these gained most.
MIN_SIMILARITY = 0.6
_NUM_CANDIDATES = 8
# Languages write numbers in different ways: 3.5 is 3,5, and 3 pm 15 Uhr.
_NUMBER = re.compile(r"\W*\d[\d\W]*")
# Words with digits, inner signs or two capitals, which any language copies.
_CODE = re.compile(
    rf"(?!{_NUMBER.pattern}\Z)"
    r"(?:\W*|.*(?:[\d_]|\w\W+\w|[A-Z].*[A-Z]).*)"
)


class Recalled(typing.NamedTuple):
    """A translation that comes from a memory, and the pair behind it."""

    target: str
    match: store.Match


def recall(
    memory: store.TranslationMemory, source: str, translation: str
) -> Recalled | None:
    """Returns the last correction of a sentence, or of one like it, or None.

    A correction of the sentence itself counts before one of the most similar
    sentence that fits. `fit_target` explains this, and `translation`.
    """
    source = store.normalise(source)
    if pair := memory.find(source):
        return Recalled(pair.target, store.Match(pair, 1.0))
    for match in memory.find_similar(source, _NUM_CANDIDATES, MIN_SIMILARITY):
        if target := fit_target(*match.pair[:2], source, translation):
            return Recalled(target, match)
    return None


def fit_target(
    stored_source: str, stored_target: str, source: str, translation: str
) -> str | None:
    """Returns a stored target with the names of another sentence, or None.

    It fits if all words in which the sources differ are as often in the stored
    target, so that they are names, numbers or codes. What replaces them must
    look like a code, or be in `translation`, which a model made of `source`:
    other words would have to be translated. Only numbers replace numbers.

    >>> fit_target("Use tcl 8.", "Usate tcl 8.", "Use lua 9.", "Usa lua 9.")
    'Usate lua 9.'
    >>> fit_target("Use tcl 8.", "Usate tcl 8.", "Use it 9.", "Usalo 9.")
    """
    stored, new = (
        list(store.WORD.finditer(text)) for text in (stored_source, source)
    )
    words = [[word[0] for word in side] for side in (stored, new)]
    known = set(store.split_words(translation))
    names: dict[str, str] = {}
    matcher = difflib.SequenceMatcher(a=words[0], b=words[1], autojunk=False)
    for kind, *places in matcher.get_opcodes():
        if kind == "equal":
            continue
        if kind != "replace":
            return None
        start, stop, new_start, new_stop = places
        old = stored_source[stored[start].start() : stored[stop - 1].end()]
        name = source[new[new_start].start() : new[new_stop - 1].end()]
        is_copied = all(
            word in known or _CODE.fullmatch(word)
            for word in words[1][new_start:new_stop]
        )
        is_number = [bool(_NUMBER.fullmatch(each)) for each in (old, name)]
        is_copied &= is_number[0] == is_number[1]
        if not is_copied or names.setdefault(old, name) != name:
            return None
    if not names:  # only spaces differ
        return stored_target
    # A sign alone, such as a comma, is no name.
    if not all(re.search(r"\w", old) for old in names):
        return None
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    pattern = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)")
    sides = stored_source, stored_target
    exchanged = [pattern.sub(lambda match: names[match[0]], x) for x in sides]
    found = [sorted(pattern.findall(side)) for side in sides]
    # An exchange that misses the new source would also spoil the target.
    if found[0] != found[1] or store.split_words(exchanged[0]) != words[1]:
        return None
    return exchanged[1]
