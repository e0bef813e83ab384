"""Threads that decode batches side by side on the cores of a processor.

A decoding step consists of many small operations, which gain little from a
second core. Two batches at once on a core each are 1.4 times as fast as one
after the other on both cores.
"""

import contextlib
import os

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
