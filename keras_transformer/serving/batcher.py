"""Run what several callers ask for at the same time together."""

import collections
import concurrent.futures
import threading
import time

import numpy as np

from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.errors import invalid

MAX_TIMEOUTS = 10  # times as long as for one more call does a batch wait in all


class Batcher:
    """Joins concurrent calls of the same function into batches.

    Worker threads take the oldest call that waits, and with it later ones that
    go together, until a batch is full or no more come for a moment. A call of
    more rows than a batch is run in parts. When a batch fails, its calls are
    run again one by one, so that only the one at fault gets the error.

    Args:
        max_batch_size: most rows of a batch.
        timeout_seconds: how long a batch waits for one more call.
        max_waiting: most rows that may wait; calls beyond are refused. Default:
            64 batches.
        num_threads: number of threads that run functions.

    Example:

    >>> batcher = Batcher(timeout_seconds=0)
    >>> def double(arrays):
    ...     return {"doubled": 2 * arrays["number"]}
    >>> batcher.call("double", double, {"number": np.array([1, 2])}, 2)
    {'doubled': array([2, 4])}
    >>> batcher.close()
    """

    def __init__(
        self,
        max_batch_size=32,
        timeout_seconds=0.002,
        max_waiting=None,
        num_threads=1,
    ):
        self.max_batch_size = max_batch_size
        self.max_waiting = max_waiting or 64 * max_batch_size
        self._timeout = timeout_seconds
        self._waiting = collections.deque()
        self._num_rows = 0  # of all that waits
        self._changed = threading.Condition()
        self._is_closed = False
        self._threads = [
            threading.Thread(
                target=self._work, name=f"batches-{number}", daemon=True
            )
            for number in range(num_threads)
        ]
        for thread in self._threads:
            thread.start()

    def call(self, key, function, arrays, num_rows=None, timeout=None):
        """Run a function of arrays, together with other calls if possible.

        Args:
            key: what is equal for calls of the same function.
            function: from a dictionary of arrays to one of arrays, row for row.
            arrays: dictionary of arrays that all have `num_rows` rows.
            num_rows: number of rows. None if there are none that could be
                joined or parted: then the function is called with just these
                arrays.
            timeout: seconds to wait for the results. Default: for ever.

        Returns:
            The function's results for these arrays. Trailing axes may be padded
            to the size that they have for other rows, with zeros or empty
            strings.

        Raises:
            RequestError: if it cannot be done now, or not in time.
            Exception: what the function raises.
        """
        if not num_rows:
            tasks = [_Task(object(), function, arrays, 1)]
        else:
            tasks = self._split(key, function, arrays, num_rows)
        self._enqueue(tasks)
        futures = [task.future for task in tasks]
        done, late = concurrent.futures.wait(
            futures, timeout, concurrent.futures.FIRST_EXCEPTION
        )
        for future in late:
            future.cancel()
        failures = [future for future in done if future.exception()]
        if late and not failures:
            raise RequestError(
                "DEADLINE_EXCEEDED", f"There was no result in {timeout:g} s."
            )
        parts = [future.result() for future in failures or futures]
        return _join(parts)

    def close(self):
        """Finish all calls that wait, refuse others, and end the workers."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _split(self, key, function, arrays, num_rows):
        # Rows can only be joined with rows of the same shape.
        shapes = [(name, a.shape[1:]) for name, a in sorted(arrays.items())]
        key = (key, *shapes)
        size = self.max_batch_size
        return [
            _Task(
                key,
                function,
                {name: array[i : i + size] for name, array in arrays.items()},
                min(size, num_rows - i),
            )
            for i in range(0, num_rows, size)
        ]

    def _enqueue(self, tasks):
        num_rows = sum(task.num_rows for task in tasks)
        if num_rows > self.max_waiting:
            raise invalid(
                f"A request must have at most {self.max_waiting} rows. "
                f"Received: {num_rows}."
            )
        with self._changed:
            if self._is_closed:
                raise RequestError("UNAVAILABLE", "The server is stopping.")
            if self._num_rows + num_rows > self.max_waiting:
                raise RequestError(
                    "UNAVAILABLE",
                    f"The queue is full: {self._num_rows} rows wait.",
                )
            self._waiting.extend(tasks)
            self._num_rows += num_rows
            self._changed.notify_all()

    def _work(self):
        while batch := self._next_batch():
            batch = [
                task
                for task in batch
                if task.future.set_running_or_notify_cancel()
            ]
            if batch and not _run_together(batch):
                for task in batch:
                    task.run()

    def _next_batch(self):
        """The tasks to run next; none once all is finished and closed."""
        with self._changed:
            while not self._waiting:
                if self._is_closed:
                    return []
                self._changed.wait()
            # Callers that have just been answered are about to call again: so
            # the wait begins now, not when the first that waits had called.
            begin = time.monotonic()
            latest = begin + MAX_TIMEOUTS * self._timeout
            batch = [self._waiting.popleft()]
            while True:
                free_rows = self._fill(batch)
                last_arrival = max(begin, batch[-1].arrived_at)
                wait_seconds = (
                    min(last_arrival + self._timeout, latest) - time.monotonic()
                )
                if free_rows <= 0 or wait_seconds <= 0 or self._is_closed:
                    break
                self._changed.wait(wait_seconds)
            self._num_rows -= sum(task.num_rows for task in batch)
            return batch

    def _fill(self, batch):
        """Moves tasks that fit from the queue; returns the rows left."""
        free_rows = self.max_batch_size - sum(task.num_rows for task in batch)
        others = []
        while self._waiting and free_rows > 0:
            task = self._waiting.popleft()
            if task.key == batch[0].key and task.num_rows <= free_rows:
                batch.append(task)
                free_rows -= task.num_rows
            else:
                others.append(task)
        self._waiting.extendleft(reversed(others))
        return free_rows


class _Task:
    """Rows that one caller waits for."""

    def __init__(self, key, function, arrays, num_rows):
        self.key = key
        self.function = function
        self.arrays = arrays
        self.num_rows = num_rows
        self.future = concurrent.futures.Future()
        self.arrived_at = time.monotonic()

    def run(self):
        try:
            self.future.set_result(self.function(self.arrays))
        except Exception as error:
            self.future.set_exception(error)


def _run_together(tasks):
    """Runs tasks as one; returns whether each has got its results."""
    if len(tasks) == 1:
        return False
    num_rows = sum(task.num_rows for task in tasks)
    try:
        outputs = tasks[0].function(_join([task.arrays for task in tasks]))
    except Exception:
        return False  # whose fault it is shows when they are run one by one
    if any(a.ndim == 0 or len(a) != num_rows for a in outputs.values()):
        return False
    begin = 0
    for task in tasks:
        end = begin + task.num_rows
        task.future.set_result({n: a[begin:end] for n, a in outputs.items()})
        begin = end
    return True


def _join(parts):
    """Dictionaries of arrays as one, along the first axis, others padded."""
    if len(parts) == 1:
        return parts[0]
    return {
        name: _concatenate([part[name] for part in parts]) for name in parts[0]
    }


def _concatenate(arrays):
    shapes = [array.shape[1:] for array in arrays]
    if len(set(shapes)) > 1:
        largest = np.max(shapes, axis=0)
        arrays = [_pad(array, largest) for array in arrays]
    return np.concatenate(arrays)


def _pad(array, shape):
    blank = b"" if array.dtype == object else 0
    padded = np.full((len(array), *shape), blank, array.dtype)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded
