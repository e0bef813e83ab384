"""What the trainer of Tensor2Tensor wrote about a model beside its weights.

`hparams.json` has its hyper-parameters. `flags.txt` names its problem and its
hparams set.
"""

import json
import os
import re

from keras_transformer.files.reading import file_error
from keras_transformer.files.reading import read_text
from keras_transformer.files.records import WHOLE
from keras_transformer.files.records import find_fault
from keras_transformer.files.records import read_record
from keras_transformer.formats.imported_run import unsupported
from keras_transformer.formats.tensor2tensor.checkpoint import REMEDY

HPARAMS_FILE = "hparams.json"
FLAGS_FILE = "flags.txt"
RATES = {
    "layer_prepostprocess_dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "relu_dropout": "activation_dropout",
    "label_smoothing": "label_smoothing",
}
_HPARAMS = {
    "num_heads?": WHOLE,
    "norm_epsilon?": float,
    "multiply_embedding_mode?": str,
    "layer_preprocess_sequence?": str,
    "layer_postprocess_sequence?": str,
    **{f"{name}?": float for name in RATES},
}
# Fields whose other values stand for features that a model here lacks.
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
# Heads of the sets where these do not have a width of 64, and the widths that
# only sets with a width of 64 have otherwise.
_HEADS = {"h1": 1, "h4": 4, "h16": 16, "h32": 32, "hs256": 8, "hs1024": 8}
_HEADS |= {"test": 2, "tiny": 4, "big_enfr_tpu": 8, "parsing_base": 8}
_WIDTHS = {256: 4, 512: 8, 1024: 16}
# The spaces of the languages before version 1.5.2. Since then, translation
# has the space 0. Files of 1.5.2 itself look as those of the version before it.
_SPACES = {"en": 3, "de": 8, "fr": 6, "cs": 21}
_LATER_HPARAM = "optimizer_adafactor_beta1"
_LATER_FLAG = "inter_op_parallelism_threads"


def read_flags(source):
    """Returns the values in `flags.txt` of a directory by name, {} without."""
    path = os.path.join(source, FLAGS_FILE)
    if not os.path.lexists(path):
        return {}
    text = read_text(path, REMEDY)
    flags = dict(re.findall(r"^--(\w+)=([ -~]*?)\s*$", text, re.MULTILINE))
    # Before version 1.6, the flag was --problems.
    return {"problem": flags.get("problems", ""), **flags}


def read_hparams(source, flags):
    """Returns the hyper-parameters of a model in a directory by name.

    Without `hparams.json` they are those that the `flags` change.
    """
    path = os.path.join(source, HPARAMS_FILE)
    if os.path.lexists(path):
        values = read_record(path, _HPARAMS, REMEDY)
    else:
        path = os.path.join(source, FLAGS_FILE)
        changes = re.findall(r"(\w+)=([^,]*)", flags.get("hparams", ""))
        values = {name: _parse(value) for name, value in changes}
        fault = find_fault(values, _HPARAMS)
        if fault:
            raise file_error(path, fault, REMEDY)
    for name, expected in _REQUIRED.items():
        if values.get(name, expected) != expected:
            fault = f"where {name}={values[name]!r:.60} instead of {expected!r}"
            raise unsupported(path, fault)
    return values


def _parse(text):
    try:
        return json.loads(text.lower())
    except ValueError:
        return text


def find_num_heads(hparams, flags, d_model):
    """Returns the number of heads of a model, None if nothing tells it."""
    name = flags.get("hparams_set", "").removeprefix("transformer_")
    heads = hparams.get("num_heads", _HEADS.get(name))
    return _WIDTHS.get(d_model) if heads is None else heads


def find_languages(flags):
    """Returns the languages of a problem of translation, or None."""
    name = flags.get("problem", "")
    match = re.fullmatch(r"translate_(..)(..)_.*?(_rev)?", name)
    if not match:
        return None
    return [match[2], match[1]] if match[3] else [match[1], match[2]]


def find_target_space(hparams, flags):
    """Returns the space of the targets of a problem, or None if unknown."""
    languages = find_languages(flags)
    if not languages:
        return None
    if _LATER_HPARAM in hparams or _LATER_FLAG in flags:
        return 0
    # The spaces of other pairs were not those of their languages.
    is_known = _SPACES.keys() >= set(languages)
    return _SPACES[languages[1]] if is_known else None
