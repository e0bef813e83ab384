"""Calls that have ended leave nothing behind."""

import concurrent.futures
import gc
import threading
import time
import weakref

import numpy as np
import pytest

from keras_transformer.serving.batcher import Batcher
from keras_transformer.serving.errors import RequestError


def run_call(batcher, *arguments, timeout=None, **options):
    """Submits a call and waits for its results."""
    return batcher.submit(*arguments, **options).wait(timeout)


def numbers(*values):
    return {"number": np.array(values)}


class Gate:
    """A function that returns its arguments once the gate is open."""

    def __init__(self):
        self.entered = threading.Event()
        self.is_open = threading.Event()

    def __call__(self, arrays):
        self.entered.set()
        self.is_open.wait(60)
        return arrays


@pytest.fixture
def batcher():
    batcher = Batcher(max_batch_size=4, timeout_seconds=0)
    yield batcher
    batcher.close()


class MemoryTest:
    @pytest.mark.parametrize("num_calls", [1, 3])
    def test_an_idle_thread_keeps_no_function_in_memory(
        self, batcher, num_calls
    ):
        gate = Gate()
        freed = threading.Event()
        weakref.finalize(gate, freed.set)
        with concurrent.futures.ThreadPoolExecutor(num_calls) as pool:
            for _ in range(num_calls):
                pool.submit(run_call, batcher, "gate", gate, numbers(1), 1)
            assert gate.entered.wait(60)
            gate.is_open.set()
        del gate
        gc.collect()
        assert freed.wait(60)


class QueueTest:
    @pytest.fixture
    def blocked(self, batcher):
        """Keeps the only thread of the batcher busy."""
        gate = Gate()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            running = pool.submit(
                run_call, batcher, "gate", gate, numbers(0), 1
            )
            assert gate.entered.wait(60)
            yield pool
            gate.is_open.set()
            assert running.result(60)["number"].tolist() == [0]

    def test_a_late_call_leaves_the_queue(self, batcher, blocked):
        with pytest.raises(RequestError) as error:
            run_call(
                batcher, "late", Gate(), numbers(*range(9)), 9, timeout=0.01
            )
        assert error.value.code == "DEADLINE_EXCEEDED"
        assert (batcher.num_waiting, len(batcher._waiting)) == (0, 0)

    def test_a_cancelled_call_returns_while_all_threads_are_busy(
        self, batcher, blocked
    ):
        call = batcher.submit("cancelled", Gate(), numbers(*range(9)), 9)
        waiting = blocked.submit(call.wait)
        other = batcher.submit("other", dict, numbers(1), 1)
        call.cancel()
        assert waiting.exception(5).code == "CANCELLED"
        call.cancel()  # as gRPC does at the end of every call
        assert batcher.num_waiting == len(batcher._waiting) == 1
        assert not any(task.done() for task in other._tasks)

    def test_closing_refuses_what_still_waits(self, batcher, blocked):
        waiting = blocked.submit(
            run_call, batcher, "waiting", dict, numbers(1), 1
        )
        while not batcher._waiting:
            time.sleep(0.001)
        closing = blocked.submit(batcher.close)
        assert waiting.exception(5).code == "UNAVAILABLE"
        assert "stopping" in str(waiting.exception())
        assert not closing.done()  # a batch that runs is finished
