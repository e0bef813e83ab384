"""Addresses of servers: a host and a port."""

import socket

from keras_transformer.errors import UserError


def format_address(host, port):
    """Returns an address as text, in which an IPv6 host needs brackets.

    >>> format_address("::1", 8500)
    '[::1]:8500'
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def bind(host, port):
    """Returns a socket that is bound to an address but does not listen.

    A host with several addresses is bound to one of IPv4 if there is any,
    because clients try IPv4 at least.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UserError(
            "`host` must be a name or an address of this machine. Received: "
            f"host={host!r}. Use localhost, or 0.0.0.0 for all addresses."
        ) from error
    family, kind, protocol, _, address = min(
        addresses, key=lambda info: info[0] != socket.AF_INET
    )
    # asyncio sends small responses at once only if it knows the protocol.
    bound = socket.socket(family, kind, protocol)
    # A port stays in TIME_WAIT after its last use.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise explain_occupied_port(host, port, error.strerror) from error
    return bound


def explain_occupied_port(host, port, reason):
    """Returns the error for a port that cannot be used."""
    return UserError(
        f"Cannot listen on {format_address(host, port)}: {reason}. Choose "
        "another port or host."
    )
