"""Reading from a socket until a point in time."""

import io
import math
import time


class DeadlineReader(io.RawIOBase):
    """Reads from a socket and fails once a point in time is over.

    The timeout of a socket limits each read. A peer that sends one byte a
    second never exceeds it, so the time of all reads together is limited here.

    Args:
        raw: Unbuffered reader of the socket.
        connection: The socket, whose timeout each read changes.
        deadline: Time of `time.monotonic` after which reading raises a
            `TimeoutError`. It may be changed later. Defaults to none.

    Example:

    >>> import socket
    >>> ours, theirs = socket.socketpair()
    >>> raw = ours.makefile("rb", 0)
    >>> reader = DeadlineReader(raw, ours, time.monotonic() + 10)
    >>> theirs.sendall(b"hello")
    >>> reader.read(5)
    b'hello'
    """

    def __init__(self, raw, connection, deadline=math.inf):
        self.deadline = deadline
        self._raw = raw
        self._connection = connection

    def readable(self):
        return True

    def readinto(self, buffer):
        seconds_left = self.deadline - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError("The time to read is over.")
        no_limit = seconds_left == math.inf
        self._connection.settimeout(None if no_limit else seconds_left)
        # `raw` would refuse to read after a timeout, but the rest of a late
        # request must still be read.
        return self._connection.recv_into(buffer)

    def close(self):
        self._raw.close()
        super().close()
