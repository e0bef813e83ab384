"""Free ports for servers that other processes start."""

import contextlib
import random
import socket


def free_port():
    """Returns a free port that the system will give to nobody else.

    Systems choose ports for other sockets from 32768 or above.
    """
    while True:
        port = random.SystemRandom().randrange(20000, 32768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("localhost", port))
            return port
