"""The choice of the backend and of its number format."""

import keras

from keras_transformer.errors import UserError
from keras_transformer.files.machine import processor_flags


def make_backend(hparams, precision="float32", num_devices=0, xla="auto"):
    """Makes the backend for the library that Keras runs on.

    The precision is "float32", "bfloat16" or "float16". With 0 devices the
    backend uses all of them. `xla` is "auto", "on" or "off" for TensorFlow; JAX
    always compiles with XLA.
    """
    library = keras.backend.backend()
    # Each imports its library, and the other may not be installed.
    if library == "tensorflow":
        from keras_transformer.training.backends.tensorflow_backend import (
            TensorflowBackend,
        )

        return TensorflowBackend(hparams, precision, num_devices, xla)
    if library == "jax":
        from keras_transformer.training.backends.jax_backend import JaxBackend

        return JaxBackend(hparams, precision, num_devices)
    raise UserError(
        "Training needs TensorFlow or JAX. Received: "
        f"KERAS_BACKEND={library}. Set KERAS_BACKEND=tensorflow or jax."
    )


PRECISIONS = ("auto", "float32", "bfloat16", "float16")
# Features of processors whose matrix products are faster in bfloat16.
BFLOAT16_FLAGS = {"amx_bf16", "avx512_bf16"}


def resolve_precision(precision):
    """Replaces "auto" by bfloat16 or float32, whichever is faster here.

    bfloat16 is faster on a TPU, on an NVIDIA GPU of compute capability 8 or
    more, and with TensorFlow also on a processor with AMX or AVX-512 BF16. The
    weights, the optimizer, normalisation, softmax and loss use float32 in any
    precision. The logits, from which the softmax is computed, are rounded to
    the precision that is returned.
    """
    if precision not in PRECISIONS:
        raise UserError(
            f"`precision` must be one of {', '.join(PRECISIONS)}. Received: "
            f"precision={precision!r}. Use auto."
        )
    if precision != "auto":
        return precision
    on_jax = keras.backend.backend() == "jax"
    has_bfloat16 = _jax_has_bfloat16() if on_jax else _tensorflow_has_bfloat16()
    return "bfloat16" if has_bfloat16 else "float32"


def _jax_has_bfloat16():
    from keras_transformer.training.backends.jax_backend import connect_workers

    device = connect_workers()[0]
    if device.platform == "gpu":
        # NVIDIA's is like "8.0". AMD's is a name like "gfx90a".
        major = str(device.compute_capability).partition(".")[0]
        return major.isdecimal() and int(major) >= 8
    return device.platform == "tpu"  # on a processor XLA gains nothing


def _tensorflow_has_bfloat16():
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        return details.get("compute_capability", (0, 0)) >= (8, 0)
    return bool(BFLOAT16_FLAGS & processor_flags())
