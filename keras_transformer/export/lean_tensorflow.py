"""TensorFlow with SentencePiece's operations and no more, imported sooner."""

import contextlib
import importlib.util
import os
import sys

# What TensorFlow imports when it is there, and a SavedModel does without. It
# takes half as long as TensorFlow itself.
NOT_NEEDED = ("keras.src", "jax")
TEXT_OPS = os.path.join("python", "ops", "_sentencepiece_tokenizer.so")


def import_tensorflow():
    """Imports TensorFlow and tensorflow-text's SentencePiece, no more.

    Keras is imported later, as usual, if anybody asks for it. JAX is left out
    of TensorFlow Lite's converter, the only place that looks for it.

    Returns:
        the module `tensorflow`.
    """
    with _not_imported(*NOT_NEEDED):
        import tensorflow as tf

    found = importlib.util.find_spec("tensorflow_text")
    if found is None:
        raise ValueError(
            "An exported model needs tensorflow-text. Received: no module "
            "tensorflow_text. Run pip install tensorflow-text."
        )
    library = os.path.join(os.path.dirname(found.origin), TEXT_OPS)
    if os.path.exists(library):
        tf.load_op_library(library)
    else:
        importlib.import_module("tensorflow_text")
    return tf


@contextlib.contextmanager
def _not_imported(*names):
    """Keeps modules that were not imported so far from being imported."""
    names = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(names))
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


tf = import_tensorflow()
