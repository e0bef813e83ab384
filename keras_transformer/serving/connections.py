"""The open connections of a server, up to a largest number."""

import socket
import threading
import time

from keras_transformer.serving import limits


class Connections:
    """Gives places to connections, and takes them from idle ones.

    If all places are taken, the connection that has been idle for the longest
    time is ended. So clients that stall or keep their connections do not keep
    out the others.

    Args:
        max_number: Number of places. Defaults to `limits.MAX_CONNECTIONS`.
    """

    def __init__(self, max_number=limits.MAX_CONNECTIONS):
        self.max_number = max_number
        self._changed = threading.Condition()
        self._busy = set()
        self._idle = {}  # connection: since when, longest first
        self._ending = set()
        self._is_stopping = False

    def enter(self, connection):
        """Gives a place to a new connection; returns whether there was one."""
        with self._changed:
            if len(self._busy) + len(self._idle) >= self.max_number:
                if not self._end_longest_idle():
                    return False
            self._idle[connection] = time.monotonic()
            return True

    def leave(self, connection):
        """Frees the place of a connection that is closed."""
        with self._changed:
            self._forget(connection)
            self._ending.discard(connection)
            self._changed.notify_all()

    def mark_idle(self, connection):
        """Marks that a connection waits for its next request."""
        with self._changed:
            if connection in self._ending:
                return
            self._forget(connection)
            self._idle[connection] = time.monotonic()
            if self._is_stopping:
                self._end(connection)

    def mark_busy(self, connection):
        """Marks that a whole request has arrived and is being answered.

        Returns:
            Boolean, whether it can be answered. It cannot if the connection
            lost its place while the request was arriving.
        """
        with self._changed:
            if connection in self._ending:
                return False
            self._forget(connection)
            self._busy.add(connection)
            return True

    def stop(self, seconds):
        """Ends idle connections and waits for the others.

        Args:
            seconds: Largest number of seconds to wait.
        """
        end = time.monotonic() + seconds
        with self._changed:
            self._is_stopping = True
            for connection in list(self._idle):
                self._end(connection)
            while self._busy | self._ending and time.monotonic() < end:
                self._changed.wait(end - time.monotonic())

    def _forget(self, connection):
        self._busy.discard(connection)
        self._idle.pop(connection, None)

    def _end_longest_idle(self):
        for connection, since in self._idle.items():
            # A new connection is idle too, until its request arrives.
            if time.monotonic() - since < limits.MIN_IDLE_SECONDS:
                return False
            self._end(connection)
            return True
        return False

    def _end(self, connection):
        self._forget(connection)
        self._ending.add(connection)
        try:
            # The thread of the connection ends when it can read no more.
            connection.shutdown(socket.SHUT_RD)
        except OSError:
            pass  # its thread has closed it in the meantime
