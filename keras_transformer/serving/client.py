"""Clients that ask a server for translations in TF Serving's protocol."""

import re
import urllib.parse

from keras_transformer.errors import UserError
from keras_transformer.serving.errors import format_address

# The default ports of TF Serving.
_PORTS = {"grpc": 8500, "rest": 8501}
_HOST = re.compile(r"[\w.:%-]+")  # IPv6 has colons, and % before a zone


def connect(
    server="localhost",
    protocol="grpc",
    model_name="translate",
    model_version=None,
    timeout_secs=10.0,
    api_key=None,
):
    """Returns a client of kt-serve or of TF Serving.

    Calling the client with a list of texts returns a `Response`. A second
    argument may list the terms that each translation must hold, in rows of
    equal length that are filled up with empty strings. `close` ends the
    connection. A client belongs to a single thread. It raises a `UserError` if
    the address is malformed or the server does not answer.

    `server` is a host name or address, with a port after a colon if it is not
    the protocol's default. `https://` before it encrypts the connection. For
    REST ("rest" instead of "grpc"), a path may follow. `api_key` is what a
    server with keys asks for.
    """
    if protocol not in _PORTS:
        raise UserError(
            "`protocol` must be grpc or rest. Received: "
            f"protocol={protocol!r}. Choose one of them."
        )
    address = _parse_address(server, protocol)
    options = address, model_name, model_version, timeout_secs, api_key
    # Imported here because each needs packages that the other does without.
    if protocol == "rest":
        from keras_transformer.serving.rest_client import RestClient

        return RestClient(*options)
    from keras_transformer.serving.grpc_client import GrpcClient

    return GrpcClient(*options)


def _parse_address(server, protocol):
    """Returns the parts of a URL, with a port and without names of users."""
    port = _PORTS[protocol]
    try:
        url = urllib.parse.urlsplit(
            server if "://" in server else f"http://{server}"
        )
        is_url = url.scheme in ("http", "https")
        has_path = protocol == "grpc" and url.path
        if is_url and _HOST.fullmatch(url.hostname or "") and not has_path:
            default = 443 if url.scheme == "https" else port
            place = format_address(url.hostname, url.port or default)
            return url._replace(netloc=place)
    except ValueError:
        pass  # the port is not a number; the error below explains that
    raise UserError(
        "`server` must be a host, or a host and a port. Received: "
        f"server={server!r}. Use for example localhost:{port}, or "
        f"https://localhost:{port} if the server has a certificate."
    )
