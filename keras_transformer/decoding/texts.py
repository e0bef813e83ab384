"""Reads texts in windows, and passes them through steps."""

import itertools
import typing

from keras_transformer.errors import UserError

WINDOW = 1024  # sentences that are read, and sorted by length, together


def check_each(texts, start=0, name="texts"):
    """Yields the texts, each checked to be a str without surrogates.

    An error calls them `name`, and the first one has the number `start + 1`.
    """
    # A str is iterable too: each of its characters would be a sentence.
    if isinstance(texts, str):
        raise UserError(
            f"`{name}` must be a list of str. Received: one str, "
            f"{texts[:40]!r}. Put it into a list."
        )
    for number, text in enumerate(texts, start + 1):
        if not isinstance(text, str):
            raise UserError(
                f"`{name}` must be a list of str. Received: text {number} is "
                f"{text!r:.40}. Pass an empty str for a blank text."
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UserError(
                f"`{name}` must be Unicode. Received: text {number}, "
                f"{ascii(text):.40}, with a surrogate that stands for no "
                "character. Decode it with errors='replace'."
            ) from error
        yield text


def check_pairs(texts, translations):
    """Raises a `UserError` unless there is one translation for each text."""
    for name, values in (("texts", texts), ("translations", translations)):
        list(check_each(values, name=name))
    if len(texts) != len(translations):
        raise UserError(
            "`translations` must have one entry for each text. Received: "
            f"{len(translations)} translations of {len(texts)} texts. Pass "
            "equally many."
        )


class Window(typing.NamedTuple):
    """Texts that are translated together."""

    texts: list[str]
    start: int = 0  # number of texts before these
    prefixes: list[str] | None = None  # of the translations


def read_windows(texts, prefixes=None, start=0, size=None):
    """Yields the `Window`s of texts, of `WINDOW` texts by default."""
    texts = check_each(texts, start)
    if prefixes is not None:
        prefixes = check_each(prefixes, start, "prefixes")
    while window := list(itertools.islice(texts, size or WINDOW)):
        window_prefixes = None
        if prefixes is not None:
            window_prefixes = list(itertools.islice(prefixes, len(window)))
            if len(window_prefixes) < len(window):
                number = start + len(window_prefixes) + 1
                raise UserError(
                    "`prefixes` must have one entry for each text. Received: "
                    f"none for text {number}. Pass an empty prefix where a "
                    "translation is free."
                )
        yield Window(window, start, window_prefixes)
        start += len(window)
    if prefixes is not None and next(prefixes, None) is not None:
        raise UserError(
            "`prefixes` must have one entry for each text. Received: more "
            "prefixes than texts. Leave the others out."
        )


def prepare_texts(steps, texts):
    """Returns texts as steps prepare them, and the memory of each step."""
    memories = []
    for step in steps:
        texts, memory = step.prepare(texts)
        memories.append(memory)
    return texts, memories


def finish_hypotheses(steps, hypotheses, memories):
    """Returns hypotheses as steps finish them, in reverse order."""
    for step, memory in zip(reversed(steps), reversed(memories)):
        hypotheses = step.finish(hypotheses, memory)
    return hypotheses
