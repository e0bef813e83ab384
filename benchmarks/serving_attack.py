"""Measures how long normal requests take while others attack kt-serve.

    python benchmarks/serving_attack.py test.en EXPORT

One client sends a sentence at a time, without pause. It does so alone and
beside four clients that send bodies of 3.9 MB, each as soon as the last is
answered: lists, texts, ids or objects over REST, lines, marks or terms for
/translate, and texts, names, axes or outputs over gRPC, too many of each. The
client has the protocol of the attack. Attacks and quiet take turns, so that
other load on the machine meets both. A line of JSON for each protocol has the
percentiles.
"""

import http.client
import json
import multiprocessing
import statistics
import sys
import time

import grpc
import numpy as np
from measurements.workload import read_sentences
from serving_load import run_server

from keras_transformer.serving import messages
from keras_transformer.serving.client import connect

NUM_ATTACKERS = 4
SECONDS = 10  # of quiet or of one attack, in each round
NUM_ROUNDS = 3
_SIZE = 3_900_000
ATTACKS = {
    "empty lists": b'{"instances": [' + _SIZE // 3 * b"[]," + b"[]]}",
    "texts": b'{"instances": [' + _SIZE // 4 * b'"a",' + b'"a"]}',
    "ids": b'{"signature_name": "ids", "inputs": [['
    + _SIZE // 2 * b"1,"
    + b"1]]}",
    "objects": b'{"instances": [' + _SIZE // 3 * b"{}," + b"{}]}",
    "lines": b'{"source": "auto", "target": "es", "q": "'
    + _SIZE // 3 * b"a\\n"
    + b'"}',
    "terms": b'{"source": "en", "target": "es", "q": "a", "glossary": {"a":"b"'
    + _SIZE // 8 * b',"a":"b"'
    + b"}}",
    "marks": b'{"format": "html", "source": "en", "target": "es", "q": "'
    + _SIZE // 3 * b"<b>"
    + b'"}',
}
PATHS = dict.fromkeys(("lines", "marks", "terms"), "/translate")  # of attacks


def _make_message(name):
    request = messages.PredictRequest()
    request.model_spec.name = "translate"
    proto = request.inputs["text"]
    proto.dtype = messages.get_data_type(np.dtype(object))
    if name == "texts":
        proto.string_val.extend(_SIZE // 2 * [b""])
        proto.tensor_shape.dim.add().size = _SIZE // 2
    elif name == "axes":
        for _ in range(_SIZE // 2):
            proto.tensor_shape.dim.add()
    elif name == "outputs":
        request.output_filter.extend(_SIZE // 2 * [""])
    else:
        for number in range(_SIZE // 14):
            request.inputs[f"{number:x}"].dtype = 7
    return request.SerializeToString()


MESSAGES = {
    f"{name} over gRPC": _make_message(name)
    for name in ("texts", "names", "axes", "outputs")
}


def ask_for(seconds, ask, texts):
    """Sends sentences for a time; returns the seconds of each request."""
    latencies = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        ask([texts[len(latencies) % len(texts)]])
        latencies.append(time.monotonic() - begin)
    return latencies


def attack_grpc(port, name, ready, stop, num_refusals):
    """Sends a message again and again; counts the refusals."""
    path = "/tensorflow.serving.PredictionService/Predict"
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        predict = channel.unary_unary(path)
        ready.wait()
        while not stop.is_set():
            try:
                predict(MESSAGES[name])
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.INVALID_ARGUMENT:
                    raise
            with num_refusals:
                num_refusals.value += 1


def attack(port, name, ready, stop, num_refusals):
    """Sends a body again and again; counts the refusals."""
    body = ATTACKS[name]
    connection = http.client.HTTPConnection("localhost", port, timeout=120)
    ready.wait()
    while not stop.is_set():
        path = PATHS.get(name, "/v1/models/translate:predict")
        connection.request("POST", path, body)
        response = connection.getresponse()
        response.read()
        if response.status != 400:
            raise RuntimeError(f"The status is {response.status}, not 400.")
        with num_refusals:
            num_refusals.value += 1


def measure(ports, texts, protocol):
    """Returns the figures of quiet and of each attack by their names.

    `ports` holds the server's port of each protocol.
    """
    attacks = {"rest": ATTACKS, "grpc": MESSAGES}[protocol]
    target = {"rest": attack, "grpc": attack_grpc}[protocol]
    port = ports[protocol]
    latencies = {"quiet": [], **{name: [] for name in attacks}}
    # Processes, because threads would slow the client down, not the server.
    context = multiprocessing.get_context("spawn")
    refusals = {name: context.Value("i") for name in latencies}
    ask = connect(f"localhost:{port}", protocol, timeout_secs=120)
    ask_for(SECONDS, ask, texts)  # to warm up
    for _ in range(NUM_ROUNDS):
        for name in latencies:
            stop = context.Event()
            num_attackers = NUM_ATTACKERS if name in attacks else 0
            # Their imports must not slow down what is measured.
            ready = context.Barrier(num_attackers + 1)
            attackers = [
                context.Process(
                    target=target,
                    args=(port, name, ready, stop, refusals[name]),
                )
                for _ in range(num_attackers)
            ]
            for attacker in attackers:
                attacker.start()
            ready.wait()
            latencies[name] += ask_for(SECONDS, ask, texts)
            stop.set()
            for attacker in attackers:
                attacker.join()
    return {
        name: {
            "requests": len(seconds),
            "p50_ms": round(1000 * statistics.median(seconds), 1),
            "p99_ms": round(1000 * statistics.quantiles(seconds, n=100)[98], 1),
            "refusals": refusals[name].value,
        }
        for name, seconds in latencies.items()
    }


def main(text_path, export_dir):
    texts = read_sentences(text_path)[:100]
    with run_server(export_dir) as (_, grpc_port, rest_port):
        ports = {"rest": rest_port, "grpc": grpc_port}
        for protocol in ports:
            figures = measure(ports, texts, protocol)
            print(json.dumps({protocol: figures}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
