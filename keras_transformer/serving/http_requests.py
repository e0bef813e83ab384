"""Reads requests of HTTP/1.1 strictly, and writes answers.

Two programs that read an unclear request differently, such as a proxy and a
server, can be made to take the body of one request for another request. So a
request that can be read in two ways is refused. Section numbers are those of
RFC 9112.
"""

import http
import re
import typing
import urllib.parse

from keras_transformer.serving import limits
from keras_transformer.serving.errors import RequestError

_REQUEST_LINE = re.compile(rb"([A-Z]{1,20}) ([!-~]+) HTTP/([0-9])\.([0-9])")
_HEADER = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)"
)
# A second one of these could contradict the first.
_ONLY_ONCE = ("content-length", "transfer-encoding", "host")


class Head(typing.NamedTuple):
    """The request line and the headers of a request."""

    method: str
    path: str  # without the query, and not yet unquoted
    body_length: int
    keeps_alive: bool  # whether the client may send a further request
    expects_continue: bool  # whether it waits for a sign to send the body


class HttpError(RequestError):
    """Malformed HTTP, after which a connection cannot be used any more."""

    def __init__(self, message, status=400):
        code = "UNAVAILABLE" if status == 503 else "INVALID_ARGUMENT"
        super().__init__(code, message, status)


def read_head(file):
    """Returns the `Head` of the next request.

    Args:
        file: Binary buffered reader.

    Raises:
        HttpError: If the request cannot be understood or is too large.
        ConnectionAbortedError: If the client has disconnected.
    """
    line = _read_line(file, limits.MAX_LINE_BYTES, 414)
    if not line:  # section 2.2 asks to ignore one empty line
        line = _read_line(file, limits.MAX_LINE_BYTES, 414)
    match = _REQUEST_LINE.fullmatch(line)
    if not match:
        raise HttpError(
            "A request must begin with a method, a path and HTTP/1.1. "
            f"Received: {_shown(line)}."
        )
    method, target, major, minor = (part.decode() for part in match.groups())
    if major != "1":
        raise HttpError(f"HTTP/{major} is not supported. Use HTTP/1.1.", 505)
    path = _path(target)
    headers = _read_headers(file)
    expectation = headers.get("expect", "").lower()
    if expectation not in ("", "100-continue"):
        raise HttpError(
            "An Expect header must be 100-continue. Received: "
            f"{expectation[:60]!r}. Leave it out.",
            417,
        )
    options = headers.get("connection", "").lower().replace(" ", "").split(",")
    # Connections persist by default since HTTP/1.1: section 9.3.
    stays = "keep-alive" in options if minor == "0" else "close" not in options
    return Head(method, path, _body_length(headers), stays, bool(expectation))


def read_body(file, length):
    """Returns the body of a request.

    Args:
        file: Binary buffered reader.
        length: Number of bytes.

    Raises:
        ConnectionAbortedError: If the client has disconnected.
    """
    body = file.read(length)
    if len(body) < length:
        raise ConnectionAbortedError
    return body


def format_answer(status, body, closes, has_body=True):
    """Returns an answer as bytes.

    Args:
        status: Integer status code.
        body: Bytes of the body, in JSON.
        closes: Boolean, whether the server closes the connection.
        has_body: Boolean, whether the body is sent. The answer to a HEAD
            request has the headers alone. Defaults to True.

    Example:

    >>> format_answer(200, b"{}", closes=False).splitlines()[0]
    b'HTTP/1.1 200 OK'
    """
    try:
        phrase = http.HTTPStatus(status).phrase
    except ValueError:  # 499 is in use, but in no standard
        phrase = "Error"
    head = (
        f"HTTP/1.1 {status} {phrase}\r\n"
        "Server: kt-serve\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        + ("Connection: close\r\n" if closes else "")
        + "\r\n"
    )
    return head.encode() + (body if has_body else b"")


def _read_line(file, max_bytes, status):
    line = file.readline(max_bytes + 1)
    if len(line) > max_bytes:
        raise HttpError(
            f"A line of a request must have at most {max_bytes} bytes. "
            "Received: a longer one. Shorten the path or the headers.",
            status,
        )
    if not line.endswith(b"\n"):
        raise ConnectionAbortedError
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _read_headers(file):
    """Returns the values of the headers by name, in lower case."""
    headers = {}
    bytes_left = limits.MAX_HEADER_BYTES
    for _ in range(limits.MAX_HEADERS + 1):
        line = _read_line(file, bytes_left, 431)
        if not line:
            return headers
        bytes_left -= len(line)
        match = _HEADER.fullmatch(line)
        if not match:
            raise HttpError(
                "A header must have a name, a colon and a value. Received: "
                f"{_shown(line)}."
            )
        name, value = (part.decode("latin-1") for part in match.groups())
        name, value = name.lower(), value.rstrip(" \t")
        if name in headers and name in _ONLY_ONCE:
            raise HttpError(
                f"A request must have only one {name} header. Received: two. "
                "Remove one."
            )
        # Values of the same name are a list: RFC 9110, section 5.2.
        headers[name] = (
            f"{headers[name]}, {value}" if name in headers else value
        )
    raise HttpError(
        f"A request must have at most {limits.MAX_HEADERS} headers.", 431
    )


def _path(target):
    try:
        return urllib.parse.urlsplit(target).path
    except ValueError as error:  # such as "Invalid IPv6 URL"
        raise HttpError(
            f"A path must be well-formed. Received: {_shown(target.encode())} "
            f"({error})."
        ) from error


def _body_length(headers):
    length = headers.get("content-length")
    if "transfer-encoding" in headers:
        if length is None:
            raise HttpError("A request needs a Content-Length.", 411)
        raise HttpError(
            "A request must have a Content-Length or a Transfer-Encoding, not "
            "both."
        )
    if length is None:
        return 0
    # `int` would also accept signs, spaces, underscores and foreign digits.
    if not re.fullmatch("[0-9]{1,18}", length):
        raise HttpError(
            "A Content-Length must be a number of bytes. Received: "
            f"{_shown(length.encode())}."
        )
    if int(length) > limits.MAX_BODY_BYTES:
        raise HttpError(
            f"A request must have at most {limits.MAX_BODY_BYTES} bytes. "
            f"Received: {int(length)}. Send several smaller requests.",
            413,
        )
    return int(length)


def _shown(line):
    return repr(line[:100])[1:]
