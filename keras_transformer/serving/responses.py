"""The responses that a client accepts, and its errors about all others."""

import typing

from keras_transformer.errors import UserError

# The signature of an export that takes the terms of a glossary.
WITH_TERMS = "with_terms"


class Response(typing.NamedTuple):
    """Translations of some texts, with their scores."""

    translations: list  # a list of str for each text, best first
    scores: list  # a list of float for each text


def check_response(translations, scores, num_texts):
    """Returns the `Response` that consists of values from a server.

    Raises a `ValueError` unless each text has lists of translations and scores.

    >>> check_response([["Ein Hund."]], [[-1]], 1).scores
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
            raise ValueError("a translation that is not text")
        if not {int, float} >= set(map(type, numbers)):
            raise ValueError("a score that is not a number")
    try:
        return Response(
            translations, [[float(number) for number in row] for row in scores]
        )
    except OverflowError as error:
        raise ValueError("a score that is too large") from error


def explain_unreachable(address, reason):
    """Returns the error for a server that cannot be reached."""
    way_out = "Check --server and --protocol."
    if address.scheme == "https":
        way_out = (
            "Name its certificate in SSL_CERT_FILE if no public authority has "
            "signed it."
        )
    return UserError(
        f"No answer from {address} ({_clean(reason)}). Is kt-serve running "
        f"there? {way_out}"
    )


def explain_timeout(address, seconds):
    """Returns the error for a server that takes too long."""
    return UserError(
        f"No answer from {address} within {seconds:g} s. Is kt-serve running "
        "there? Allow more time with --timeout_secs."
    )


def explain_unavailable(address, reason):
    """Returns the error for a server that cannot answer at the moment."""
    return UserError(
        f"The server at {address} cannot answer now: {_clean(reason)}. Try "
        "again in a moment."
    )


def explain_refusal(address, reason, has_terms):
    """Returns the error for a server that refuses a request.

    `has_terms` says that only a model that takes terms may be missing.
    """
    way_out = "Check --model_name, --model_version and the text."
    if has_terms:
        way_out = (
            "--glossary needs a SavedModel that kt-exporter has written with a "
            "beam of at least 2."
        )
    return UserError(
        f"The server at {address} refused the request: {_clean(reason)}. "
        f"{way_out}"
    )


def explain_other_response(address, received):
    """Returns the error for a server that answers with something else."""
    return UserError(
        f"The response of {address} is not a translation: {_clean(received)}. "
        "Check --server and --model_name."
    )


def _is_text(value):
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can write
        return False
    return True


def _clean(value):
    """Returns the start of a text without control characters and line ends."""
    # A server could otherwise send commands to the terminal.
    text = " ".join(str(value).split()).removesuffix(".")
    shown = text if len(text) <= 300 else text[:300] + "..."
    return "".join(c if c.isprintable() else "?" for c in shown)
