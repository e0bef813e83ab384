"""Joins concurrent calls into batches."""

import collections
import concurrent.futures
import dataclasses
import threading
import time
import typing

import numpy as np

from keras_transformer.serving.errors import RequestError

MAX_TIMEOUTS = 10  # a batch waits at most this many single-call timeouts


class Batcher:
    """Joins concurrent calls of the same function into batches.

    Threads take the oldest waiting call and add later calls that can join it,
    until the batch is full or no call arrives within the timeout. A call with
    more rows than a batch is split. If a batch fails, its calls run again one
    by one, so only the faulty one gets the error. If more than `max_waiting`
    rows, which are 64 batches, wait, further calls are refused.

    >>> batcher = Batcher(timeout_seconds=0)
    >>> def double(arrays):
    ...     return {"doubled": 2 * arrays["number"]}
    >>> batcher.submit("double", double, {"number": np.array([1, 2])}, 2).wait()
    {'doubled': array([2, 4])}
    >>> batcher.close()
    """

    def __init__(self, max_batch_size=32, timeout_seconds=0.002, num_threads=1):
        self.max_batch_size = max_batch_size
        self.max_waiting = 64 * max_batch_size
        self._timeout = timeout_seconds
        self._waiting = collections.deque()
        self.num_waiting = 0  # rows of all waiting tasks
        self._changed = threading.Condition()
        self.is_closed = False
        self._threads = []
        self.ensure_threads(num_threads)

    def ensure_threads(self, num_threads):
        """Starts threads that run functions until there are this many."""
        while len(self._threads) < num_threads:
            # A daemon, so that a process that fails before `close` can end.
            thread = threading.Thread(
                target=self._work,
                name=f"batches-{len(self._threads)}",
                daemon=True,
            )
            self._threads.append(thread)
            thread.start()

    def submit(self, key, function, arrays, num_rows=None, lengths=None):
        """Lets a function run on arrays, together with other calls if possible.

        The function takes a dictionary of arrays with `num_rows` rows and
        returns another one with a row of results for each row. Calls with the
        same `key` can be joined. If other rows of the batch have longer
        trailing axes, the results in the `Call` are padded to that size with
        zeros or empty strings.

        With `num_rows` None the arrays cannot be joined or split. `lengths`
        holds the length of each row as a fraction of the maximum length. A
        batch takes no more memory than one row of length 1: its number of rows
        times the square of their maximum length, as in attention, is at most 1.
        """
        # A fresh object equals no other key: the task stays alone.
        tasks = [_Task(object(), function, arrays, 1, 0)]
        if num_rows:
            lengths = lengths or [0] * num_rows
            tasks = self._split(key, function, arrays, lengths)
        num_rows = sum(task.num_rows for task in tasks)
        with self._changed:
            if self.is_closed:
                raise _make_stopping_error()
            # Refusing at once lets clients retry elsewhere; a longer queue
            # would only turn the overload into timeouts.
            if self.num_waiting + num_rows > self.max_waiting:
                raise RequestError(
                    "UNAVAILABLE",
                    f"The queue is full: {self.num_waiting} rows are waiting.",
                )
            self._waiting.extend(tasks)
            self.num_waiting += num_rows
            self._changed.notify_all()
        return Call(self, tasks)

    def cancel(self, tasks):
        """Ends the tasks that do not run yet and takes them out of the queue.

        A task that a thread has taken for its next batch is dropped there.
        """
        with self._changed:
            ended = {task for task in tasks if task.cancel()}
            ended &= set(self._waiting)
            for task in ended:
                self._waiting.remove(task)
                self.num_waiting -= task.num_rows
                # Wakes the caller. Allowed once, so not for tasks of a batch.
                task.set_running_or_notify_cancel()

    def close(self):
        """Refuses new and waiting calls, and ends once no call runs."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()
            self.cancel(list(self._waiting))
        for thread in self._threads:
            thread.join()

    def _split(self, key, function, arrays, lengths):
        # Rows can only be joined with rows of the same shape.
        shapes = [(name, a.shape[1:]) for name, a in sorted(arrays.items())]
        key = (key, *shapes)
        tasks = []
        begin = 0
        # A task never holds more rows than a batch takes. So a batch can always
        # take the oldest task, and no task waits for ever.
        for end in range(1, len(lengths) + 1):
            # One row more than a batch takes starts the next task.
            rows = lengths[begin : end + 1]
            if end < len(lengths) and len(rows) <= self._max_rows(max(rows)):
                continue
            part = {name: array[begin:end] for name, array in arrays.items()}
            longest = max(lengths[begin:end])
            tasks.append(_Task(key, function, part, end - begin, longest))
            begin = end
        return tasks

    def _max_rows(self, longest):
        """Returns how many rows of this length a batch takes, at least one."""
        if longest == 0:
            return self.max_batch_size
        return min(self.max_batch_size, max(1, int(1 / longest**2)))

    def _work(self):
        # A separate method, because the variables of a thread that waits for
        # the next batch would keep the model of the last one in memory.
        while self._run_next_batch():
            pass

    def _run_next_batch(self):
        """Runs the next batch; returns False once the batcher is closed."""
        batch = self._next_batch()
        # Tasks whose caller has stopped waiting are dropped here.
        needed = [task for task in batch if task.set_running_or_notify_cancel()]
        if needed and not _run_together(needed):
            for task in needed:
                task.run()
        return bool(batch)

    def _next_batch(self):
        """Waits for the next batch; it is empty once the batcher is closed."""
        with self._changed:
            while not self._waiting:
                if self.is_closed:
                    return []
                self._changed.wait()
            # Callers with a new result are about to call again, so the wait is
            # counted from now and not from the oldest call.
            begin = time.monotonic()
            latest = begin + MAX_TIMEOUTS * self._timeout
            batch = [self._waiting.popleft()]
            # Each arrival extends the wait, but only up to `latest`.
            while True:
                free_rows = self._fill(batch)
                last_arrival = max(begin, batch[-1].arrived_at)
                end = min(last_arrival + self._timeout, latest)
                wait_seconds = end - time.monotonic()
                if free_rows <= 0 or wait_seconds <= 0 or self.is_closed:
                    break
                self._changed.wait(wait_seconds)
            self.num_waiting -= sum(task.num_rows for task in batch)
            return batch

    def _fill(self, batch):
        """Moves fitting tasks into the batch; returns its free rows."""
        # Tasks that do not fit go back to the front of the queue. The oldest
        # of them begins the next batch, however well others fit together.
        num_rows = sum(task.num_rows for task in batch)
        longest = max(task.longest for task in batch)
        others = []
        while self._waiting and num_rows < self._max_rows(longest):
            task = self._waiting.popleft()
            all_rows = num_rows + task.num_rows
            max_rows = self._max_rows(max(longest, task.longest))
            if task.key == batch[0].key and all_rows <= max_rows:
                batch.append(task)
                num_rows, longest = all_rows, max(longest, task.longest)
            else:  # another function or shape, too many rows or too long ones
                others.append(task)
        self._waiting.extendleft(reversed(others))  # in their old order
        return self._max_rows(longest) - num_rows


class Call:
    """The parts of a call; a caller waits for their results."""

    def __init__(self, batcher, tasks):
        self._batcher = batcher
        self._tasks = tasks

    def cancel(self):
        """Drops the parts that do not run yet."""
        self._batcher.cancel(self._tasks)

    def wait(self, timeout=None):
        """Waits for the results, returns them and ends the call.

        Raises what the function raised, or a `RequestError` if the results are
        not there after `timeout` seconds or the call has been cancelled.
        """
        concurrent.futures.wait(
            self._tasks, timeout, concurrent.futures.FIRST_EXCEPTION
        )
        done = [task for task in self._tasks if task.done()]
        is_late = len(done) < len(self._tasks)
        # The rest is not needed after a timeout or the first failure.
        self.cancel()
        if any(task.cancelled() for task in done):
            if self._batcher.is_closed:
                raise _make_stopping_error()
            raise RequestError(
                "CANCELLED", "The caller has stopped waiting for the result."
            )
        failures = [task for task in done if task.exception()]
        if is_late and not failures:
            raise RequestError(
                "DEADLINE_EXCEEDED",
                f"No result within {timeout:g} s. Allow more time, or send "
                "fewer sentences.",
            )
        return _concatenate([task.result() for task in failures or done])


@dataclasses.dataclass(eq=False)
class _Task(concurrent.futures.Future):
    """Rows of one caller, who waits for their results."""

    key: object
    function: typing.Callable
    arrays: dict
    num_rows: int
    longest: float

    def __post_init__(self):
        super().__init__()
        self.arrived_at = time.monotonic()

    def run(self):
        try:
            self.set_result(self.function(self.arrays))
        except Exception as error:
            self.set_exception(error)


def _make_stopping_error():
    return RequestError("UNAVAILABLE", "The server is stopping.")


def _run_together(tasks):
    """Runs tasks as one batch; returns whether each has its results."""
    if len(tasks) == 1:
        return False
    num_rows = sum(task.num_rows for task in tasks)
    try:
        batch = _concatenate([task.arrays for task in tasks])
        outputs = tasks[0].function(batch)
    except Exception:
        return False  # running them one by one shows which task is at fault
    # Results without a row for each argument cannot be divided among callers.
    if any(a.ndim == 0 or len(a) != num_rows for a in outputs.values()):
        return False
    begin = 0
    for task in tasks:
        end = begin + task.num_rows
        task.set_result({n: a[begin:end] for n, a in outputs.items()})
        begin = end
    return True


def _concatenate(parts):
    """Concatenates dictionaries of arrays along the first axis."""
    if len(parts) == 1:
        return parts[0]
    joined = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        shapes = [array.shape[1:] for array in arrays]
        # A part is as wide as the longest translation of its batch.
        if len(set(shapes)) > 1:
            widest = np.max(shapes, axis=0)
            arrays = [_pad(array, widest) for array in arrays]
        joined[name] = np.concatenate(arrays)  # (batch, ...)
    return joined


def _pad(array, shape):
    blank = b"" if array.dtype == object else 0  # objects are strings
    padded = np.full((len(array), *shape), blank, array.dtype)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded
