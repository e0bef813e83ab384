"""What a client accepts as an answer, and how it reports the rest."""

import typing

from keras_transformer.serving.errors import LOADING
from keras_transformer.serving.errors import QUEUE_FULL

# The signature of an export that takes the terms of a glossary.
WITH_TERMS = "with_terms"


class Answer(typing.NamedTuple):
    """Translations of some texts, with their scores."""

    translations: list  # a list of str for each text, best first
    scores: list  # a list of float for each text


def checked_answer(translations, scores, num_texts):
    """Returns the `Answer` in values that a server sent.

    Args:
        translations: Any value.
        scores: Any value.
        num_texts: Integer number of texts that were sent.

    Raises:
        ValueError: If these are not a list of translations and a list of scores
            for each text.

    Example:

    >>> checked_answer([["Ein Hund."]], [[-1]], 1).scores
    [[-1.0]]
    """
    for rows in (translations, scores):
        if not isinstance(rows, list) or len(rows) != num_texts:
            raise ValueError(f"no list of {num_texts} results")
    for texts, numbers in zip(translations, scores):
        if not isinstance(texts, list) or not isinstance(numbers, list):
            raise ValueError("no list of results for a text")
        if not texts or len(texts) != len(numbers):
            raise ValueError("not one score for each translation")
        if not all(map(_is_text, texts)):
            raise ValueError("a translation that is no text")
        if not {int, float} >= set(map(type, numbers)):
            raise ValueError("a score that is no number")
    try:
        return Answer(
            translations, [[float(number) for number in row] for row in scores]
        )
    except OverflowError as error:
        raise ValueError("a score that is too large") from error


def unreachable(address, reason):
    """Returns the error for a server that cannot be reached."""
    return ValueError(
        f"A server must answer. Received: no answer from {address} "
        f"({_printable(reason)}). Start kt-serve there, or correct --server "
        "and --protocol."
    )


def too_late(address, seconds):
    """Returns the error for a server that takes too long."""
    return ValueError(
        f"A server must answer in {seconds:g} s. Received: no whole answer "
        f"from {address}. Raise the limit with --timeout_secs."
    )


def refused(address, reason):
    """Returns the error for a server that answers with an error."""
    if f'"{WITH_TERMS}" not found' in str(reason):
        return ValueError(
            "`--glossary` must go with a SavedModel that takes terms. "
            f"Received: {address}, whose model has no signature {WITH_TERMS}. "
            "Export the run again with --format=saved_model and a beam of at "
            "least 2."
        )
    if LOADING in str(reason):
        return ValueError(
            "A server must have loaded its model. Received: no translation "
            f"from {address}, which is still loading it. Try again in a moment."
        )
    if QUEUE_FULL in str(reason):
        return ValueError(
            "A server must have room in its queue. Received: no translation "
            f"from {address}, whose queue is full. Try again in a moment."
        )
    return ValueError(
        f"The server must accept the request. Received: {_printable(reason)} "
        f"from {address}. Check --model_name, --model_version and the text."
    )


def not_a_translator(address, received):
    """Returns the error for a server that answers with something else."""
    return ValueError(
        "The server must have a model that translates. Received: "
        f"{_printable(received)} from {address}. Check --server and "
        "--model_name."
    )


def _is_text(value):
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can write
        return False
    return True


def _printable(value):
    """Returns the start of a text without control characters and line breaks.

    A server could otherwise send commands to the terminal.
    """
    text = " ".join(str(value).split())
    shown = text if len(text) <= 300 else text[:300] + "..."
    return "".join(c if c.isprintable() else "?" for c in shown)
