"""A client that asks over HTTP."""

import functools
import http.client
import io
import json
import time
import urllib.parse

from keras_transformer.serving import limits
from keras_transformer.serving import responses


class RestClient:
    """Asks over HTTP and keeps its connection open between requests.

    Args:
        address: `Address` of the server.
        model_name: Name of the model on the server.
        model_version: Integer number of the version, or None for the newest.
        timeout_secs: Maximum number of seconds for a whole response.
    """

    def __init__(self, address, model_name, model_version, timeout_secs):
        if address.scheme == "https":
            connection_class = http.client.HTTPSConnection
        else:
            connection_class = http.client.HTTPConnection
        self._address = address
        self._connection = connection_class(address.hostname, address.port)
        # A model's name may contain a slash, which must not split the path.
        name = urllib.parse.quote(model_name, safe="")
        version = "" if model_version is None else f"/versions/{model_version}"
        folder = urllib.parse.quote(address.path.rstrip("/"), safe="/%")
        self._path = f"{folder}/v1/models/{name}{version}:predict"
        self._timeout = timeout_secs

    def __call__(self, texts, terms=None):
        """Returns the `Response` for texts, and for rows of their terms."""
        texts = list(texts)
        request = {"inputs": {"text": texts}}
        if terms is not None:
            request["inputs"]["terms"] = terms
            request["signature_name"] = responses.WITH_TERMS
        status, body = self._ask(json.dumps(request).encode())
        try:
            content = json.loads(body)
            if status == 200:
                outputs = content["outputs"]
                return responses.check_response(
                    outputs["translations"], outputs["scores"], len(texts)
                )
            reason = str(content["error"])
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            shown = body[:100].decode(errors="replace")
            raise responses.not_a_translator(
                self._address, f"{status}, {shown!r}"
            ) from error
        if status == http.HTTPStatus.SERVICE_UNAVAILABLE:
            raise responses.unavailable(self._address, reason)
        lacks_terms = (
            terms is not None and status == http.HTTPStatus.BAD_REQUEST
        )
        raise responses.refused(
            self._address, f"{status}, {reason}", lacks_terms
        )

    def close(self):
        """Closes the connection; a further call opens a new one."""
        self._connection.close()

    def _ask(self, request):
        """Returns the status and the body of the response to a request."""
        try:
            return self._post(request, time.monotonic() + self._timeout)
        except TimeoutError as error:
            self.close()
            raise responses.too_late(self._address, self._timeout) from error
        except (OSError, UnicodeError) as error:
            self.close()
            # Errors of a name lookup or of an encoding have no `strerror`.
            reason = getattr(error, "strerror", None) or error
            raise responses.unreachable(self._address, reason) from error
        # `http.client` raises a ValueError for some malformed lengths.
        except (http.client.HTTPException, ValueError) as error:
            self.close()
            reason = f"it does not speak HTTP as expected: {error!r}"
            raise responses.unreachable(self._address, reason) from error

    def _post(self, request, deadline):
        is_reused = self._connection.sock is not None
        try:
            return self._post_once(request, deadline)
        except (ConnectionError, http.client.BadStatusLine):
            # A server may close a connection that was idle. Only then is
            # a second attempt worthwhile.
            self.close()
            if not is_reused:
                raise
            return self._post_once(request, deadline)

    def _post_once(self, request, deadline):
        connection = self._connection
        seconds_left = max(deadline - time.monotonic(), 0.001)
        connection.timeout = seconds_left  # for the next connection
        if connection.sock is not None:
            connection.sock.settimeout(seconds_left)
        connection.response_class = functools.partial(
            _LimitedResponse, deadline=deadline
        )
        headers = {"Content-Type": "application/json"}
        connection.request("POST", self._path, request, headers)
        response = connection.getresponse()
        # With a number, or Python would reserve the memory for as many bytes
        # as the server announces.
        return response.status, response.read(limits.MAX_RESPONSE_BYTES)


class _LimitedResponse(http.client.HTTPResponse):
    """A response with limits of its time and its bytes."""

    def __init__(self, sock, *args, deadline, **options):
        super().__init__(sock, *args, **options)
        raw = self.fp.detach()
        self.fp = io.BufferedReader(_LimitedReader(raw, sock, deadline))


class _LimitedReader(io.RawIOBase):
    """Reads from a socket up to a point in time and a number of bytes.

    The timeout of a socket limits each read, and a server can send one byte a
    second. A server can also send more bytes than it announces.
    """

    def __init__(self, raw, sock, deadline):
        self._raw = raw
        self._sock = sock
        self._deadline = deadline
        self._bytes_left = limits.MAX_RESPONSE_BYTES

    def readable(self):
        return True

    def readinto(self, buffer):
        seconds_left = self._deadline - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError("The time to read is over.")
        self._sock.settimeout(seconds_left)
        num_bytes = self._raw.readinto(buffer)
        self._bytes_left -= num_bytes
        if self._bytes_left < 0:
            raise http.client.HTTPException(
                f"more than {limits.MAX_RESPONSE_BYTES} bytes"
            )
        return num_bytes

    def close(self):
        self._raw.close()
        super().close()
