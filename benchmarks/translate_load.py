"""Compares servers of LibreTranslate's protocol under load, by turns.

    kt-serve --export_dir=demo://en-es &
    libretranslate --port=5001 --load-only=en,es &
    python benchmarks/translate_load.py test.en en-es localhost:8501 \\
        localhost:5001

Each client sends POST /translate with one sentence at a time, without pause.
The servers take turns, so that other load on the machine meets all of them. A
line of JSON for each server and number of clients has the figures of all turns.
"""

import concurrent.futures
import http.client
import json
import random
import statistics
import sys
import time

from measurements.workload import read_sentences

NUM_CLIENTS = (16, 64)
SECONDS = 15
NUM_TURNS = 3
NUM_SENTENCES = 1000


def ask(address, pair, texts, end, seed):
    """Sends sentences until the time `end`; returns the seconds of each."""
    source, target = pair.split("-")
    choice = random.Random(seed).choice
    connection = http.client.HTTPConnection(address, timeout=120)
    headers = {"Content-Type": "application/json"}
    latencies = []
    while (begin := time.monotonic()) < end:
        fields = {"q": choice(texts), "source": source, "target": target}
        connection.request("POST", "/translate", json.dumps(fields), headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{address} refuses: {answer!r}")
        latencies.append(time.monotonic() - begin)
    connection.close()
    return latencies


def measure(address, pair, texts, num_clients, seed, seconds=SECONDS):
    """Returns the seconds of each request of a turn."""
    end = time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(num_clients) as threads:
        calls = [
            threads.submit(ask, address, pair, texts, end, f"{seed} {number}")
            for number in range(num_clients)
        ]
    return [seconds for call in calls for seconds in call.result()]


def main(text_path, pair, *addresses):
    texts = read_sentences(text_path)[:NUM_SENTENCES]
    for num_clients in NUM_CLIENTS:
        latencies = {address: [] for address in addresses}
        for address in addresses:
            measure(address, pair, texts, num_clients, "warm-up", 3)
        for turn in range(NUM_TURNS):
            for address in addresses:
                latencies[address] += measure(
                    address, pair, texts, num_clients, turn
                )
        for address, seconds in latencies.items():
            percentiles = statistics.quantiles(seconds, n=100)
            figures = {
                "server": address,
                "clients": num_clients,
                "requests": len(seconds),
                "requests_per_second": len(seconds) / (NUM_TURNS * SECONDS),
                "p50_ms": 1000 * percentiles[49],
                "p99_ms": 1000 * percentiles[98],
            }
            print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
