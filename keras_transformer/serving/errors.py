"""Errors of requests, with their gRPC codes and HTTP statuses, and of ports."""

import logging

from keras_transformer.errors import UserError
from keras_transformer.serving import limits

_log = logging.getLogger(__name__)
# The HTTP status of each gRPC code, as in TF Serving.
_HTTP_STATUS = {
    "OK": 200,
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DATA_LOSS": 500,
    "UNAUTHENTICATED": 401,
}
# The index of a name is its number in gRPC and in TensorFlow.
CODES = tuple(_HTTP_STATUS)


class RequestError(UserError):
    """An error that is the response to a request.

    `code` is one of `CODES`. A long message is cut off. `http_status` defaults
    to the one that TF Serving uses for the code.
    """

    def __init__(self, code, message, http_status=None):
        # A message may quote a name from the request, of any length.
        if len(message) > limits.MAX_MESSAGE_CHARACTERS:
            message = message[: limits.MAX_MESSAGE_CHARACTERS] + "..."
        super().__init__(message)
        self.code = code
        self.http_status = http_status or _HTTP_STATUS[code]


class InvalidRequest(RequestError):
    """A malformed request."""

    def __init__(self, message, http_status=None):
        super().__init__("INVALID_ARGUMENT", message, http_status)


def explain(error):
    """Returns the `RequestError` for an exception; logs it if it is a bug."""
    if isinstance(error, RequestError):
        return error
    _log.error("kt-serve failed to answer a request.", exc_info=error)
    return RequestError("INTERNAL", f"Internal: {error!r}")


def explain_occupied_port(host, port, reason):
    """Returns the error for a port that cannot be used."""
    return UserError(
        f"Cannot listen on {format_address(host, port)}: {reason}. Choose "
        "another port or host."
    )


def format_address(host, port):
    """Returns an address as text, in which an IPv6 host needs brackets.

    >>> format_address("::1", 8500)
    '[::1]:8500'
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
