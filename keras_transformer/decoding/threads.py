"""Threads that decode batches side by side on the cores of a processor.

A decoding step consists of many small operations, which gain little from a
second core. Two batches at once on a core each are 1.4 times as fast as one
after the other on both cores.
"""

import contextlib
import itertools
import os
import queue
from concurrent import futures

MAX_THREADS = 8


def num_threads():
    """Returns how many batches to decode side by side with a Keras model.

    TensorFlow on a processor decodes one batch on each core. Otherwise there
    is one batch, because it keeps the device busy, or because the backend has
    threads of its own.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        return 1
    return num_tensorflow_threads()


def num_tensorflow_threads():
    """Returns how many batches to decode side by side with TensorFlow."""
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return 1
    return min(MAX_THREADS, num_cores())


def give_each_a_core():
    """Limits each operation of TensorFlow to the cores of one thread.

    This suits a process that only translates many batches, because a single
    sentence takes longer. It has no effect once TensorFlow has computed
    something.
    """
    num_batches = num_threads()
    if num_batches > 1:
        import tensorflow as tf

        # TensorFlow refuses the setting once it has computed something.
        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_intra_op_parallelism_threads(
                num_cores() // num_batches
            )


def num_cores():
    """Returns how many cores this process may use."""
    # A container or `taskset` can allow fewer cores than the machine has.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_parallel(function, items, num_threads):
    """Yields each item with the function's result, in the order of the items.

    Args:
        function: Function of one item. With several threads it is called in
            them.
        items: Iterable.
        num_threads: Integer, the number of calls at the same time.

    Yields:
        Pairs (item, result).
    """
    if num_threads == 1:
        # No pool: a caller that stops early leaves the other items untouched.
        for item in items:
            yield item, function(item)
        return
    # Threads suffice, because the backends release Python's lock while they
    # compute.
    pool = futures.ThreadPoolExecutor(num_threads)
    try:
        calls = [(item, pool.submit(function, item)) for item in items]
        for item, call in calls:
            yield item, call.result()
    finally:
        # A caller that stops early does not wait for the other batches.
        pool.shutdown(cancel_futures=True)


def shared_out(function, items, workers, num_threads):
    """Yields each item with the function's result, in the order of the items.

    Args:
        function: Function of a worker and an item.
        items: Iterable.
        workers: List of workers.
        num_threads: Integer, the number of calls at the same time, which the
            workers share evenly.

    Yields:
        Pairs (item, result).
    """
    idle = queue.SimpleQueue()
    for worker in itertools.islice(itertools.cycle(workers), num_threads):
        idle.put(worker)

    def call(item):
        worker = idle.get()
        try:
            return function(worker, item)
        finally:
            idle.put(worker)

    return in_parallel(call, items, num_threads)
