"""The number formats that training computes in."""

import keras

PRECISIONS = ("auto", "float32", "bfloat16", "float16")
# Flags of a processor, in /proc/cpuinfo, with which TensorFlow multiplies
# bfloat16 matrices faster than float32 ones.
BFLOAT16_FLAGS = {"amx_bf16", "avx512_bf16"}


def resolve_precision(precision):
    """Chooses the format for `"auto"`: bfloat16 where the machine has it.

    That is on a TPU, on a GPU of compute capability 8 or more, and, on
    TensorFlow, on a processor with AMX or AVX-512 BF16. Weights, optimizer,
    normalisation, softmax and loss stay in float32 whatever the precision.

    Args:
        precision: one of `PRECISIONS`.

    Returns:
        "float32", "bfloat16" or "float16".
    """
    if precision not in PRECISIONS:
        raise ValueError(
            f"`precision` must be one of {', '.join(PRECISIONS)}. Received: "
            f"precision={precision!r}. Use auto."
        )
    if precision != "auto":
        return precision
    on_jax = keras.backend.backend() == "jax"
    has_bfloat16 = _jax_has_it() if on_jax else _tensorflow_has_it()
    return "bfloat16" if has_bfloat16 else "float32"


def _jax_has_it():
    import jax

    device = jax.devices()[0]
    if device.platform == "gpu":
        return float(device.compute_capability) >= 8
    return device.platform == "tpu"  # XLA gains nothing on a processor


def _tensorflow_has_it():
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        return details.get("compute_capability", (0, 0)) >= (8, 0)
    return bool(BFLOAT16_FLAGS & _processor_flags())


def _processor_flags():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line for line in file if line.startswith("flags")]
    except OSError:  # not Linux
        return set()
    return set(lines[0].split()) if lines else set()
