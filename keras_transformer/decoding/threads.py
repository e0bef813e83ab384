"""Batches that are decoded side by side, on the cores of a processor.

A step of decoding is many small operations, of which a second core has little:
two batches at once, with a core each, are 1.4 times as fast as one after the
other on both cores.
"""

import contextlib
import os

MAX_THREADS = 8


def num_threads():
    """Returns how many batches to decode side by side with a Keras model.

    As many as cores, where TensorFlow computes on a processor; else one, whose
    device is busy or whose backend has threads of its own.
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
    """Tells TensorFlow to compute an operation on one worker's cores alone.

    For a process that does nothing but translate text of many batches; a
    single sentence takes longer. Changes nothing where TensorFlow has computed
    before.
    """
    num_used = num_threads()
    if num_used > 1:
        import tensorflow as tf

        with contextlib.suppress(RuntimeError):  # it has computed already
            tf.config.threading.set_intra_op_parallelism_threads(
                num_cores() // num_used
            )


def num_cores():
    """Returns how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
