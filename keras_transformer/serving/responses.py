"""The base of the clients, and the checks of what a server responds."""

import abc
import typing

from keras_transformer.errors import UserError

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


class Client(abc.ABC):
    """Asks a server for translations."""

    def __init__(self, address, timeout_secs):
        self._address = address
        self._timeout = timeout_secs

    def __call__(self, texts, terms=None):
        """Returns the `Response` for texts, and for rows of their terms."""
        inputs, signature_name = {"text": list(texts)}, ""
        if terms is not None:
            inputs["terms"], signature_name = terms, "with_terms"
        try:
            outputs = self._ask(inputs, signature_name)
            return _check_response(*outputs, len(inputs["text"]))
        except UserError:
            raise
        except (OverflowError, ValueError) as error:
            raise self._explain("no translation", error) from error

    @abc.abstractmethod
    def _ask(self, inputs, signature_name):
        """Returns translations and scores for the inputs of a signature.

        The default signature has the name "". Raises a `ValueError` if the
        server returns something else.
        """

    def _explain(self, fault, received):
        """Returns the error about one of the `_FAULTS` of a server."""
        if fault == "unreachable" and self._address.scheme == "https":
            fault = "unreachable with TLS"
        return UserError(
            _FAULTS[fault].format(
                address=self._address.netloc, received=_clean(received)
            )
        )


def _check_response(translations, scores, num_texts):
    """Returns the `Response` that consists of values from a server.

    Raises a `ValueError` unless each text has lists of translations and scores.
    """
    for rows in (translations, scores):
        if not isinstance(rows, list) or len(rows) != num_texts:
            raise ValueError(f"no list of {num_texts} results")
    for texts, numbers in zip(translations, scores):
        if not isinstance(texts, list) or not isinstance(numbers, list):
            raise ValueError("no list of results for a text")
        if not texts or len(texts) != len(numbers):
            raise ValueError("not one score for each translation")
        if not {str} >= set(map(type, texts)):
            raise ValueError("a translation that is not text")
        if not {int, float} >= set(map(type, numbers)):
            raise ValueError("a score that is not a number")
        "".join(texts).encode()  # raises a `ValueError` at half a surrogate
    scores = [[float(number) for number in row] for row in scores]
    return Response(translations, scores)


def _clean(value):
    """Returns the start of a text without control characters and line ends."""
    # A server could otherwise send commands to the terminal.
    text = " ".join(str(value).split()).removesuffix(".")
    shown = text if len(text) <= 300 else text[:300] + "..."
    return "".join(c if c.isprintable() else "?" for c in shown)
