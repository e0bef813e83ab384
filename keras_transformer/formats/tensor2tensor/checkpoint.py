"""Reads TensorFlow checkpoints of Tensor2Tensor's models."""

import glob
import os
import re

import numpy as np

from keras_transformer.files.quiet import silence
from keras_transformer.files.reading import check_file
from keras_transformer.files.reading import file_error

REMEDY = "Copy the files of the model again."
MAX_INDEX_BYTES = 2**22  # of an index; those of big models have 100 KB


def find_checkpoint(directory):
    """Returns the prefix of the newest checkpoint in a directory, or None."""
    paths = glob.glob(os.path.join(glob.escape(directory), "*.index"))
    prefixes = [path.removesuffix(".index") for path in paths]
    return max(prefixes, key=read_step, default=None)


def read_step(prefix):
    """Returns the step that the name of a checkpoint ends with."""
    digits = re.search(r"-(\d+)$", prefix)
    return int(digits[1]) if digits else 0


class Checkpoint:
    """Reads the variables of a checkpoint by the ends of their names.

    Names begin with the name of the model, which subclasses of it change.
    """

    def __init__(self, source):
        # Imported here because only this needs TensorFlow, which logs to
        # standard error when it is loaded.
        with silence():
            import tensorflow as tf

        self.prefix = find_checkpoint(source)
        if self.prefix is None:
            path = os.path.join(source, "model.ckpt-*.index")
            raise file_error(path, "which does not exist", REMEDY)
        for path in glob.glob(glob.escape(self.prefix) + ".*"):
            check_file(path, REMEDY)
        if os.path.getsize(f"{self.prefix}.index") > MAX_INDEX_BYTES:
            raise self.error("whose list of variables is too long")
        self._errors = (tf.errors.OpError, ValueError, IndexError, RuntimeError)
        self._reader = self._read(tf.train.load_checkpoint, self.prefix)
        variables = self._reader.get_variable_to_shape_map()
        self.names, self.shapes = {}, {}
        for name in sorted(variables):
            match = re.search("(body|symbol_modality_[0-9]+_[0-9]+)/.*", name)
            # An optimizer keeps arrays of the same names.
            if match and not re.search("/Adam|^training/|/v[cr]?$", name):
                self.names[match[0]] = name
                self.shapes[match[0]] = tuple(variables[name])
        self._slots = [n for n in variables if n.endswith("kernel/Adam_1")]

    def read(self, name):
        """Returns a variable as a float32 array."""
        array = self._read(self._reader.get_tensor, self.names[name])
        # The sum is finite only if all numbers are.
        if array.dtype.kind != "f" or not np.isfinite(array.sum(dtype="f8")):
            raise self.error(f"where {name} is not all finite floats")
        return array.astype("float32")

    def read_slot(self, name):
        """Returns the mean squares of a variable's gradients, or None."""
        slots = (x for x in self._slots if x.endswith(f"{name}/Adam_1"))
        slot = next(slots, None)
        return slot and self._read(self._reader.get_tensor, slot)

    def count_layers(self, side):
        """Returns the number of layers of the "encoder" or "decoder"."""
        numbers = re.findall(
            rf"^body/{side}/layer_(\d+)/", "\n".join(self.names), re.MULTILINE
        )
        return len(set(numbers))

    def error(self, fault, remedy=REMEDY):
        return file_error(self.prefix, fault, remedy)

    def _read(self, function, name):
        try:
            return function(name)
        except self._errors as error:
            message = str(error).split("\n")[0][:200].rstrip(".")
            raise self.error(f"which cannot be read ({message})") from error
