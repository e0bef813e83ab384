"""What can be wrong with a request, in the codes of gRPC and of HTTP."""

# By number, as gRPC and TensorFlow count them.
CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)

# Those that are not here are faults of the server, 500.
_HTTP_STATUS = {
    "CANCELLED": 499,
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
    "UNAVAILABLE": 503,
    "UNAUTHENTICATED": 401,
}


class RequestError(ValueError):
    """A request that gets an error for an answer.

    Args:
        code: one of `CODES`.
        message: text for whoever sent the request.
        http_status: status over HTTP. Default: what TF Serving has for `code`.

    Example:

    >>> RequestError("NOT_FOUND", "No such model.").http_status
    404
    """

    def __init__(self, code, message, http_status=None):
        super().__init__(message)
        self.code = code
        self.http_status = http_status or _HTTP_STATUS.get(code, 500)


def invalid(message):
    """Return the error of a request that cannot be what was meant."""
    return RequestError("INVALID_ARGUMENT", message)
