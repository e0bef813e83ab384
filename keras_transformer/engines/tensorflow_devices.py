"""The devices and the machines that TensorFlow trains on."""

import tensorflow as tf

from keras_transformer.engines.cluster import read_cluster

# TensorFlow raises one of these at once if another worker is killed, and after
# 10 seconds if it does not answer.
LOST_WORKER = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.UnavailableError,
)


def list_gpus():
    """Lists the GPUs of this machine that TensorFlow sees."""
    return tf.config.list_physical_devices("GPU")


def make_strategy(num_devices):
    """Makes the strategy that distributes updates over the devices.

    Args:
        num_devices: Number of devices to use; 0 means all.

    Returns:
        A `tf.distribute.Strategy`; the default one for a single device.
    """
    gpus = list_gpus()
    for gpu in gpus:
        # Otherwise TensorFlow reserves the whole memory of each GPU.
        tf.config.experimental.set_memory_growth(gpu, True)
    num_workers, _ = read_cluster()
    if num_workers > 1:
        # At a lower level TensorFlow logs a line for each operation.
        tf.get_logger().setLevel("WARNING")
        return tf.distribute.MultiWorkerMirroredStrategy(
            communication_options=_communication(gpus)
        )
    # Logical devices, so that tests can divide a processor into several.
    devices = [
        device.name
        for kind in ("GPU", "CPU")
        for device in tf.config.list_logical_devices(kind)
        if kind == "GPU" or not gpus
    ]
    if num_devices > len(devices):
        raise ValueError(
            "`worker_gpu` must be at most the number of devices. Received: "
            f"worker_gpu={num_devices}, and TensorFlow sees {len(devices)}: "
            f"{', '.join(devices)}. Use 0 for all of them."
        )
    devices = devices[: num_devices or None]
    if len(devices) == 1:
        return tf.distribute.get_strategy()
    return tf.distribute.MirroredStrategy(devices)


def _communication(gpus):
    # By itself TensorFlow would sum gradients of GPUs by gRPC.
    experimental = tf.distribute.experimental
    kinds = experimental.CommunicationImplementation
    return experimental.CommunicationOptions(
        implementation=kinds.NCCL if gpus else kinds.AUTO
    )


def first_reason(error):
    """Returns the line of an error of TensorFlow that says what happened.

    The lines before it name the place in the graph.
    """
    beginnings = ("Graph execution error", "Detected at node", "  File")
    reasons = [
        line
        for line in error.message.splitlines()
        if line.strip() and not line.startswith(beginnings)
    ]
    return reasons[0] if reasons else ""
