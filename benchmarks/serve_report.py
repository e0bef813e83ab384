"""The figures of a server under load."""

import collections
import dataclasses
import math
import statistics
import threading
import time

import psutil


@dataclasses.dataclass
class LoadReport:
    """The outcome of the requests of one or all clients."""

    seconds: float = 0.0
    latencies: list = dataclasses.field(default_factory=list)  # seconds
    num_wrong: int = 0  # wrong answers to valid requests
    errors: list = dataclasses.field(default_factory=list)  # of valid requests
    faults: list = dataclasses.field(
        default_factory=list
    )  # kind, whether right
    memory: list = dataclasses.field(default_factory=list)  # MiB each second

    def figures(self):
        """Returns the figures as a dictionary for JSON.

        The memory after warm-up is the median of the second quarter of the
        time, and the memory at the end is that of the last quarter.
        """
        in_order = sorted(self.latencies)
        kinds = collections.Counter(kind for kind, _ in self.faults)
        quarter = len(self.memory) // 4
        warm = _median(self.memory[quarter : 2 * quarter])
        end = _median(self.memory[-quarter:] if quarter else [])
        return {
            "seconds": round(self.seconds, 1),
            "requests": len(in_order),
            "requests_per_second": round(len(in_order) / self.seconds, 1),
            "p50_ms": _milliseconds(in_order, 0.5),
            "p99_ms": _milliseconds(in_order, 0.99),
            "max_ms": _milliseconds(in_order, 1),
            "wrong_answers": self.num_wrong,
            "failed": len(self.errors),
            "errors": dict(collections.Counter(self.errors)),
            "malformed": len(self.faults),
            "malformed_not_refused_rightly": sum(
                not is_right for _, is_right in self.faults
            ),
            "malformed_by_kind": dict(sorted(kinds.items())),
            "memory_after_warm_up_mib": warm,
            "memory_at_end_mib": end,
            "memory_growth_percent": round(100 * (end / warm - 1), 2),
        }

    def add(self, other):
        """Adds the requests of another client."""
        self.latencies += other.latencies
        self.num_wrong += other.num_wrong
        self.errors += other.errors
        self.faults += other.faults


class MemorySampler:
    """Samples the memory of a process once a second.

    Args:
        process_id: Integer id of the process. None samples nothing.
    """

    def __init__(self, process_id):
        self.samples = []  # MiB
        self._process_id = process_id
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        if process_id is not None:
            self._thread.start()

    def stop(self):
        """Ends the sampling and returns the samples."""
        self._stopping.set()
        if self._thread.ident:
            self._thread.join()
        return self.samples

    def _run(self):
        process = psutil.Process(self._process_id)
        begin = time.monotonic()
        while not self._stopping.is_set():
            self.samples.append(process.memory_info().rss / 2**20)
            # Counted from the start, so that delays do not add up.
            self._stopping.wait(begin + len(self.samples) - time.monotonic())


def _median(samples):
    return round(statistics.median(samples), 1) if samples else math.nan


def _milliseconds(in_order, share):
    if not in_order:
        return math.nan
    index = min(int(share * len(in_order)), len(in_order) - 1)
    return round(1000 * in_order[index], 1)
