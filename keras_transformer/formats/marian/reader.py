"""Makes runs of models in the format of transformers' Marian."""

import os
import re

import numpy as np

from keras_transformer.files import array_files
from keras_transformer.files.reading import file_error
from keras_transformer.files.reading import read_record
from keras_transformer.formats.exported import refuse_foreign
from keras_transformer.formats.imported_run import unsupported
from keras_transformer.formats.imported_run import write_run
from keras_transformer.formats.marian import config as marian_config
from keras_transformer.formats.marian import tensor_files
from keras_transformer.formats.marian import vocabulary_files
from keras_transformer.formats.marian import weights as marian_weights
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import NEVER_WRITTEN
from keras_transformer.token_ids import PAD_ID

WEIGHTS_FILE = "model.safetensors"
PICKLE_FILE = "pytorch_model.bin"
INDEX_FILE = "model.safetensors.index.json"
_REMEDY = "Get the files of the model again."
_MAX_CARD_HEADER = 2**20  # characters
# A table of positions in float16 differs from the formula by half of this.
_MAX_DIFFERENCE = 1e-3


def is_marian(directory):
    """Returns whether a directory holds a model in the format of Marian."""
    path = os.path.join(directory, marian_config.CONFIG_FILE)
    # A CTranslate2 model also has a config.json, but no such vocabulary.
    tokenizer = os.path.join(directory, vocabulary_files.CONFIG_FILE)
    return os.path.isfile(path) and os.path.isfile(tokenizer)


def import_marian(source, output_dir, origin=None, problem="translate_files"):
    """Writes the weights and the vocabulary of a Marian model as a run.

    The run appears under its name once it is complete; its `RunDirectory` is
    returned. Raises a `UserError` if a file is missing or damaged, if the model
    has a feature that models here lack, or if `output_dir` is not empty.

    Args:
        source: Directory with `config.json`, `model.safetensors`, `source.spm`,
            `target.spm`, `vocab.json`, `tokenizer_config.json` and optionally
            `generation_config.json`.
        output_dir: Directory of the run, which must be new or empty.
        origin: Name that the run records for the model. Defaults to `source`.
        problem: Name of the problem of the run. Defaults to
            "translate_files", text files of the user's own.
    """
    refuse_foreign(source)  # which has the same names of files
    config = marian_config.read_config(source)
    vocabularies = vocabulary_files.read_marian_vocabularies(source)
    _check_ids(config, vocabularies, source)
    path = _find_weights(source)
    headers = tensor_files.read_headers(path)
    hparams = marian_config.make_hparams(config, "zero")
    for name, original in marian_weights.list_copies(hparams.model).items():
        if name in headers:
            # A matrix with several names may have any of them in a file.
            headers.setdefault(original, headers[name])
    places = marian_weights.make_places(hparams.model, vocabularies)
    _check_headers(headers, places, hparams.model, path)
    arrays = {
        name: place.import_array(_read(headers, place))
        for name, place in places.items()
    }
    array_files.check_finite(arrays, path, _REMEDY)
    if _has_start(config, arrays, vocabularies, source):
        hparams = marian_config.make_hparams(config, "padding")
    record = {
        "problem": problem,
        "licence": _read_licence(source),
        "imported": {
            "origin": origin or os.path.abspath(source),
            "languages": _read_languages(source),
            "dtype": _find_dtype(headers),
            "max_position_embeddings": config["max_position_embeddings"],
        },
    }
    return write_run(output_dir, record, hparams, vocabularies, arrays)


def _find_weights(source):
    for name in (WEIGHTS_FILE, INDEX_FILE):
        path = os.path.join(source, name)
        if os.path.lexists(path):
            return path
    path = os.path.join(source, WEIGHTS_FILE)
    fault, remedy = "which does not exist", _REMEDY
    if os.path.lexists(os.path.join(source, PICKLE_FILE)):
        fault = f"which does not exist, and {PICKLE_FILE} can run code"
        remedy = (
            "To convert it, run python -c 'from transformers import "
            "MarianMTModel as M; "
            f'M.from_pretrained("{source}").save_pretrained("{source}")\' '
            "where you trust it."
        )
    raise file_error(path, fault, remedy)


def _check_ids(config, vocabularies, source):
    """Checks that config and tables agree on the ids."""
    path = os.path.join(source, marian_config.CONFIG_FILE)
    sources, targets = vocabularies
    expected = {
        "vocab_size": sources.vocab_size,
        "decoder_vocab_size": targets.vocab_size,
        "pad_token_id": sources.original_ids[PAD_ID],
        "eos_token_id": targets.original_ids[END_ID],
    }
    for name, value in expected.items():
        if config[name] != value:
            fault = f"where {name}={config[name]}, but the table has {value}"
            raise file_error(path, fault, _REMEDY)
    # The rows of a shared matrix have one order.
    if config["share_encoder_decoder_embeddings"] and not np.array_equal(
        sources.original_ids, targets.original_ids
    ):
        fault = "whose sides share a matrix but differ in their special ids"
        raise unsupported(path, fault)
    never_written = {int(targets.original_ids[id_]) for id_ in NEVER_WRITTEN}
    marian_config.check_bad_words(config, never_written, source)


def _check_headers(headers, places, config, path):
    expected = {place.name: place.shape for place in places.values()}
    if marian_weights.LOGITS_BIAS not in headers:
        del expected[marian_weights.LOGITS_BIAS]  # it is zero
    # Neither copies nor positions need be stored.
    copies = marian_weights.list_copies(config).items()
    copies = {name: of for name, of in copies if name in headers}
    tables = headers.keys() & {
        f"model.{side}.embed_positions.weight"
        for side in ("encoder", "decoder")
    }
    expected |= {name: expected[of] for name, of in copies.items()}
    # Any number of positions will do.
    expected |= {n: (*headers[n].shape[:1], config.d_model) for n in tables}
    shapes = {name: header.shape for name, header in headers.items()}
    array_files.check_shapes(expected, shapes, path, _REMEDY)
    for name, other in copies.items():
        # Bitwise, since a model with untied copies would be a different one.
        copy, original = (
            tensor_files.read_array(headers[each]) for each in (name, other)
        )
        if not np.array_equal(copy, original):
            raise unsupported(path, f"where {name!r} differs from {other!r}")
    for name in sorted(tables):
        table = tensor_files.read_array(headers[name])
        usual = marian_weights.make_positions(*table.shape)
        if not np.abs(table - usual).max(initial=0) <= _MAX_DIFFERENCE:
            fault = f"where {name!r} is learned, not the table of sinusoids"
            raise unsupported(path, fault)


def _read(headers, place):
    if place.name in headers:
        return tensor_files.read_array(headers[place.name])
    return np.zeros(place.shape, "float32")  # the bias of the logits


def _find_dtype(headers):
    dtypes = {header.dtype for header in headers.values()}
    names = {"F16": "float16", "BF16": "bfloat16"}
    return names.get(dtypes.pop(), "float32") if len(dtypes) == 1 else "float32"


def _has_start(config, arrays, vocabularies, source):
    """Returns whether the decoder starts from the embedding of padding."""
    # In Marian itself this is a zero vector. transformers can fine-tune it.
    ids = vocabularies.targets.original_ids.tolist()
    start = config["decoder_start_token_id"]
    if start in ids:
        row = ids.index(start)
        if not arrays["model/embedding/embeddings"][row].any():
            return False
        if row == PAD_ID:
            return True
    path = os.path.join(source, marian_config.CONFIG_FILE)
    fault = f"where decoder_start_token_id={start} is not padding"
    raise unsupported(path, fault)


def _read_languages(source):
    sides = ("source", "target")
    shape = {f"{side}_lang?": (str, None) for side in sides}
    config = read_record(
        os.path.join(source, vocabulary_files.CONFIG_FILE), shape, _REMEDY
    )
    return [config.get(f"{side}_lang") or side for side in sides]


def _read_licence(source):
    path = os.path.join(source, "README.md")
    if not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(_MAX_CARD_HEADER)
    header = re.match(r"---\n(.*?)^---$", text, re.S | re.M)
    # Cards state one name, such as `license: apache-2.0`. Other values need a
    # reader of YAML, so none is recorded for them.
    pattern = r"""^license: *(["']?)([\w.-]+)\1 *$"""
    line = header and re.search(pattern, header[1], re.M)
    return line[2] if line else None
