"""An HTTP server for TF Serving's REST interface."""

import collections
import io
import socket
import socketserver
import threading
import time

from keras_transformer.serving import http_requests
from keras_transformer.serving import json_tensors
from keras_transformer.serving import limits
from keras_transformer.serving.addresses import address_family
from keras_transformer.serving.connections import Connections
from keras_transformer.serving.deadline_reader import DeadlineReader
from keras_transformer.serving.http_requests import HttpError
from keras_transformer.serving.rest_paths import RestPaths


class RestServer(socketserver.ThreadingTCPServer):
    """Answers HTTP requests, with one thread for each connection.

    Args:
        service: `Service` that answers the requests.
        host: Host name or address to listen on.
        port: Integer port to listen on; 0 stands for any free port.
        max_connections: Largest number of open connections. Defaults to
            `limits.MAX_CONNECTIONS`.
    """

    request_queue_size = 128  # the default of 5 refuses bursts of clients
    allow_reuse_address = True  # a port stays in TIME_WAIT after its last use
    daemon_threads = True  # `stop` waits for them, but not for ever

    def __init__(
        self, service, host, port, max_connections=limits.MAX_CONNECTIONS
    ):
        self.paths = RestPaths(service)
        self.is_stopping = False
        self.connections = Connections(max_connections)
        self._refused = collections.deque()  # times and connections
        self.address_family = address_family(host)
        super().__init__((host, port), _Handler, bind_and_activate=False)
        try:
            self.server_bind()
        except OSError:
            self.server_close()
            raise
        self.server_port = self.server_address[1]
        # It checks every 0.05 s whether to stop.
        self._thread = threading.Thread(
            target=self.serve_forever, args=(0.05,), name="rest", daemon=True
        )

    def start(self):
        """Starts to answer in the background.

        Until then the port is bound, but connections are refused.

        Raises:
            OSError: If another server listens on the port. Several can bind it.
        """
        try:
            self.server_activate()
        except OSError:
            self.server_close()
            raise
        self._thread.start()

    def stop(self, seconds):
        """Refuses new requests and finishes the running ones.

        Args:
            seconds: Largest number of seconds to wait for running requests.
        """
        self.is_stopping = True  # answers now close their connection
        self.shutdown()
        self.socket.close()
        self._close_refused(older_than=0)
        self.connections.stop(seconds)

    def get_request(self):
        try:
            return super().get_request()
        except OSError:
            # Probably too many files are open. The connection keeps waiting,
            # and without this pause the server would retry without a break.
            time.sleep(0.05)
            raise

    def process_request(self, request, client_address):
        # Before its thread starts, so that `stop` sees every connection.
        if self.connections.enter(request):
            super().process_request(request, client_address)
        else:
            self._refuse(request)

    def shutdown_request(self, request):
        super().shutdown_request(request)
        self.connections.leave(request)

    def service_actions(self):
        """Closes refused connections; the base class calls it regularly."""
        self._close_refused(older_than=limits.LINGER_SECONDS)

    def handle_error(self, request, client_address):
        """Ignores clients that have disconnected."""

    def _refuse(self, connection):
        """Answers a connection for which there is no place, without a thread.

        It stays open for a while, because closing it before the client has sent
        its request would destroy the answer.
        """
        error = _too_many(self.connections.max_number)
        try:
            connection.setblocking(False)
            connection.send(_format_error(error))
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the client has disconnected
        self._refused.append((time.monotonic(), connection))
        if len(self._refused) > limits.MAX_REFUSED:
            self._refused.popleft()[1].close()

    def _close_refused(self, older_than):
        latest = time.monotonic() - older_than
        while self._refused and self._refused[0][0] <= latest:
            self._refused.popleft()[1].close()


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True  # answers are small and must leave at once

    def setup(self):
        super().setup()
        raw = self.rfile.detach()
        self._reader = DeadlineReader(raw, self.connection)
        self.rfile = io.BufferedReader(self._reader)

    def handle(self):
        try:
            while self._waits_for_request() and self._answer_request():
                pass
        except (ConnectionError, TimeoutError):
            pass  # there is no client left to answer

    def _waits_for_request(self):
        """Waits for the next request; returns whether one begins to arrive."""
        self.server.connections.mark_idle(self.connection)
        self._reader.deadline = time.monotonic() + limits.IDLE_SECONDS
        return bool(self.rfile.peek(1))

    def _answer_request(self):
        """Answers a request; returns whether a further one may follow."""
        self._reader.deadline = time.monotonic() + limits.REQUEST_SECONDS
        try:
            head, body = self._read()
        except HttpError as error:
            self._send(_format_error(error))
            self._linger()
            return False
        status, answer = self.server.paths.answer(head.method, head.path, body)
        closes = self.server.is_stopping or not head.keeps_alive
        has_body = head.method != "HEAD"
        self._send(
            http_requests.format_answer(status, answer, closes, has_body)
        )
        return not closes

    def _read(self):
        connections = self.server.connections
        try:
            head = http_requests.read_head(self.rfile)
            if head.expects_continue:
                self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = http_requests.read_body(self.rfile, head.body_length)
        except TimeoutError as error:
            raise HttpError(
                f"A request must arrive in {limits.REQUEST_SECONDS} s.", 408
            ) from error
        except ConnectionError:
            if connections.mark_busy(self.connection):
                raise
            raise _too_many(connections.max_number) from None
        if not connections.mark_busy(self.connection):
            raise _too_many(connections.max_number)
        return head, body

    def _send(self, content):
        # The time for all of it: `sendall` does not begin anew for each part.
        self.connection.settimeout(limits.ANSWER_SECONDS)
        self.connection.sendall(content)

    def _linger(self):
        """Reads what the client still sends, and drops it.

        Closing a connection with unread bytes would destroy the answer before
        the client has read it.
        """
        self.connection.shutdown(socket.SHUT_WR)
        self._reader.deadline = time.monotonic() + limits.LINGER_SECONDS
        while self.rfile.read1(2**16):
            pass


def _too_many(max_connections):
    return HttpError(
        "The server cannot take the request: it is stopping, or all of its "
        f"{max_connections} connections are in use. Try again later.",
        503,
    )


def _format_error(error):
    body = json_tensors.dump({"error": str(error)})
    return http_requests.format_answer(error.http_status, body, closes=True)
