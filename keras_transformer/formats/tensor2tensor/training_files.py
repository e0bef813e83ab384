"""The files that the trainer of Tensor2Tensor wrote.

A checkpoint of TensorFlow has the weights, and `hparams.json` the
hyper-parameters. `flags.txt` names the problem and the hparams set.
"""

import glob
import json
import os
import re

import numpy as np

from keras_transformer import registry
from keras_transformer.files import reading
from keras_transformer.files.quiet import silence
from keras_transformer.formats.imported_run import unsupported

REMEDY = "Copy the files of the model again."
MAX_INDEX_BYTES = 2**22  # of an index; big models have 100 KB
HPARAMS_FILE = "hparams.json"
FLAGS_FILE = "flags.txt"
# Names of numbers, and our names of them.
FIELDS = {
    "layer_prepostprocess_dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "relu_dropout": "activation_dropout",
    "label_smoothing": "label_smoothing",
    "norm_epsilon": "norm_epsilon",
}
_HPARAMS = {
    "num_heads?": reading.WHOLE,
    "multiply_embedding_mode?": str,
    **{f"{name}?": float for name in FIELDS},
}
# Values without which a model has features that are missing here.
_REQUIRED = {
    "pos": "timing",
    "norm_type": "layer",
    "self_attention_type": "dot_product",
    "prepend_mode": "none",
    "proximity_bias": False,
    "causal_decoder_self_attention": True,
    "attention_variables_3d": False,
    "ffn_layer": "dense_relu_dense",
}
# Normalisation (n), dropout (d) and addition (a) before and after a sub-layer.
_SEQUENCES = {"pre": ("n", "da"), "post": ("none", "dan")}


def read_flags(source):
    """Returns the values in `flags.txt` of a directory by name, {} without."""
    path = os.path.join(source, FLAGS_FILE)
    if not os.path.lexists(path):
        return {}
    text = reading.read_text(path, REMEDY)
    return dict(re.findall(r"^--(\w+)=([ -~]*?)\s*$", text, re.MULTILINE))


def read_hparams(source, flags, checkpoint):
    """Returns the hyper-parameters of a model in a directory by name.

    Without `hparams.json` they are those that the `flags` change. Refuses
    values of features that are missing here, and values that contradict the
    `checkpoint`.
    """
    path = os.path.join(source, HPARAMS_FILE)
    if os.path.lexists(path):
        values = reading.read_record(path, {}, REMEDY)
    else:
        path = os.path.join(source, FLAGS_FILE)
        changes = re.findall(r"(\w+)=([^,]*)", flags.get("hparams", ""))
        values = {name: _parse(value) for name, value in changes}
    if fault := reading.find_fault(values, _HPARAMS):
        raise reading.file_error(path, fault, REMEDY)
    names = "layer_preprocess_sequence", "layer_postprocess_sequence"
    required = _REQUIRED | dict(zip(names, _SEQUENCES[checkpoint.norm]))
    if checkpoint.max_relative_position:
        required |= {"self_attention_type": "dot_product_relative", "pos": None}
    for name, expected in required.items():
        if values.get(name, expected) != expected:
            fault = f"where {name}={values[name]!r:.60} instead of {expected!r}"
            raise unsupported(path, fault)
    return values


def _parse(text):
    try:
        return json.loads(text.lower())
    except (ValueError, RecursionError):
        return text


def find_num_heads(hparams, flags):
    """Returns the number of heads of a model, None if nothing tells it."""
    if "num_heads" in hparams:
        return hparams["num_heads"]
    name = flags.get("hparams_set", "")
    for each in (f"{name}_t2t", name):  # ours may have the name, too
        if each in registry.hparams_sets.names():
            return registry.get_hparams(each).num_heads
    return None


def find_languages(flags):
    """Returns the languages of a problem, or "source" and "target"."""
    name = flags.get("problem", "")
    match = re.fullmatch(r"translate_(..)(..)_.*?(_rev)?", name)
    if not match:
        return ["source", "target"]
    return [match[2], match[1]] if match[3] else [match[1], match[2]]


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
            raise reading.file_error(path, "which does not exist", REMEDY)
        for path in glob.glob(glob.escape(self.prefix) + ".*"):
            reading.check_file(path, REMEDY)
        if os.path.getsize(f"{self.prefix}.index") > MAX_INDEX_BYTES:
            raise self.error("whose list of variables is too long")
        self._errors = (tf.errors.OpError, ValueError, IndexError, RuntimeError)
        self._reader = self._read(tf.train.load_checkpoint, self.prefix)
        self._variables = variables = self._reader.get_variable_to_shape_map()
        self.names, self.shapes = {}, {}
        for name in sorted(variables):
            match = re.search("(body|symbol_modality_[0-9]+_[0-9]+)/.*", name)
            # An optimizer keeps arrays of the same names.
            if match and not re.search("/Adam|^training/|/v[cr]?$", name):
                self.names[match[0]] = name
                self.shapes[match[0]] = tuple(variables[name])
        scale = "body/encoder/layer_prepostprocess/layer_norm/layer_norm_scale"
        self.norm = "pre" if scale in self.shapes else "post"
        tables = [n for n in self.names if "/relative_positions_keys/" in n]
        sizes = [self.shapes[name][0] for name in tables if self.shapes[name]]
        self.max_relative_position = max(sizes, default=0) // 2

    def read(self, name):
        """Returns a variable as a float32 array."""
        array = self._read(self._reader.get_tensor, self.names[name])
        # The sum is finite only if all numbers are.
        if array.dtype.kind != "f" or not np.isfinite(array.sum(dtype="f8")):
            raise self.error(f"where {name} is not all finite floats")
        return array.astype("float32")

    def read_slot(self, name):
        """Returns the mean squares of a variable's gradients, or None."""
        slots = [x for x in self._variables if x.endswith(f"{name}/Adam_1")]
        return self._read(self._reader.get_tensor, slots[0]) if slots else None

    def count_layers(self, side):
        """Returns the number of layers of the "encoder" or "decoder"."""
        start = re.compile(rf"body/{side}/layer_\d+/")
        matches = filter(None, map(start.match, self.names))
        return len({match[0] for match in matches})

    def error(self, fault, remedy=REMEDY):
        return reading.file_error(self.prefix, fault, remedy)

    def _read(self, function, name):
        try:
            return function(name)
        except self._errors as error:
            message = str(error).split("\n")[0][:200].rstrip(".")
            raise self.error(f"which cannot be read ({message})") from error
