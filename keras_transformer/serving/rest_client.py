"""A client that asks over HTTP."""

import functools
import http.client
import io
import json
import socket
import time
import urllib.parse

from keras_transformer.serving import limits
from keras_transformer.serving.responses import Client


class RestClient(Client):
    """Asks over HTTP and keeps its connection open between requests."""

    def __init__(self, address, model_name, model_version, timeout_secs, key):
        super().__init__(address, timeout_secs)
        kinds = http.client.HTTPConnection, http.client.HTTPSConnection
        self._connection = kinds[address.scheme == "https"](address.netloc)
        # A model's name may contain a slash, which must not split the path.
        name = urllib.parse.quote(model_name, safe="")
        version = "" if model_version is None else f"/versions/{model_version}"
        folder = urllib.parse.quote(address.path.rstrip("/"), safe="/%")
        self._path = f"{folder}/v1/models/{name}{version}:predict"
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    def close(self):
        """Closes the connection; a further call opens a new one."""
        self._connection.close()

    def _ask(self, inputs, signature_name):
        request = {"inputs": inputs}
        if signature_name:
            request["signature_name"] = signature_name
        status, body = self._post(json.dumps(request).encode())
        try:
            content = json.loads(body)
            if status == http.HTTPStatus.OK:
                outputs = content["outputs"]
                return outputs["translations"], outputs["scores"]
            reason = str(content["error"])
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            shown = body[:100].decode(errors="replace")
            raise ValueError(f"{status}, {shown!r}") from error
        if status == http.HTTPStatus.SERVICE_UNAVAILABLE:
            raise self._explain("unavailable", reason)
        is_bad = status == http.HTTPStatus.BAD_REQUEST
        fault = "refusal of terms" if is_bad and signature_name else "refusal"
        raise self._explain(fault, f"{status}, {reason}")

    def _post(self, request):
        """Returns the status and the body of the response to a request."""
        deadline = time.monotonic() + self._timeout
        try:
            if self._connection.sock:
                try:
                    return self._post_once(request, deadline)
                except (ConnectionError, http.client.HTTPException):
                    # A server may close a connection that was idle.
                    self.close()
            # Connecting gives the whole of its time to each address.
            infos = socket.getaddrinfo(
                self._address.hostname,
                self._address.port,
                type=socket.SOCK_STREAM,
            )
            self._connection.timeout = _get_seconds_left(deadline) / len(infos)
            self._connection.connect()
            return self._post_once(request, deadline)
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.close()
            if isinstance(error, TimeoutError):
                raise self._explain("late", f"{self._timeout:g}") from error
            # Errors of a name lookup or of an encoding have no `strerror`.
            reason = getattr(error, "strerror", None) or error
            if not isinstance(error, OSError | UnicodeError):
                reason = f"it does not speak HTTP as expected: {error}"
            raise self._explain("unreachable", reason) from error

    def _post_once(self, request, deadline):
        connection = self._connection
        connection.response_class = functools.partial(_Response, deadline)
        connection.sock.settimeout(_get_seconds_left(deadline))
        connection.request("POST", self._path, request, self._headers)
        response = connection.getresponse()
        # Read in parts, because a server may announce more than memory holds.
        parts = iter(functools.partial(response.read, 2**16), b"")
        return response.status, b"".join(parts)


class _Response(http.client.HTTPResponse):
    """A response that arrives within the deadline and the limit of bytes."""

    def __init__(self, deadline, sock, **options):
        super().__init__(sock, **options)
        self.fp = io.BufferedReader(_Arriving(deadline, sock, self.fp.detach()))


class _Arriving(io.RawIOBase):
    """What arrives at a socket, until it takes too long or is too much."""

    def __init__(self, deadline, sock, raw):
        self._deadline = deadline
        self._socket = sock
        self._raw = raw
        self._bytes_left = limits.MAX_RESPONSE_BYTES

    def readable(self):
        return True

    def readinto(self, buffer):
        # A socket's timeout limits only each read, and a server can send one
        # byte a second.
        self._socket.settimeout(_get_seconds_left(self._deadline))
        size = self._raw.readinto(buffer)
        # Counted, because a server can send more than it announces.
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise http.client.HTTPException(
                f"more than {limits.MAX_RESPONSE_BYTES} bytes"
            )
        return size

    def close(self):
        self._raw.close()
        super().close()


def _get_seconds_left(deadline):
    seconds = deadline - time.monotonic()
    # A server that never pauses would otherwise not be interrupted.
    if seconds <= 0:
        raise TimeoutError
    return seconds
