import concurrent.futures
import threading
import time

import numpy as np
import pytest

from keras_transformer.serving.batcher import Batcher
from keras_transformer.serving.errors import RequestError


def run_call(batcher, *arguments, timeout=None, **options):
    """Submits a call and waits for its results."""
    return batcher.submit(*arguments, **options).wait(timeout)


def numbers(*values):
    return {"number": np.array(values)}


class Doubler:
    """A function that records its batches, rejects 13 and can be blocked."""

    def __init__(self):
        self.batches = []
        self.go = threading.Event()
        self.go.set()
        self.entered = threading.Event()

    def __call__(self, arrays):
        self.batches.append(arrays["number"].tolist())
        self.entered.set()
        self.go.wait(60)
        if 13 in arrays["number"]:
            raise ValueError("13 is refused")
        return {"doubled": 2 * arrays["number"]}

    def block(self):
        self.go.clear()
        self.entered.clear()


@pytest.fixture
def doubler():
    return Doubler()


@pytest.fixture
def make():
    batchers = []

    def make(**options):
        batchers.append(Batcher(**options))
        return batchers[-1]

    yield make
    for batcher in batchers:
        batcher.close()


@pytest.fixture
def pool():
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        yield pool


def block_thread(batcher, doubler, pool):
    """Keeps the only thread busy so that calls queue up."""
    doubler.block()
    future = pool.submit(run_call, batcher, "blocker", doubler, numbers(0), 1)
    assert doubler.entered.wait(60)
    return future


def wait_for_rows(batcher, count):
    end = time.monotonic() + 60
    while batcher.num_waiting < count:
        assert time.monotonic() < end
        time.sleep(0.001)


class BatcherTest:
    def test_every_caller_gets_its_own_results(self, make, doubler, pool):
        batcher = make(max_batch_size=7, num_threads=2)
        calls = [list(range(i, i + i % 5 + 1)) for i in range(14, 214)]
        futures = [
            pool.submit(
                run_call, batcher, "double", doubler, numbers(*call), len(call)
            )
            for call in calls
        ]
        for call, future in zip(calls, futures):
            expected = [2 * number for number in call]
            assert future.result(60)["doubled"].tolist() == expected
        assert max(map(len, doubler.batches)) <= 7
        assert len(doubler.batches) < len(calls)

    def test_added_threads_run_batches_side_by_side(self, make, pool):
        batcher = make(timeout_seconds=0)
        batcher.ensure_threads(3)
        batcher.ensure_threads(2)  # there are enough already
        barrier = threading.Barrier(3)

        def meet(arrays):
            barrier.wait(60)  # until three calls are here
            return arrays

        calls = [
            pool.submit(run_call, batcher, key, meet, numbers(key), 1)
            for key in range(3)
        ]
        for key, call in enumerate(calls):
            assert call.result(60)["number"].tolist() == [key]

    def test_waiting_calls_run_together_up_to_the_largest_batch(
        self, make, doubler, pool
    ):
        batcher = make(max_batch_size=4)
        blocker = block_thread(batcher, doubler, pool)
        futures = [
            pool.submit(run_call, batcher, "double", doubler, numbers(i), 1)
            for i in range(1, 7)
        ]
        wait_for_rows(batcher, 6)
        doubler.go.set()
        blocker.result(60)
        concurrent.futures.wait(futures, 60)
        assert [len(batch) for batch in doubler.batches] == [1, 4, 2]

    def test_only_the_faulty_call_gets_the_error(self, make, doubler, pool):
        batcher = make(max_batch_size=8)
        blocker = block_thread(batcher, doubler, pool)
        futures = {
            i: pool.submit(run_call, batcher, "double", doubler, numbers(i), 1)
            for i in (11, 12, 13, 14)
        }
        wait_for_rows(batcher, 4)
        doubler.go.set()
        blocker.result(60)
        for number, future in futures.items():
            if number == 13:
                with pytest.raises(ValueError, match="13 is refused"):
                    future.result(60)
            else:
                assert future.result(60)["doubled"] == [2 * number]

    def test_calls_of_other_functions_or_shapes_are_not_joined(
        self, make, doubler, pool
    ):
        batcher = make()
        blocker = block_thread(batcher, doubler, pool)
        calls = [
            ("double", np.array([[1, 2]])),
            ("double", np.array([[3]])),
            ("other", np.array([[4, 5]])),
            ("double", np.array([[6, 7]])),
        ]
        futures = []
        for count, (key, array) in enumerate(calls, 1):
            arrays = {"number": array}
            futures.append(
                pool.submit(run_call, batcher, key, doubler, arrays, 1)
            )
            wait_for_rows(batcher, count)
        doubler.go.set()
        for future in (blocker, *futures):
            future.result(60)
        assert doubler.batches[1:] == [[[1, 2], [6, 7]], [[3]], [[4, 5]]]

    def test_a_call_of_many_rows_runs_in_parts(self, make, doubler):
        batcher = make(max_batch_size=4)
        result = run_call(batcher, "double", doubler, numbers(*range(10)), 10)
        assert result["doubled"].tolist() == [2 * i for i in range(10)]
        assert [len(batch) for batch in doubler.batches] == [4, 4, 2]

    def test_long_rows_run_in_small_batches(self, make, doubler, pool):
        batcher = make(max_batch_size=4, timeout_seconds=0)
        lengths = [0.1, 0.1, 0.6, 0.1, 1, 0.7, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1]
        results = run_call(
            batcher,
            *("double", doubler, numbers(*range(12)), 12),
            lengths=lengths,
        )
        assert results["doubled"].tolist() == list(range(0, 24, 2))
        assert all(
            len(batch) * max(lengths[number] for number in batch) ** 2 <= 1
            for batch in doubler.batches
        )
        assert sorted(sum(doubler.batches, [])) == list(range(12))
        assert len(doubler.batches) < 8

    def test_long_calls_are_joined_only_with_few_others(
        self, make, doubler, pool
    ):
        batcher = make(max_batch_size=8, timeout_seconds=0)
        doubler.block()
        pool.submit(run_call, batcher, "double", doubler, numbers(0), 1)
        doubler.entered.wait(60)
        calls = []
        for number, length in enumerate((0.7, 0.1, 0.7, 0.1, 0.1), 1):
            calls.append(
                pool.submit(
                    run_call,
                    batcher,
                    *("double", doubler, numbers(number), 1, [length]),
                )
            )
            while len(batcher._waiting) < number:
                time.sleep(0.001)
        doubler.go.set()
        results = [call.result()["doubled"].tolist() for call in calls]
        assert results == [[2], [4], [6], [8], [10]]
        assert doubler.batches == [[0], [1, 2], [3, 4], [5]]

    def test_results_of_different_widths_are_padded(self, make):
        def repeat(arrays):
            width = int(arrays["number"].max())
            text = np.full((len(arrays["number"]), width), b"x", object)
            return {"text": text, "ones": np.ones(text.shape, np.int32)}

        batcher = make(max_batch_size=2)
        result = run_call(batcher, "repeat", repeat, numbers(1, 1, 3), 3)
        assert result["text"].tolist()[0] == [b"x", b"", b""]
        assert result["ones"].tolist() == [[1, 0, 0], [1, 0, 0], [1, 1, 1]]

    def test_arrays_without_rows_are_passed_as_they_are(self, make, doubler):
        result = run_call(make(), "double", doubler, {"number": np.array(3)})
        assert result["doubled"] == 6

    def test_a_function_that_mixes_rows_is_run_for_each_caller(
        self, make, doubler, pool
    ):
        batcher = make()

        def total(arrays):
            return {"total": arrays["number"].sum()}

        blocker = block_thread(batcher, doubler, pool)
        futures = [
            pool.submit(run_call, batcher, "total", total, numbers(i, i), 2)
            for i in (1, 2)
        ]
        wait_for_rows(batcher, 4)
        doubler.go.set()
        blocker.result(60)
        assert [future.result(60)["total"] for future in futures] == [2, 4]

    def test_a_full_queue_refuses(self, make, doubler, pool):
        batcher = make(max_batch_size=2)
        batcher.max_waiting = 3
        blocker = block_thread(batcher, doubler, pool)
        waiting = pool.submit(
            run_call, batcher, "double", doubler, numbers(1, 2, 3), 3
        )
        wait_for_rows(batcher, 3)
        with pytest.raises(RequestError, match="queue is full") as error:
            run_call(batcher, "double", doubler, numbers(4), 1)
        assert error.value.code == "UNAVAILABLE"
        doubler.go.set()
        assert waiting.result(60)["doubled"].tolist() == [2, 4, 6]
        assert blocker.result(60)["doubled"].tolist() == [0]
        assert run_call(batcher, "double", doubler, numbers(4), 1)[
            "doubled"
        ] == [8]

    def test_a_call_that_is_too_late_is_not_run(self, make, doubler, pool):
        batcher = make()
        blocker = block_thread(batcher, doubler, pool)
        with pytest.raises(RequestError) as error:
            run_call(batcher, "double", doubler, numbers(1), 1, timeout=0.01)
        assert error.value.code == "DEADLINE_EXCEEDED"
        doubler.go.set()
        blocker.result(60)
        batcher.close()
        assert doubler.batches == [[0]]

    def test_a_cancelled_call_is_not_run(self, make, doubler, pool):
        batcher = make(max_batch_size=1, timeout_seconds=0)
        doubler.block()
        first = pool.submit(run_call, batcher, "double", doubler, numbers(1), 1)
        doubler.entered.wait(60)
        second = batcher.submit("double", doubler, numbers(2), 1)
        second.cancel()
        doubler.go.set()
        with pytest.raises(RequestError) as error:
            second.wait()
        assert error.value.code == "CANCELLED"
        assert first.result()["doubled"].tolist() == [2]
        second.cancel()  # as gRPC does at the end of every call
        assert doubler.batches == [[1]]

    def test_closing_finishes_running_calls_and_refuses_others(
        self, make, doubler, pool
    ):
        batcher = make(max_batch_size=1)
        running = block_thread(batcher, doubler, pool)
        futures = [
            pool.submit(run_call, batcher, "double", doubler, numbers(i), 1)
            for i in range(5)
        ]
        wait_for_rows(batcher, 5)
        closing = pool.submit(batcher.close)
        for future in futures:
            with pytest.raises(RequestError, match="stopping"):
                future.result(60)
        doubler.go.set()
        closing.result(60)
        assert running.result(60)["doubled"].tolist() == [0]
        with pytest.raises(RequestError, match="stopping"):
            run_call(batcher, "double", doubler, numbers(1), 1)

    def test_an_idle_thread_waits_for_further_calls(self, make, doubler, pool):
        batcher = make(max_batch_size=2, timeout_seconds=60)
        begin = time.monotonic()
        futures = [
            pool.submit(run_call, batcher, "double", doubler, numbers(i), 1)
            for i in (1, 2)
        ]
        concurrent.futures.wait(futures, 50)
        assert time.monotonic() - begin < 50
        assert len(doubler.batches) == 1
