"""Requests and responses of ASGI: reading, waiting and sending."""

import asyncio
import typing

from keras_transformer.serving import json_tensors
from keras_transformer.serving import limits
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError


class Response(bytes):
    """A response whose content is not JSON."""

    content_type = ""

    def __new__(cls, content, content_type):
        response = super().__new__(cls, content)
        response.content_type = content_type
        return response


class Endpoint(typing.NamedTuple):
    """What answers requests to a path.

    The `function` returns bytes or what becomes JSON. For POST it takes the
    fields of the body and the server's address.
    """

    face: str  # the protocol
    method: str  # POST, or GET, which HEAD may replace
    function: typing.Callable
    needs_key: bool = True  # on a server with keys


def format_error(error):
    """Returns the body of a response that reports an error."""
    return json_tensors.dump({"error": str(error)})


async def send_response(send, status, content, headers):
    """Sends a response whose headers are a dictionary of strings."""
    headers["content-length"] = str(len(content))
    pairs = [(k.encode(), v.encode()) for k, v in headers.items()]
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": pairs})
    await send({"type": "http.response.body", "body": content})


async def wait_for(future, receive):
    """Waits for a future, and returns its result.

    Raises a `ConnectionAbortedError` if the client leaves first, and a
    `RequestError` after `PREDICT_SECONDS`.
    """
    # asyncio logs exceptions that nobody reads.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    left = asyncio.ensure_future(receive())
    seconds = limits.PREDICT_SECONDS
    first = asyncio.FIRST_COMPLETED
    try:
        await asyncio.wait([future, left], timeout=seconds, return_when=first)
        if future.done():
            return future.result()
        if left.done():
            raise ConnectionAbortedError
        raise RequestError(
            "DEADLINE_EXCEEDED",
            f"No result within {seconds:g} s. Send less text at a time.",
        )
    finally:
        left.cancel()


async def read_body(scope, receive, max_bytes=limits.MAX_BODY_BYTES):
    """Returns the body of a request, which is within the limits."""
    if has_two_lengths(scope):
        raise InvalidRequest(
            "A request must have a Content-Length or a Transfer-Encoding, not "
            "both."
        )
    num_bytes = int(get_header(scope, "content-length") or 0)
    body, has_more = bytearray(), True
    while True:
        if num_bytes > max_bytes:
            raise InvalidRequest(
                f"A request must have at most {max_bytes} bytes. Received: "
                f"{num_bytes}. Send several smaller requests.",
                413,
            )
        if not has_more:
            break
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError
        body += message["body"]
        num_bytes, has_more = len(body), message["more_body"]
    encoding = get_header(scope, "content-encoding")
    if encoding.lower() not in ("", "identity"):
        raise InvalidRequest(
            "A body must not be compressed. Received: Content-Encoding: "
            f"{encoding}. Send the JSON as it is.",
            415,
        )
    return body


def get_header(scope, name):
    """Returns a header, "" without it."""
    return dict(scope["headers"]).get(name.encode(), b"").decode("latin-1")


def has_two_lengths(scope):
    # A proxy could read the other one, and mistake a part of this request for
    # the next, so the connection is closed after such a request.
    names = {name for name, _ in scope["headers"]}
    return {b"content-length", b"transfer-encoding"} <= names
