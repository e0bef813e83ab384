"""Puts a server under the load of many clients and of malformed requests.

report = run_load(
    {"rest": "localhost:8501", "grpc": "localhost:8500"},
    "translate", texts, lambda text, best: best == expected[text],
    seconds=120)
print(report.figures())
"""

import dataclasses
import http.client
import json
import math
import random
import threading
import time

from keras_transformer.serving import client

# Malformed requests: the rest of the path after the model's name, the body, and
# the HTTP status that must answer it.
MALFORMED = (
    (":predict", b'{"instances": ["A dog"]', 400),
    (":predict", b"\xff\xfe\x00", 400),
    (":predict", b'{"instances": [1, 2]}', 400),
    (":predict", b'{"instances": [["A", "dog"]]}', 400),
    (":predict", b'{"instances": []}', 400),
    (":predict", b'{"inputs": {"words": ["A dog"]}}', 400),
    (":predict", b'{"signature_name": "none", "inputs": ["A dog"]}', 400),
    (":predict", b"[" * 5000, 400),
    ("/versions/999999:predict", b'{"inputs": ["A dog"]}', 404),
    ("-none:predict", b'{"inputs": ["A dog"]}', 404),
    (":translate", b"{}", 400),
    (":classify", b"{}", 501),
)


@dataclasses.dataclass
class LoadReport:
    """The outcome of the requests of one or all clients."""

    seconds: float = 0.0
    latencies: list = dataclasses.field(default_factory=list)  # seconds
    num_wrong: int = 0  # wrong answers to valid requests
    num_malformed: int = 0  # requests that were malformed on purpose
    num_malformed_wrong: int = 0  # of these, those without the right error
    errors: list = dataclasses.field(default_factory=list)  # valid requests

    def figures(self):
        """Returns the figures as a dictionary for JSON."""
        in_order = sorted(self.latencies)
        return {
            "seconds": round(self.seconds, 1),
            "requests": len(in_order),
            "requests_per_second": round(len(in_order) / self.seconds, 1),
            "p50_ms": _milliseconds(in_order, 0.5),
            "p99_ms": _milliseconds(in_order, 0.99),
            "max_ms": _milliseconds(in_order, 1),
            "wrong_answers": self.num_wrong,
            "failed": len(self.errors),
            "malformed": self.num_malformed,
            "malformed_not_refused_rightly": self.num_malformed_wrong,
        }


def run_load(
    addresses,
    model_name,
    texts,
    is_right,
    seconds,
    num_clients=16,
    malformed_share=0.1,
    random_seed=0,
):
    """Sends requests from many clients, each as soon as the last is answered.

    Args:
        addresses: Dictionary from "grpc" or "rest" to a server's address. The
            clients are divided among the protocols. Malformed requests go over
            REST; without REST there are none.
        model_name: Name of the model on the server.
        texts: List of sentences. Each request draws one of them.
        is_right: Function of a text and its best translation that returns
            whether the translation is right.
        seconds: Duration of the load in seconds.
        num_clients: Number of clients, each with its own thread. Defaults to
            16.
        malformed_share: Share of malformed requests among all. Defaults to 0.1.
        random_seed: Integer seed of the choice of requests. Defaults to 0.

    Returns:
        `LoadReport` of all clients.
    """
    clients = [
        _Client(number, addresses, model_name, random_seed)
        for number in range(num_clients)
    ]
    begin = time.monotonic()
    threads = [
        threading.Thread(
            target=each.run,
            args=(begin + seconds, texts, is_right, malformed_share),
        )
        for each in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _sum_up([each.report for each in clients], time.monotonic() - begin)


class _Client:
    """One client, which draws its requests from random numbers of its own."""

    def __init__(self, number, addresses, model_name, random_seed):
        # Sorted, so that a client has the same protocol in every run.
        protocols = sorted(addresses)
        protocol = protocols[number % len(protocols)]
        self._ask = client.connect(
            addresses[protocol],
            protocol,
            model_name,
            timeout_secs=60,  # slow answers count as latency, not as errors
        )
        self._send_malformed = None
        if "rest" in addresses:
            self._send_malformed = _MalformedSender(
                addresses["rest"], model_name
            )
        # Seeded for each client, so that requests do not depend on scheduling.
        self._random = random.Random(f"{random_seed} {number}")
        self.report = LoadReport()

    def run(self, end, texts, is_right, malformed_share):
        while time.monotonic() < end:
            if self._send_malformed and self._random.random() < malformed_share:
                request = self._random.choice(MALFORMED)
                self.report.num_malformed += 1
                self.report.num_malformed_wrong += not self._send_malformed(
                    request
                )
            else:
                self._translate(self._random.choice(texts), is_right)
        self._ask.close()

    def _translate(self, text, is_right):
        begin = time.monotonic()
        try:
            answer = self._ask([text])
        except ValueError as error:
            self.report.errors.append(str(error))
            return
        self.report.latencies.append(time.monotonic() - begin)
        self.report.num_wrong += not is_right(text, answer.translations[0][0])


class _MalformedSender:
    """Sends malformed requests; returns whether the right error came back."""

    def __init__(self, address, model_name):
        # Not `RestClient`, which cannot send malformed requests.
        self._connection = http.client.HTTPConnection(address, timeout=60)
        self._path = f"/v1/models/{model_name}"

    def __call__(self, malformed):
        path, body, status = malformed
        try:
            self._connection.request("POST", self._path + path, body)
            response = self._connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            # The next request opens a new connection.
            self._connection.close()
            return False
        return response.status == status and list(answer) == ["error"]


def _sum_up(reports, seconds):
    return LoadReport(
        seconds,
        sum((report.latencies for report in reports), []),
        sum(report.num_wrong for report in reports),
        sum(report.num_malformed for report in reports),
        sum(report.num_malformed_wrong for report in reports),
        sum((report.errors for report in reports), []),
    )


def _milliseconds(in_order, share):
    if not in_order:
        return math.nan
    index = min(int(share * len(in_order)), len(in_order) - 1)
    return round(1000 * in_order[index], 1)
