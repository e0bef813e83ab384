"""What exported models have in common: files, records and input errors."""

import dataclasses
import os
from collections.abc import Iterable

import numpy as np

from keras_transformer.data.vocabulary.subwords import VOCABULARY_FILE
from keras_transformer.errors import UserError
from keras_transformer.errors import require_package
from keras_transformer.files.directories import CTRANSLATE2_FILE
from keras_transformer.files.directories import SAVED_MODEL_FILE
from keras_transformer.files.directories import find_versions
from keras_transformer.files.reading import file_error
from keras_transformer.files.reading import read_record
from keras_transformer.formats.demo import find_directory
from keras_transformer.model_config import TRAINING_ONLY
from keras_transformer.model_config import ModelConfig
from keras_transformer.parsing.linearization import LINEARIZATIONS
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

# The path of a model, or the paths of an ensemble.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

EXPORT_FILE = "export.json"
EXTRA = "assets.extra"  # TensorFlow leaves this folder to other programs
SHORTLIST_FILE = "vmap.txt"  # the name that CTranslate2 demands
# The file by which the format of a version is recognised.
FILES = {
    "ctranslate2": CTRANSLATE2_FILE,
    "saved_model": SAVED_MODEL_FILE,
    "onnx": os.path.join("onnx", "encoder_model.onnx"),
    "litert": "model.tflite",
}
# Formats that only other programs load.
_FOREIGN = {"onnx": "ONNX Runtime and transformers.js", "litert": "LiteRT"}

# The shape of `export.json`; see `read_record`.
_RECORD = {
    "vocabulary_sha256": str,
    "source_vocabulary_sha256?": str,
    "decode": {str: (bool, float)},
    "max_tokens": range(1, 2**31),
    "precision?": str,
    "of_text?": bool,
    "linearization?": (set(LINEARIZATIONS), None),
    "shortlist_sha256?": str,
    "has_words?": bool,
    "normalizes_text?": bool,
    "language_codes?": [str],
    "averages_heads?": bool,  # in the attention that CTranslate2 returns
}
# Ends the error about a damaged file.
REMEDY = "Export the run again."

# Memory grows with their squares and cubes, and a server must not run out.
MAX_TERMS = 64  # of a text
# The errors of an exported model about faulty inputs. The graph of a SavedModel
# and a served model of CTranslate2 share them, so that a client reads the same
# error from both.
NOT_UTF8 = (
    "Text must be UTF-8. Received: other bytes. Convert it, for example with "
    "iconv -t UTF-8."
)
NOT_PAIRED = (
    "`targets` must have one entry for each text. Received: batches of two "
    "sizes. Send one target for each text."
)
_WAY_OUT = f"Pad rows with {PAD_ID} on the right."
NO_END = (
    f"`inputs` must have {END_ID}, the end id, as the last id of each row and "
    f"nowhere else. Received: other rows. {_WAY_OUT}"
)
EARLY_PADDING = (
    f"`inputs` must hold {PAD_ID} only after the end id. Received: a {PAD_ID} "
    f"before it. {_WAY_OUT}"
)

_ANY = object()  # stands for all values of a field in `check_understood`


def list_directories(path: Paths) -> list:
    """Returns the path of a model, or an iterable of paths, as a list.

    A demo of the package is one, too.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path or ())
    if not paths or not all(map(os.fspath, paths)):
        raise UserError(
            "`output_dir` must name a directory for each model. Received: "
            f"{', '.join(map(repr, paths)) or 'no directories'}. Name one run, "
            "or the runs of an ensemble."
        )
    return list(map(find_directory, paths))


def find_format(paths):
    """Returns the format of a list of directories, or None for runs."""
    for path in paths:
        refuse_foreign(path)
    formats = list(map(find_export_format, paths))
    if len(paths) == 1:
        return formats[0]
    for path, format in zip(paths, formats):
        if format:
            raise UserError(
                f"Each model of an ensemble must be a run. Received: {path}, "
                "which is an exported model. Name the directory of its run."
            )
    return None


def find_export_format(path):
    """Returns the name in `FILES` of an exported model, or None."""
    newest = find_newest_version(path)
    paths = {name: os.path.join(newest, FILES[name]) for name in FILES}
    return next((name for name in paths if os.path.isfile(paths[name])), None)


def refuse_foreign(path):
    """Raises a `UserError` if a path has a model that only others can load."""
    if name := _FOREIGN.get(find_export_format(path)):
        raise UserError(
            f"{path} holds a model for {name}, which cannot be loaded here. "
            "Name the directory of the run, or export it with "
            "--format=ctranslate2."
        )


def find_newest_version(path):
    """Returns the directory of the newest version; see `find_versions`.

    A path without versions is returned unchanged.
    """
    return max(find_versions(path).items(), default=(0, path))[1]


def read_export(path):
    """Reads `export.json` and returns the record and its `DecodeOptions`."""
    record = read_record(path, _RECORD, REMEDY)
    try:
        return record, DecodeOptions(**record["decode"])
    except TypeError as error:  # an option that does not exist
        fault = f"where `decode` is wrong ({error})"
        raise file_error(path, fault, REMEDY) from error
    except ValueError as error:
        raise UserError(f"{error} The value is in {path}.") from error


def check_exportable(options):
    """Raises a `UserError` if options ask for minimum Bayes risk.

    A SavedModel cannot compute chrF. CTranslate2 returns equal samples only
    once, so it does not tell how often they were drawn.
    """
    if options.mbr_samples:
        raise UserError(
            "`mbr_samples` needs a run, since an exported model cannot "
            "choose among samples. Received: mbr_samples="
            f"{options.mbr_samples}. Name the directory of the run, or leave "
            "it out."
        )


def check_translates(run, what, advice):
    """Raises a `UserError` if a run parses."""
    if run.linearization:
        raise UserError(
            f"{what} must translate, since nothing there keeps a parser to "
            f"trees. Received: {run.path}, which parses. {advice}"
        )


def check_search(options, where, *more):
    """Raises a `UserError` for options that other programs cannot follow.

    `more` are names of options that this format lacks, too.
    """
    for name in ("temperature", "no_repeat_ngram_size", *more):
        if value := getattr(options, name):
            raise UserError(
                f"`{name}` must be 0 {where}. Received: {name}={value}. Leave "
                f"it out, or say {name}=0 if the run has it."
            )


def allow_any(*names):
    """Returns fields of a model of which an exporter understands all values.

    They are the `names`, and the fields that every exporter understands.
    """
    names += (*TRAINING_ONLY, "num_layers", "num_decoder_layers", "d_model")
    names += ("d_ff", "num_heads", "max_length", "norm_epsilon")
    names += ("attention_bias", "output_bias", "scale_embeddings")
    return dict.fromkeys((*names, "tied_embeddings"), _ANY)


def check_understood(config, understood, where, advice):
    """Checks that an exporter understands all fields of a model.

    A field without weights can change what a model computes. An exporter that
    overlooks it would write a model with other outputs, so every field that an
    exporter does not declare must have its default. `understood` has a tuple of
    values by the name of a field, or comes from `allow_any`. `where` and
    `advice` are the phrase and the sentence of the error.
    """
    field = find_unknown_field(config, understood)
    if not field:
        return
    if config.model_class:
        raise UserError(
            f"A model must be a plain `Transformer` {where}. Received: "
            f"{config.model_class.__name__} with the field `{field.name}`. "
            f"{advice}"
        )
    value = getattr(config, field.name)
    *others, last = map(repr, understood.get(field.name, (field.default,)))
    allowed = f"{', '.join(others)} or {last}" if others else last
    raise UserError(
        f"`{field.name}` must be {allowed} {where}. Received: "
        f"{field.name}={value!r}. {advice}"
    )


def find_unknown_field(config, understood):
    """Returns the first field whose value is not understood, or None."""
    for field in dataclasses.fields(config):
        values = understood.get(field.name, (field.default,))
        # A user's model may compute something else with any value.
        if config.model_class and not hasattr(ModelConfig, field.name):
            values = ()
        if values is not _ANY and getattr(config, field.name) not in values:
            return field
    return None


def quantize(array):
    """Returns a matrix in 8 bits, and a float32 scale for each of its rows.

    >>> quantize(np.array([[254.0, -2.0]]))
    (array([[127,  -1]], dtype=int8), array([[2.]], dtype=float32))
    """
    largest = np.abs(array).max(axis=1, keepdims=True)
    scales = np.maximum(largest / 127, 1e-30).astype("float32")
    return np.rint(array / scales).astype("int8"), scales


def is_ctranslate2(path):
    files = (CTRANSLATE2_FILE, EXPORT_FILE, VOCABULARY_FILE)
    return all(os.path.isfile(os.path.join(path, name)) for name in files)


def require_ctranslate2():
    require_package("ctranslate2", "CTranslate2", "ctranslate2")


def require_tensorflow_text(more):
    """Raises a `UserError` unless SavedModels of text can be used."""
    name = (
        "A SavedModel that takes text needs the package tensorflow-text, which"
    )
    more = f", which has no wheels for Windows, or {more}"
    require_package("tensorflow_text", name, "tensorflow-text", more)


def describe_long_sentence(name, max_tokens):
    return (
        f"`{name}` must have at most {max_tokens} tokens each, with the end. "
        "Received: a longer one. Split it."
    )


def describe_unknown_ids(vocab_size):
    return (
        f"`inputs` must be ids from 0 to {vocab_size - 1}. Received: other "
        "ids. Use the vocabulary of the model."
    )
