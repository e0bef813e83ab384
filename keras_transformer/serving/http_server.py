"""An HTTP server: uvicorn with limits for each client."""

import contextlib
import functools
import logging
import socket
import ssl
import sys
import threading

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from keras_transformer.errors import UserError
from keras_transformer.serving import limits
from keras_transformer.serving.asgi import format_error
from keras_transformer.serving.errors import explain_occupied_port


class HttpServer:
    """Runs an ASGI application in a thread.

    Port 0 stands for any free port. `tls` is a pair of the paths of a
    certificate and its private key; None does not encrypt. The server calls
    itself `name` in its responses.
    """

    def __init__(self, app, host, port, tls=None, name="kt-serve"):
        context = tls and load_tls(*tls)
        self._config = uvicorn.Config(
            app,
            http=functools.partial(_Connection, context),  # type: ignore[arg-type]
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level=logging.CRITICAL,  # faulty requests are not worth a line
            access_log=False,
            proxy_headers=False,
            server_header=False,
            headers=[("server", name)],
            timeout_keep_alive=limits.IDLE_SECONDS,
            backlog=limits.MAX_ACCEPTED_AT_ONCE,
            h11_max_incomplete_event_size=limits.MAX_HEADER_BYTES,
        )
        self._server = uvicorn.Server(self._config)
        self._socket = bind(host, port)
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run,
            args=([self._socket],),
            name="http",
            daemon=True,
        )

    def start(self):
        """Starts to respond; until then the port is taken but refuses."""
        try:
            self._socket.listen()
        # Several can bind a port, but only one can listen.
        except OSError as error:
            host, port = self._socket.getsockname()[:2]
            raise explain_occupied_port(host, port, error.strerror) from error
        self._thread.start()

    def stop(self, seconds):
        """Refuses new requests, and finishes others for up to `seconds`."""
        self._config.timeout_graceful_shutdown = seconds
        self._server.should_exit = True
        if self._thread.ident:  # None before `start`
            self._thread.join(seconds + limits.LINGER_SECONDS)
        self._socket.close()


class _Connection(H11Protocol):
    """A connection of uvicorn with limits for clients that stall.

    uvicorn waits for ever for requests to arrive and responses to be taken, and
    does not count connections before their handshake with `tls`, a context.
    """

    _deadline = None  # the timer of the request that is arriving
    _stuck = None  # the timer of a response that the client does not take
    _is_over = False  # whether what still arrives is dropped

    def __init__(self, tls, *arguments, **options):
        super().__init__(*arguments, **options)
        self._tls = tls  # until the connection is encrypted
        self._arrived = b""  # right after the handshake

    def connection_made(self, transport):
        super().connection_made(_Transport(transport, self))
        self._waits_since = self.loop.time()
        self._begin_request()
        if len(self.connections) > 2 * limits.MAX_CONNECTIONS:
            transport.abort()
        elif len(self.connections) > limits.MAX_CONNECTIONS:
            self._take_place()
        if self._tls:
            self._handshake = self.loop.create_task(self._encrypt(transport))
        else:
            # Python calls `pause_writing` as soon as bytes have to wait.
            transport.set_write_buffer_limits(high=1)

    async def _encrypt(self, transport):
        """Shakes hands, and begins anew with an encrypted transport."""
        encrypted = None
        if not transport.is_closing():
            with contextlib.suppress(OSError):  # the client did not speak TLS
                encrypted = await self.loop.start_tls(
                    transport, self, self._tls, server_side=True
                )
        self._tls = None
        if encrypted is None or self not in self.connections:
            self.connection_lost(None)
            return
        super().connection_made(_Transport(encrypted, self))
        encrypted.set_write_buffer_limits(high=1)
        if self._arrived:
            self.data_received(self._arrived)

    def connection_lost(self, error):
        super().connection_lost(error)
        self._end_request()
        self.resume_writing()

    def data_received(self, data):
        if self._tls:
            self._arrived += data
        if self._tls or self._is_over:
            return
        self._begin_request()
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._end_request()

    def on_response_complete(self):
        if self.conn.their_state is h11.SEND_BODY:
            self._linger()  # the request was refused before all of it arrived
            return
        self._waits_since = self.loop.time()
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._begin_request()  # a part of the next one came along

    def pause_writing(self):
        super().pause_writing()
        self._stuck = self.loop.call_later(
            limits.RESPONSE_SECONDS, self.transport.abort
        )

    def resume_writing(self):
        super().resume_writing()
        if self._stuck:
            self._stuck.cancel()

    def send_400_response(self, message):
        # uvicorn calls this while it handles the error, which says more.
        error = sys.exception()
        status = getattr(error, "error_status_hint", 400)
        self._refuse(status, f"Malformed HTTP: {error or message}")

    def shutdown(self):
        if self._deadline:
            self._refuse(503, "The server is stopping.")
        else:
            super().shutdown()

    def _begin_request(self):
        if not self._deadline:
            self._deadline = self.loop.call_later(
                limits.REQUEST_SECONDS,
                self._refuse,
                408,
                f"No whole request in {limits.REQUEST_SECONDS} s. Try again.",
            )

    def _end_request(self):
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _take_place(self):
        """Takes the place of the connection that has waited longest."""
        waiting = [each for each in self.connections if each._is_waiting()]
        longest = min(waiting, key=lambda each: each._waits_since)
        # A new connection waits too, until its request arrives.
        seconds = self.loop.time() - longest._waits_since
        loser = longest if seconds >= limits.MIN_IDLE_SECONDS else self
        loser._refuse(
            503,
            f"All of the server's {limits.MAX_CONNECTIONS} connections are in "
            "use. Try again later.",
        )

    def _is_waiting(self):
        """Returns whether no complete request is being processed."""
        cycle = self.cycle
        is_answering = cycle and not cycle.response_complete
        return not self._is_over and (not is_answering or cycle.more_body)

    def _refuse(self, status, message):
        """Sends an error without the application, and closes the connection."""
        if self._tls:
            self.transport.abort()  # the client could not read it
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            content = format_error(message)
            headers = [("Content-Type", "application/json")]
            headers += [("Content-Length", str(len(content)))]
            head = h11.Response(
                status_code=status, headers=[*headers, ("Connection", "close")]
            )
            for event in (head, h11.Data(data=content), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event))
        self._linger()

    def _linger(self):
        """Closes the connection once the client has read the response."""
        # Bytes that have not been read would destroy the response on its way.
        self._is_over = True
        self._end_request()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(limits.LINGER_SECONDS, self.transport.abort)


class _Transport:
    """A transport that uvicorn cannot close before a refusal is read."""

    def __init__(self, transport, connection):
        self._transport = transport
        self._connection = connection

    def __getattr__(self, name):
        return getattr(self._transport, name)

    def close(self):
        if self._connection.conn.their_state is h11.SEND_BODY:
            self._connection._linger()
        else:
            self._transport.close()


def load_tls(certificate, key):
    """Returns the context of TLS for the paths of a PEM key pair."""
    for path in (certificate, key):
        open(path).close()  # names the file if it cannot be read
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # The empty password keeps OpenSSL from asking for one.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise UserError(
            "`tls_certificate` and `tls_key` must be a certificate and its "
            "private key in PEM, without a password. Received: "
            f"tls_certificate={certificate!r}, tls_key={key!r} "
            f"({error.reason or error}). Use the files of one pair."
        ) from error
    return context


class _Listener(socket.socket):
    """A socket where more clients may wait than asyncio accepts at once."""

    def listen(self, backlog=None):
        super().listen(limits.MAX_PENDING_CONNECTIONS)


def bind(host, port):
    """Returns a socket that is bound to an address but does not listen.

    If a host has several addresses, an IPv4 address is preferred, because all
    clients try IPv4.
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
    bound = _Listener(family, kind, protocol)
    # A port that the user chose may be in TIME_WAIT after its last use. Until
    # somebody listens, this option also lets others bind it, so a port that the
    # system chooses goes without.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, port != 0)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise explain_occupied_port(host, port, error.strerror) from error
    return bound
