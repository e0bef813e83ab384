"""What an operator sees of a server: metrics and an access log."""

import contextlib
import contextvars
import dataclasses
import datetime
import json
import queue
import sys
import threading
import time

from keras_transformer.errors import require_package
from keras_transformer.serving.asgi import Response
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError

MAX_WAITING_LINES = 10_000  # further ones are lost
SECONDS_TO_END = 2  # for the lines that wait when the server stops
# A translation takes milliseconds, and a request at most five minutes.
_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
_METRICS = (  # kind, name, help, labels
    ("Counter", "requests", "Requests.", ("face", "status")),
    ("Counter", "sentences", "Sentences to translate.", ()),
    ("Counter", "tokens", "Tokens of texts and translations.", ("side",)),
    ("Counter", "alarms", "Doubtful translations.", ("alarm",)),
    ("Gauge", "queue", "Sentences that wait for a batch.", ()),
    ("Histogram", "seconds", "Time of each stage.", ("stage",)),
)
_request = contextvars.ContextVar("request", default=None)


@dataclasses.dataclass
class Request:
    """What the access log tells about a request: no texts and no keys."""

    face: str  # the protocol
    method: str
    path: str | None  # None if it is unknown, since it could hold a text
    client: str | None
    status: int | str = 499  # the client left
    key: int | None = None  # the line of the key in its file
    sentences: int = 0

    def __post_init__(self):
        self._calls = []
        self.is_over = False

    def add(self, call):
        """Lets the `Call` of a batcher end with the request."""
        self._calls.append(call)
        if self.is_over:
            call.cancel()

    def end(self):
        """Drops what still waits, since there is no client any more."""
        self.is_over = True
        for call in list(self._calls):
            call.cancel()


class Monitor:
    """Counts requests for Prometheus, and writes a line of JSON for each.

    `metrics` says whether it counts. `access_log` is a path, or - for standard
    output. A thread writes the lines, so that no request waits for a disk.
    """

    def __init__(self, metrics=False, access_log=None):
        self._metrics = {}
        if metrics:
            require_package(
                "prometheus_client",
                "`metrics` needs prometheus-client, which",
                "prometheus-client",
            )
            import prometheus_client

            self._registry = prometheus_client.CollectorRegistry()
            for kind, metric, *texts in _METRICS:
                options = {"buckets": _BUCKETS} if kind == "Histogram" else {}
                make = getattr(prometheus_client, kind)
                self._metrics[metric] = make(
                    f"kt_{metric}", *texts, registry=self._registry, **options
                )
        self._log = None if access_log is None else _Log(access_log)

    @contextlib.contextmanager
    def follow(self, *facts):
        """Yields the `Request` of these facts; ends and reports it."""
        request = Request(*facts)
        token = _request.set(request)
        begin = time.monotonic()
        try:
            yield request
        finally:
            _request.reset(token)
            request.end()
            seconds = time.monotonic() - begin
            self.count("requests", 1, request.face, request.status)
            self.observe("whole", seconds)
            if self._log:
                now = datetime.datetime.now(datetime.UTC)
                line = {
                    "time": now.isoformat(timespec="milliseconds"),
                    **dataclasses.asdict(request),
                    "seconds": round(seconds, 4),
                }
                self._log.write(json.dumps(line).encode() + b"\n")

    def identify(self, line):
        """Notes which line of the file has the key of the current request."""
        if request := _request.get():
            request.key = line

    def note_call(self, call, number):
        """Adds a `Call` of some sentences to the current request."""
        self.count("sentences", number)
        if request := _request.get():
            request.sentences += number
            request.add(call)

    def count(self, name, number, *labels):
        """Adds to a counter."""
        if self._metrics:
            metric = self._metrics[name]
            (metric.labels(*labels) if labels else metric).inc(number)

    def observe(self, stage, seconds):
        """Notes the seconds of a stage."""
        if self._metrics:
            self._metrics["seconds"].labels(stage).observe(seconds)

    @contextlib.contextmanager
    def measure(self, stage):
        """Notes the seconds that a block takes."""
        begin = time.monotonic()
        yield
        self.observe(stage, time.monotonic() - begin)

    @contextlib.contextmanager
    def take_turn(self, semaphore):
        """Waits for a semaphore, unless the client leaves meanwhile."""
        with semaphore:
            if (request := _request.get()) and request.is_over:
                raise RequestError("CANCELLED", "The client has left.")
            yield

    def watch_queue(self, count_waiting):
        """Lets a function tell how many sentences wait."""
        if self._metrics:
            self._metrics["queue"].set_function(count_waiting)

    def format_metrics(self):
        """Returns the metrics in Prometheus' text."""
        if not self._metrics:
            raise InvalidRequest(
                "/metrics needs a server with --metrics. Received: a request "
                "to one without. Start kt-serve with it."
            )
        import prometheus_client

        text = prometheus_client.generate_latest(self._registry)
        return Response(text, "text/plain; version=0.0.4")

    def close(self):
        """Writes the lines that still wait."""
        if self._log:
            self._log.close()


class _Log:
    """A file of lines, which a thread writes; - is standard output."""

    def __init__(self, path):
        self._file = sys.stdout.fileno() if path == "-" else path
        self._open().close()  # a fault ends the command
        self._lines = queue.Queue(MAX_WAITING_LINES)
        self._has_lost = False
        # A daemon, because writing to a pipe that nobody reads never ends.
        self._thread = threading.Thread(
            target=self._work, name="log", daemon=True
        )
        self._thread.start()

    def write(self, line):
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._warn("it is too slow")

    def close(self):
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
            self._thread.join(SECONDS_TO_END)

    def _open(self):
        is_path = isinstance(self._file, str)
        # There is no buffer, since its lock would outlive the thread.
        return open(self._file, "ab", buffering=0, closefd=is_path)

    def _work(self):
        while (line := self._lines.get()) is not None:
            try:
                # Opened for each, since tools such as logrotate move it.
                with self._open() as file:
                    file.write(line)
            except OSError as error:
                self._warn(error.strerror)

    def _warn(self, reason):
        if not self._has_lost:  # one line for all
            self._has_lost = True
            print(
                f"The access log loses lines: {reason}. Write it to another "
                "file or disk.",
                file=sys.stderr,
                flush=True,
            )
