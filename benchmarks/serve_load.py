"""Puts a server under the load of many clients and of faulty requests.

report = run_load(
    {"rest": "localhost:8501", "grpc": "localhost:8500"},
    "translate", texts, lambda text, best: best == expected[text],
    seconds=120)
print(report.figures())
"""

import random
import threading
import time

from serve_faults import Faults
from serve_report import LoadReport
from serve_report import MemorySampler

from keras_transformer.serving import client


def run_load(
    addresses,
    model_name,
    texts,
    is_right,
    seconds,
    num_clients=16,
    malformed_share=0.1,
    random_seed=0,
    process_id=None,
    min_requests=0,
):
    """Sends requests from many clients, each as soon as the last is answered.

    Args:
        addresses: Dictionary from "grpc" or "rest" to a server's address. The
            clients are divided among the protocols. Each client sends faulty
            requests over all of them.
        model_name: Name of the model on the server.
        texts: List of sentences. Each request draws one of them.
        is_right: Function of a text and its best translation that returns
            whether the translation is right.
        seconds: Duration of the load in seconds.
        num_clients: Number of clients, each with its own thread. Defaults to
            16.
        malformed_share: Share of faulty requests among all. Defaults to 0.1.
        random_seed: Integer seed of the choice of requests. Defaults to 0.
        process_id: Integer id of the server's process, whose memory is sampled.
            Defaults to none.
        min_requests: Integer, the minimum number of requests of each client. On
            a slow machine the load lasts longer for them. Defaults to 0.

    Returns:
        `LoadReport` of all clients.
    """
    clients = [
        _Client(number, addresses, model_name, random_seed)
        for number in range(num_clients)
    ]
    sampler = MemorySampler(process_id)
    begin = time.monotonic()
    threads = [
        threading.Thread(
            target=each.run,
            args=(
                *(begin + seconds, min_requests),
                *(texts, is_right, malformed_share),
            ),
        )
        for each in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report = LoadReport(time.monotonic() - begin, memory=sampler.stop())
    for each in clients:
        report.add(each.report)
    return report


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
        self._faults = Faults(addresses, model_name)
        # Seeded for each client, so that requests do not depend on scheduling.
        self._random = random.Random(f"{random_seed} {number}")
        self.report = LoadReport()

    def run(self, end, min_requests, texts, is_right, malformed_share):
        answers, errors = self.report.latencies, self.report.errors
        while (
            time.monotonic() < end or len(answers) + len(errors) < min_requests
        ):
            if self._random.random() < malformed_share:
                self.report.faults.append(self._faults.send(self._random))
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
