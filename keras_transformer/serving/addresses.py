"""Addresses of servers: a host and a port."""

import socket


def host_and_port(host, port):
    """Returns an address as text, in which an IPv6 host needs brackets.

    Example:

    >>> host_and_port("::1", 8500)
    '[::1]:8500'
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address_family(host):
    """Returns the address family of a host, preferably IPv4.

    Raises:
        ValueError: If the host has no address.
    """
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ValueError(
            "`host` must be a name or an address of this machine. Received: "
            f"host={host!r}. Use localhost, or 0.0.0.0 for all addresses."
        ) from error
    families = [info[0] for info in addresses]
    # "localhost" often has both, and clients try IPv4 at least.
    return socket.AF_INET if socket.AF_INET in families else families[0]
