"""The responses that a client accepts, and its errors about all others."""

import typing

from keras_transformer.errors import UserError

# The signature of an export that takes the terms of a glossary.
WITH_TERMS = "with_terms"
_UNREACHABLE = (
    "No answer from {address} ({received}). Is kt-serve running there? "
)
_REFUSED = "The server at {address} refused the request: {received}. "
_FAULTS = {
    "unreachable": _UNREACHABLE + "Check --server and --protocol.",
    "unreachable with TLS": _UNREACHABLE
    + "Name its certificate in SSL_CERT_FILE if no public authority has signed "
    "it.",
    "late": "No answer from {address} within {received} s. Is kt-serve running "
    "there? Allow more time with --timeout_secs.",
    "unavailable": "The server at {address} cannot answer now: {received}. Try "
    "again in a moment.",
    "refusal": _REFUSED + "Check --model_name, --model_version and the text.",
    # For a request with terms, only a model that takes them may be missing.
    "refusal of terms": _REFUSED
    + "--glossary needs a SavedModel that kt-exporter has written with a beam "
    "of at least 2.",
    "no translation": "The response of {address} is not a translation: "
    "{received}. Check --server and --model_name.",
}


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


def explain(fault, address, received):
    """Returns the error about one of the `_FAULTS` of a server."""
    if fault == "unreachable" and address.scheme == "https":
        fault = "unreachable with TLS"
    return UserError(
        _FAULTS[fault].format(address=address, received=_clean(received))
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
