"""Windows of texts, and the ids of the texts of a window."""

import itertools

from keras_transformer.data.text_files import is_blank
from keras_transformer.search.options import MAX_SOURCE_TOKENS

WINDOW = 1024  # sentences that are read, and sorted by length, together


def check_texts(texts, name="texts"):
    """Checks that `texts` is not a single text.

    Args:
        texts: Iterable of str.
        name: The user's name for the texts. Defaults to "texts".

    Raises:
        ValueError: If `texts` is a str.
    """
    # A str is iterable too: each of its characters would be a sentence.
    if isinstance(texts, str):
        raise ValueError(
            f"`{name}` must be a list of str. Received: one str, "
            f"{texts[:40]!r}. Put it into a list."
        )


def numbered_texts(texts, start=0, name="texts"):
    """Yields texts with their numbers, the first with `start + 1`.

    Args:
        texts: Iterable of str.
        start: Integer, the number of texts before these. Defaults to 0.
        name: The user's name for the texts. Defaults to "texts".

    Yields:
        Pairs (number, text).

    Raises:
        ValueError: If `texts` is a str, or if one of them is not or holds a
            surrogate.
    """
    check_texts(texts, name)
    for number, text in enumerate(texts, start + 1):
        if not isinstance(text, str):
            raise ValueError(
                f"`{name}` must be a list of str. Received: text {number} is "
                f"{text!r:.40}. Pass an empty str for a blank text."
            )
        if not _is_unicode(text):
            raise ValueError(
                f"`{name}` must be Unicode. Received: text {number}, "
                f"{ascii(text):.40}, with a surrogate that stands for no "
                "character. Decode it with errors='replace'."
            )
        yield number, text


def _is_unicode(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_pairs(texts, translations):
    """Checks that there is one translation for each text.

    Raises:
        ValueError: If the numbers differ, or if one of them is no list of str.
    """
    for name, values in (("texts", texts), ("translations", translations)):
        for _ in numbered_texts(values, name=name):
            pass
    if len(texts) != len(translations):
        raise ValueError(
            "`translations` must have one entry for each text. Received: "
            f"{len(translations)} translations of {len(texts)} texts. Pass "
            "equally many."
        )


def in_windows(items):
    """Yields lists of the next `WINDOW` items; the last may have fewer."""
    items = iter(items)
    while window := list(itertools.islice(items, WINDOW)):
        yield window


def windows(texts, prefixes=None, start=0):
    """Yields texts and their prefixes in windows.

    Args:
        texts: Iterable of str.
        prefixes: Iterable of str, one for each text. Defaults to None.
        start: Integer, the number of texts before these. Defaults to 0.

    Yields:
        List of pairs (number, text), where the first text has the number
        `start + 1`, and the list of their prefixes, or None without prefixes.

    Raises:
        ValueError: If `texts` or `prefixes` is a str or holds something else,
            or if there are not as many prefixes as texts.
    """
    numbered = numbered_texts(texts, start)  # errors count sentences from 1
    if prefixes is not None:
        checked = numbered_texts(prefixes, start, "prefixes")
        prefixes = (prefix for _, prefix in checked)
    for window in in_windows(numbered):
        if prefixes is None:
            yield window, None
            continue
        window_prefixes = list(itertools.islice(prefixes, len(window)))
        if len(window_prefixes) < len(window):
            raise ValueError(
                "`prefixes` must have one entry for each text. Received: none "
                f"for text {window[len(window_prefixes)][0]}. Pass an empty "
                "prefix where a translation is free."
            )
        yield window, window_prefixes
    if prefixes is not None and next(prefixes, None) is not None:
        raise ValueError(
            "`prefixes` must have one entry for each text. Received: more of "
            "them than texts. Leave the others out."
        )


def check_length(number, text, length, max_tokens=MAX_SOURCE_TOKENS):
    """Checks that a sentence is not too long for the model or the memory.

    Args:
        number: Integer position of the sentence in the input, from 1, or a
            str that names the input and the line.
        text: The sentence, a str.
        length: Integer number of its tokens.
        max_tokens: Integer, the greatest allowed length. Defaults to
            `MAX_SOURCE_TOKENS`.

    Raises:
        ValueError: If the sentence has more than `max_tokens` tokens.
    """
    if length > max_tokens:
        place = number if isinstance(number, str) else f"sentence {number}"
        raise ValueError(
            f"A sentence must have at most {max_tokens:,} tokens. Received: "
            f"{place} with {length:,}, {text[:20]!r}... Put one sentence on "
            "a line."
        )


def encode(vocabulary, numbered, max_tokens=MAX_SOURCE_TOKENS):
    """Returns the ids of sentences.

    Args:
        vocabulary: A `Subwords`.
        numbered: List of pairs (number, text).
        max_tokens: Integer, see `check_length`.

    Returns:
        List of lists of ids with the end id. A blank text gives an empty list.

    Raises:
        ValueError: If a sentence has more than `max_tokens` tokens.
    """
    encoded = vocabulary.encode([text for _, text in numbered])
    for (number, text), ids in zip(numbered, encoded):
        check_length(number, text, len(ids), max_tokens)
    # A blank text encodes to the end id alone, which is not worth a search.
    return [
        [] if is_blank(text) else ids
        for (_, text), ids in zip(numbered, encoded)
    ]


def encode_prefixes(vocabulary, window, prefixes, max_tokens=MAX_SOURCE_TOKENS):
    """Returns the ids of prefixes, lists without the end id; None for None.

    Args:
        vocabulary: A `Subwords`.
        window: List of pairs (number, text).
        prefixes: List of str, one for each text, or None.
        max_tokens: Integer, see `check_length`.
    """
    if prefixes is None:
        return None
    numbered = [(n, prefix) for (n, _), prefix in zip(window, prefixes)]
    encoded = encode(vocabulary, numbered, max_tokens)
    # The translation continues after a prefix, so the end id is removed.
    return [ids[:-1] for ids in encoded]
