"""TF Serving's REST interface over HTTP."""

import http.server
import json
import re
import socket
import socketserver
import threading
import time
import urllib.parse

from keras_transformer.serving import json_tensors
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.errors import invalid

MAX_BODY_BYTES = 16 * 2**20  # thousands of sentences
IDLE_SECONDS = 60  # an idle connection is closed after this time
# Case is ignored as in TF Serving. Versions of up to 18 digits fit into the
# 64-bit integers of its protocol.
_PATH = re.compile(
    "/v1/models/(?P<name>[^/:]+)"
    "(?:/versions/(?P<version>[0-9]{1,18})|/labels/(?P<label>[^/:]+))?"
    "(?:/(?P<metadata>metadata)|:(?P<method>classify|regress|predict))?",
    re.IGNORECASE,
)


class RestServer(http.server.ThreadingHTTPServer):
    """Answers HTTP requests, with one thread for each connection.

    Args:
        service: `Service` that answers the requests.
        host: Host name or address to listen on.
        port: Integer port to listen on; 0 stands for any free port.
    """

    request_queue_size = 128  # the default of 5 refuses bursts of clients
    daemon_threads = True  # `stop` waits for them, but not for ever

    def __init__(self, service, host, port):
        self.service = service
        self.is_stopping = False
        self._connections = {}  # connection: whether it is being answered
        self._changed = threading.Condition()
        self.address_family = address_family(host)
        super().__init__((host, port), _Handler, bind_and_activate=False)
        try:
            self.server_bind()
        except OSError:
            self.server_close()
            raise
        # It checks every 0.05 s whether to stop.
        self._thread = threading.Thread(
            target=self.serve_forever, args=(0.05,), name="rest", daemon=True
        )

    def server_bind(self):
        # `HTTPServer.server_bind` also looks up the full name of the host.
        # That may take seconds, and nobody reads it.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def start(self):
        """Starts to answer in the background.

        Until then the port is bound, but connections are refused.
        """
        self.server_activate()
        self._thread.start()

    def stop(self, seconds):
        """Refuses new requests and finishes the running ones.

        Args:
            seconds: Largest number of seconds to wait for running requests.
        """
        self.is_stopping = True  # answers now close their connection
        self.shutdown()
        self.socket.close()
        end = time.monotonic() + seconds
        with self._changed:
            # The thread of an idle connection waits for the next request. It
            # ends when it can read no more.
            for connection, is_busy in self._connections.items():
                if not is_busy:
                    _end_reading(connection)
            while self._connections and time.monotonic() < end:
                self._changed.wait(end - time.monotonic())

    def mark(self, connection, is_busy):
        """Marks a connection as busy or idle.

        Args:
            connection: Socket of the connection.
            is_busy: Boolean, whether one of its requests is being answered.
        """
        with self._changed:
            self._connections[connection] = is_busy

    def process_request(self, request, client_address):
        # Marked before its thread starts, so that `stop` sees every connection.
        self.mark(request, False)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        super().shutdown_request(request)
        with self._changed:
            self._connections.pop(request, None)
            self._changed.notify_all()

    def handle_error(self, request, client_address):
        """Ignores clients that have disconnected."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "kt-serve"
    sys_version = ""
    timeout = IDLE_SECONDS
    wbufsize = -1  # buffered, so that headers and body leave together
    disable_nagle_algorithm = True  # answers are small and must leave at once

    def handle_one_request(self):
        # It begins by waiting for the next request of the connection.
        self.server.mark(self.connection, False)
        super().handle_one_request()

    def _answer(self):
        self.server.mark(self.connection, True)
        try:
            status, body = 200, self._result()
        except RequestError as error:
            status = error.http_status
            body = json_tensors.dump({"error": str(error)})
        except (ConnectionError, TimeoutError):
            raise  # there is no client left to answer
        except Exception as error:
            status = 500
            body = json_tensors.dump({"error": f"Internal: {error!r}"})
        self._send(status, body)

    # Unsupported methods get an error in JSON too.
    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _answer
    do_OPTIONS = do_HEAD = do_TRACE = _answer

    def _result(self):
        body = self._read_body()
        path = urllib.parse.urlsplit(self.path).path
        match = _PATH.fullmatch(path)
        method = match and ("POST" if match["method"] else "GET")
        if not match or method != self.command:
            raise invalid(f"Malformed request: {self.command} {path}")
        requested_model = (
            urllib.parse.unquote(match["name"]),
            int(match["version"]) if match["version"] else None,
            urllib.parse.unquote(match["label"] or ""),
        )
        if match["metadata"]:
            return _metadata(self.server.service, *requested_model)
        if not match["method"]:
            return _status(self.server.service, *requested_model)
        if match["method"].lower() != "predict":
            raise RequestError(
                "UNIMPLEMENTED",
                f"Only :predict is supported. Received: :{match['method']}",
            )
        return _predict(self.server.service, *requested_model, body)

    def _read_body(self):
        encoding = self.headers.get("Transfer-Encoding", "identity")
        length = self.headers.get("Content-Length", "0")
        if encoding != "identity" or not re.fullmatch("[0-9]{1,18}", length):
            self.close_connection = True
            raise RequestError(
                "INVALID_ARGUMENT", "A request needs a Content-Length.", 411
            )
        length = int(length)
        if length > MAX_BODY_BYTES:
            # The body is read and dropped. Otherwise a client that is still
            # sending would see a broken connection instead of the answer.
            self.close_connection = True
            num_left = min(length, 4 * MAX_BODY_BYTES)
            while num_left > 0 and (part := self.rfile.read1(2**16)):
                num_left -= len(part)
            raise RequestError(
                "INVALID_ARGUMENT",
                f"A request must have at most {MAX_BODY_BYTES} bytes. "
                f"Received: {length}.",
                413,
            )
        body = self.rfile.read(length)
        if len(body) < length:  # the client has disconnected
            raise ConnectionAbortedError
        return body

    def _send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.server.is_stopping or self.close_connection:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_expect_100(self):
        proceeds = super().handle_expect_100()
        self.wfile.flush()  # the client waits for this before it sends on
        return proceeds

    def send_error(self, code, message=None, explain=None):
        """Answers malformed HTTP with an error in JSON, like all others."""
        self.close_connection = True
        self._send(code, json_tensors.dump({"error": message or str(code)}))

    def log_message(self, format, *args):
        """Discards the log line of each request."""


def _predict(service, name, version, label, body):
    request = json_tensors.parse_request(body)
    _, model = service.find(name, version, label)
    name, signature = service.signature(model, request.signature_name)
    arrays = json_tensors.arrays_of(request, signature.inputs)
    outputs = service.predict(model, name, arrays)
    return json_tensors.format_response(outputs, request.is_row)


def _status(service, *requested_model):
    statuses = [
        {
            "version": str(number),
            "state": status.state,
            "status": {
                "error_code": status.code,
                "error_message": status.message,
            },
        }
        for number, status in service.statuses(*requested_model).items()
    ]
    return json.dumps({"model_version_status": statuses}, indent=1).encode()


def _metadata(service, name, version, label):
    from google.protobuf import json_format

    version, model = service.find(name, version, label)
    signatures = {
        key: json_format.MessageToDict(
            definition,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,  # as TF Serving
        )
        for key, definition in sorted(model.signature_defs.items())
    }
    spec = {"name": name, "signature_name": "", "version": str(version)}
    metadata = {"signature_def": {"signature_def": signatures}}
    answer = {"model_spec": spec, "metadata": metadata}
    return json.dumps(answer, indent=1).encode()


def address_family(host):
    """Returns the address family of a host, preferably IPv4.

    Raises:
        OSError: If the host has no address.
    """
    addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    families = [info[0] for info in addresses]
    # "localhost" often has both, and clients try IPv4 at least.
    return socket.AF_INET if socket.AF_INET in families else families[0]


def _end_reading(connection):
    try:
        connection.shutdown(socket.SHUT_RD)
    except OSError:
        pass  # its thread has closed it in the meantime
