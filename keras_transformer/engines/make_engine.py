"""The engine of the backend that Keras was started with."""

import os

import keras


def make_engine(hparams, precision="float32", num_devices=0, xla="auto"):
    """Makes the engine of the current Keras backend.

    Args:
        hparams: an `HParams`.
        precision: "float32", "bfloat16" or "float16".
        num_devices: how many devices to use; 0 means all.
        xla: "auto", "on" or "off": whether TensorFlow compiles with XLA; JAX
            always does.

    Returns:
        a `TensorflowEngine` or a `JaxEngine`.

    Raises:
        ValueError: if the backend is another one.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        from keras_transformer.engines.tensorflow_engine import TensorflowEngine

        return TensorflowEngine(hparams, precision, num_devices, xla)
    if backend == "jax":
        if os.environ.get("TF_CONFIG"):
            raise ValueError(
                "Several machines need TensorFlow. Received: KERAS_BACKEND=jax "
                "and TF_CONFIG. Unset one of them."
            )
        from keras_transformer.engines.jax_engine import JaxEngine

        return JaxEngine(hparams, precision, num_devices)
    raise ValueError(
        "Training needs TensorFlow or JAX. Received: "
        f"KERAS_BACKEND={backend}. Set KERAS_BACKEND=tensorflow or jax."
    )
