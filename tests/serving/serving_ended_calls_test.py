"""Calls that have ended leave nothing behind."""

import concurrent.futures
import gc
import threading
import weakref

import numpy as np
import pytest

from keras_transformer.serving.batcher import Batcher


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
                pool.submit(batcher.call, "gate", gate, numbers(1), 1)
            assert gate.entered.wait(60)
            gate.is_open.set()
        del gate
        gc.collect()
        assert freed.wait(1)
