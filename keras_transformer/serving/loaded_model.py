"""A SavedModel whose signatures can be called with arrays."""

import contextlib
import logging
import os

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.files.directories import SAVED_MODEL_FILE
from keras_transformer.files.quiet import silence
from keras_transformer.files.reading import read_record
from keras_transformer.serving.errors import CODES
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.messages import PredictionLog
from keras_transformer.serving.messages import to_array
from keras_transformer.serving.signature import Signature
from keras_transformer.serving.signature import Tensor

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")
EXPORT_FILE = os.path.join("assets.extra", "export.json")
MAX_WARMUP_REQUESTS = 1000  # the limit of TF Serving
_log = logging.getLogger(__name__)


class LoadedModel:
    """Loads a SavedModel of any origin from its directory.

    The first calls of a graph are slow, so the SavedModel's warm-up requests
    run at once. `decoding.served_model` has the models that do more.
    """

    num_parallel = 1  # TensorFlow computes one batch with all cores
    features = ()  # the names of the `Options` that it takes

    def __init__(self, path):
        # Before the import, which takes seconds and much memory.
        if not os.path.isfile(os.path.join(path, SAVED_MODEL_FILE)):
            # In lower case: `Versions` puts it in parentheses after the path.
            raise UserError("there is neither saved_model.pb nor model.bin")
        import tensorflow as tf
        from tensorflow.core.protobuf import saved_model_pb2

        # A model of ids needs none of the operations that it registers.
        with contextlib.suppress(ModuleNotFoundError):
            import tensorflow_text  # noqa: F401
        try:
            with silence():
                self._model = tf.saved_model.load(path)
        except RuntimeError as error:
            if "Op type not registered" not in str(error):
                raise
            raise UserError(
                "it has operations that are not installed here; a model that "
                "takes text needs the package tensorflow-text"
            ) from error
        self.functions = dict(self._model.signatures)
        # A SavedModel that kt-exporter did not write has no record.
        self.max_tokens = None
        record_path = os.path.join(path, EXPORT_FILE)
        if os.path.exists(record_path):
            shape = {"max_tokens": int}
            record = read_record(record_path, shape, "Export the run again.")
            self.max_tokens = record["max_tokens"]
        # Metadata requests need the definitions, which loading discards.
        with open(os.path.join(path, SAVED_MODEL_FILE), "rb") as file:
            saved_model = saved_model_pb2.SavedModel.FromString(file.read())
        definitions = saved_model.meta_graphs[0].signature_def
        self.signature_defs = dict(definitions)
        self.signatures = {
            name: _make_signature(function)
            for name, function in self.functions.items()
        }
        # Before the version is available, so that no client waits for it.
        self._warm_up(os.path.join(path, WARMUP_FILE))

    def call(self, name, arrays, options=None):
        """Runs a signature on a dictionary of arrays; returns another one.

        The `options` are for models with `features`.
        """
        import tensorflow as tf

        try:
            # TensorFlow cannot guess the type of an empty array of objects.
            tensors = {
                name: tf.constant(
                    array, tf.string if array.dtype.kind == "O" else None
                )
                for name, array in arrays.items()
            }
            outputs = self.functions[name](**tensors)
            return {name: value.numpy() for name, value in outputs.items()}
        except tf.errors.OpError as error:
            raise RequestError(
                CODES[error.error_code], _shorten(error.message)
            ) from error

    def find_tag(self, language):
        """Returns what the model wants before a text to translate it."""
        return ""

    def _warm_up(self, path):
        if not os.path.exists(path):
            return
        import tensorflow as tf

        try:
            dataset = tf.data.TFRecordDataset(path).take(MAX_WARMUP_REQUESTS)
            for serialized_log in dataset.as_numpy_iterator():
                log = PredictionLog.FromString(serialized_log)
                request = log.predict_log.request
                name = request.model_spec.signature_name or "serving_default"
                arrays = {
                    name: to_array(name, proto)
                    for name, proto in request.inputs.items()
                }
                self.signatures[name].check(arrays)
                # SentencePiece logs at its first use.
                with silence():
                    LoadedModel.call(self, name, arrays)
        # A faulty warm-up file must not keep a good model from being served.
        except Exception as error:
            _log.warning("%s cannot be used: %s", path, _shorten(str(error)))


def _make_signature(function):
    _, inputs = function.structured_input_signature
    sides = (
        {
            name: Tensor(
                np.dtype(spec.dtype.as_numpy_dtype),
                None if spec.shape.rank is None else tuple(spec.shape),
            )
            for name, spec in specs.items()
        }
        for specs in (inputs, function.structured_outputs)
    )
    return Signature(*sides)


def _shorten(message):
    """Removes the location in the graph from a TensorFlow error message."""
    noise = ("Graph execution error", "Detected at", "<stack traces", "[[")
    lines = [line.strip() for line in message.splitlines()]
    kept = [line for line in lines if line and not line.startswith(noise)]
    return " ".join(kept) or message.strip()
