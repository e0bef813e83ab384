"""A client that asks over HTTP."""

import http
import json
import socket
import ssl
import time
import urllib.parse

import h11

from keras_transformer.serving import limits
from keras_transformer.serving import responses


class RestClient:
    """Asks over HTTP and keeps its connection open between requests."""

    def __init__(
        self, address, model_name, model_version, timeout_secs, api_key=None
    ):
        self._address = address
        self._socket = None
        # A model's name may contain a slash, which must not split the path.
        name = urllib.parse.quote(model_name, safe="")
        version = "" if model_version is None else f"/versions/{model_version}"
        folder = urllib.parse.quote(address.path.rstrip("/"), safe="/%")
        self._path = f"{folder}/v1/models/{name}{version}:predict"
        self._timeout = timeout_secs
        self._key = {"Authorization": f"Bearer {api_key}"} if api_key else {}

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
            if status == http.HTTPStatus.OK:
                outputs = content["outputs"]
                return responses.check_response(
                    outputs["translations"], outputs["scores"], len(texts)
                )
            reason = str(content["error"])
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            shown = body[:100].decode(errors="replace")
            raise responses.explain(
                "no translation", self._address, f"{status}, {shown!r}"
            ) from error
        if status == http.HTTPStatus.SERVICE_UNAVAILABLE:
            raise responses.explain("unavailable", self._address, reason)
        is_bad = status == http.HTTPStatus.BAD_REQUEST
        lacks_terms = is_bad and terms is not None
        fault = "refusal of terms" if lacks_terms else "refusal"
        raise responses.explain(fault, self._address, f"{status}, {reason}")

    def close(self):
        """Closes the connection; a further call opens a new one."""
        if self._socket:
            self._socket.close()
            self._socket = None

    def _ask(self, request):
        """Returns the status and the body of the response to a request."""
        try:
            return self._post(request, time.monotonic() + self._timeout)
        except (OSError, UnicodeError, h11.RemoteProtocolError) as error:
            self.close()
            if isinstance(error, TimeoutError):
                raise responses.explain(
                    "late", self._address, f"{self._timeout:g}"
                ) from error
            # Errors of a name lookup or of an encoding have no `strerror`.
            reason = getattr(error, "strerror", None) or error
            if isinstance(error, h11.RemoteProtocolError):
                reason = f"it does not speak HTTP as expected: {error}"
            raise responses.explain(
                "unreachable", self._address, reason
            ) from error

    def _post(self, request, deadline):
        if self._socket:
            try:
                return self._post_once(request, deadline)
            except (ConnectionError, h11.RemoteProtocolError):
                # A server may close a connection that was idle.
                self.close()
        place = self._address.hostname, self._address.port
        # `create_connection` gives the whole of its time to each address.
        infos = socket.getaddrinfo(*place, type=socket.SOCK_STREAM)
        seconds = _get_seconds_left(deadline) / len(infos)
        self._socket = socket.create_connection(place, seconds)
        self._socket.settimeout(_get_seconds_left(deadline))
        if self._address.scheme == "https":
            context = ssl.create_default_context()
            self._socket = context.wrap_socket(
                self._socket, server_hostname=self._address.hostname
            )
        return self._post_once(request, deadline)

    def _post_once(self, request, deadline):
        connection = h11.Connection(h11.CLIENT)
        headers = {
            "Host": str(self._address),
            "Content-Type": "application/json",
            "Content-Length": str(len(request)),
            **self._key,
        }
        head = h11.Request(
            method="POST", target=self._path, headers=list(headers.items())
        )
        content = b"".join(
            connection.send(event)
            for event in (head, h11.Data(data=request), h11.EndOfMessage())
        )
        self._socket.settimeout(_get_seconds_left(deadline))
        self._socket.sendall(content)
        status, body = None, bytearray()
        for event in self._receive(connection, deadline):
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
        if connection.our_state is h11.MUST_CLOSE:
            self.close()
        return status, bytes(body)

    def _receive(self, connection, deadline):
        """Yields the events of a response up to its end."""
        # A socket's timeout limits only each read, and a server can send one
        # byte a second, so each read gets the time that is left.
        num_bytes = 0
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                self._socket.settimeout(_get_seconds_left(deadline))
                content = self._socket.recv(2**16)
                if not content and connection.their_state is h11.SEND_RESPONSE:
                    raise ConnectionAbortedError("it closed the connection")
                connection.receive_data(content)
                num_bytes += len(content)
                # Counted, because a server can send more than it announces.
                if num_bytes > limits.MAX_RESPONSE_BYTES:
                    raise h11.RemoteProtocolError(
                        f"more than {limits.MAX_RESPONSE_BYTES} bytes"
                    )
            elif isinstance(event, h11.EndOfMessage):
                return
            else:
                yield event


def _get_seconds_left(deadline):
    seconds = deadline - time.monotonic()
    # A server that never pauses would otherwise not be interrupted.
    if seconds <= 0:
        raise TimeoutError
    return seconds
