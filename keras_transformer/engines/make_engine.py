"""The choice of the engine for the backend of Keras."""

import keras

from keras_transformer.engines.cluster import check_backend


def make_engine(hparams, precision="float32", num_devices=0, xla="auto"):
    """Makes the engine for the current backend of Keras.

    Args:
        hparams: An `HParams`.
        precision: "float32", "bfloat16" or "float16". Defaults to "float32".
        num_devices: Number of devices to use; 0 means all. Defaults to 0.
        xla: Whether TensorFlow compiles with XLA: "auto", "on" or "off". JAX
            always does. Defaults to "auto".

    Returns:
        A `TensorflowEngine` or a `JaxEngine`.

    Raises:
        ValueError: If Keras runs on another backend.
    """
    backend = keras.backend.backend()
    # Each engine imports its backend, and the other may not be installed.
    if backend == "tensorflow":
        from keras_transformer.engines.tensorflow_engine import TensorflowEngine

        return TensorflowEngine(hparams, precision, num_devices, xla)
    if backend == "jax":
        check_backend(backend)
        from keras_transformer.engines.jax_engine import JaxEngine

        return JaxEngine(hparams, precision, num_devices)
    raise ValueError(
        "Training needs TensorFlow or JAX. Received: "
        f"KERAS_BACKEND={backend}. Set KERAS_BACKEND=tensorflow or jax."
    )
