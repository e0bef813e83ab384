"""Writes runs as models that transformers opens as Marian models."""

import os
import re

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.files import directories
from keras_transformer.files.writing import write_record
from keras_transformer.formats.exported import allow_any
from keras_transformer.formats.exported import check_search
from keras_transformer.formats.exported import check_understood
from keras_transformer.formats.marian import config as marian_config
from keras_transformer.formats.marian import tensor_files
from keras_transformer.formats.marian import vocabulary_files as marian_files
from keras_transformer.formats.marian import weights as marian_weights
from keras_transformer.formats.marian.reader import WEIGHTS_FILE
from keras_transformer.runs import weights
from keras_transformer.runs.data_record import find_languages
from keras_transformer.runs.model_card import write_model_card
from keras_transformer.token_ids import PAD_ID

FORMAT = "marian"
# The files of an export. Everything else in its directory stays.
FILES = (
    WEIGHTS_FILE,
    *(marian_config.CONFIG_FILE, marian_config.GENERATION_FILE),
    *(marian_files.SOURCE_MODEL_FILE, marian_files.TARGET_MODEL_FILE),
    *(marian_files.TABLE_FILE, marian_files.TARGET_TABLE_FILE),
    marian_files.CONFIG_FILE,
)
# Only exports have this in the metadata of their weights.
_MARK = {"producer": "keras_transformer"}
_WHERE = "in a model of Marian"
# The fields of a model that Marian has; see `check_understood`. `check_model`
# compares the widths.
UNDERSTOOD = allow_any("d_k", "d_v")
UNDERSTOOD["activation"] = tuple(marian_config.ACTIVATIONS.values())
UNDERSTOOD["decoder_start"] = ("zero", "padding")
# The bias of padding where its embedding is not a part of the model. It leaves
# padding no probability, so padding is never written.
UNLIKELY = -1e4


def export_marian(run, export_dir, options, step=None, certify=None):
    """Writes a checkpoint as a model for transformers; returns its path.

    `MarianMTModel.from_pretrained(export_dir)` and `MarianTokenizer` open it.
    An imported model that was not trained further has the same numbers in every
    array, bit for bit. Biases that a run lacks are zeros. An earlier export in
    the directory is replaced, and other files there stay. The model decodes
    with the `DecodeOptions`. The step is an integer or "best" and defaults to
    the newest. Raises a `UserError` if Marian lacks a feature of the model.
    `certify` is as for `export_ctranslate2`.
    """
    check_model(run)
    check_search(options, _WHERE, "min_length")
    check_export_dir(export_dir)
    step = run.checkpoints.find(step)
    weights.check_checkpoint(run, step)
    config = run.hparams.model
    arrays = make_arrays(
        config, run.vocabularies, weights.read_weights(run.checkpoints, step)
    )
    imported = run.record.get("imported", {})
    contents = marian_config.make_configs(
        run.hparams, run.vocabularies, options, imported
    )
    dtype = contents[marian_config.CONFIG_FILE]["torch_dtype"]
    with directories.replace_content(
        export_dir,
        marian_config.CONFIG_FILE,
        lambda: check_export_dir(export_dir),
        FILES,
    ) as aside:
        path = os.path.join(aside, WEIGHTS_FILE)
        arrays = {name: array.astype(dtype) for name, array in arrays.items()}
        tensor_files.write_arrays(path, arrays, _MARK)
        marian_files.write_marian_vocabularies(
            run.vocabularies,
            aside,
            find_languages(run) or ["source", "target"],
            separate_vocabs=config.tied_embeddings != "all",
        )
        for name, content in contents.items():
            write_record(os.path.join(aside, name), content)
        certificate = certify and certify(aside)
    export = {"format": FORMAT, "decode": options, "certificate": certificate}
    write_model_card(export_dir, run, step, export)
    return export_dir


def check_model(run):
    """Raises a `UserError` if Marian lacks a feature of a run's model."""
    config = run.hparams.model
    advice = "Use --format=saved_model, which takes any model."
    width = config.d_model // config.num_heads
    if config.head_widths != (width, width):
        raise UserError(
            f"`d_k` and `d_v` must be d_model / num_heads {_WHERE}. Received: "
            f"d_k={config.d_k}, d_v={config.d_v}. {advice}"
        )
    check_understood(config, UNDERSTOOD, _WHERE, advice)
    # Its tokenizer does not spell text before it cuts it.
    if any(vocabulary.is_tensor2tensor for vocabulary in run.vocabularies):
        raise UserError(
            f"A vocabulary must not be one of Tensor2Tensor {_WHERE}. "
            f"Received: {run.path} with such a vocabulary. {advice}"
        )


def check_export_dir(path):
    """Checks that a directory is new, empty or holds an earlier export."""
    directories.check_directory(path, "`export_dir`")
    directories.check_replaceable(
        path,
        "export_dir",
        "new, empty or hold an earlier export",
        lambda names: _is_export(os.path.join(path, WEIGHTS_FILE)),
    )


def _is_export(path):
    try:
        return _MARK.items() <= tensor_files.read_metadata(path).items()
    except (OSError, UserError):
        return False


def make_arrays(config, vocabularies, arrays):
    """Returns the arrays of a Marian model by their names in transformers."""
    places = marian_weights.make_places(config, vocabularies)
    arrays = {**arrays}
    bias = "model/embedding/output_bias"
    matrix = "model/embedding/embeddings"
    if config.decoder_start == "zero" and arrays[matrix][PAD_ID].any():
        # There, the decoder starts from the embedding of padding.
        arrays[matrix] = arrays[matrix].copy()
        arrays[matrix][PAD_ID] = 0
        if config.tied_embeddings != "none":
            size = vocabularies.targets.vocab_size
            arrays[bias] = arrays.get(bias, np.zeros(size)).copy()
            arrays[bias][PAD_ID] = UNLIKELY
    _match_epsilon(config, arrays, places)
    exported = {}
    for name, place in places.items():
        # Biases are all that a run can lack.
        absent = np.zeros(place.shape[-1])
        exported[place.name] = place.export_array(arrays.get(name, absent))
    return exported


def _match_epsilon(config, arrays, names):
    """Makes normalisations with the epsilon of Marian compute the same."""
    # A normalisation with c ** 2 times the epsilon does so if its input is c
    # times as large. Everything between two normalisations is therefore scaled:
    # the earlier one and the ends of branches by c, and the kernels after them
    # by 1 / c. The first normalisation of a stack reads embeddings and
    # positions, which stay as they are, so it alone differs, by a few
    # millionths.
    scale = (marian_config.NORM_EPSILON / config.norm_epsilon) ** 0.5
    if scale == 1:
        return
    for stack in ("encoder", "decoder"):
        # The sub-layers of a stack, in order.
        sublayer = re.compile(rf"(model/{stack}/layer_\d+/[a-z_]+)/\w+")
        matches = filter(None, map(sublayer.fullmatch, names))
        places = list(dict.fromkeys(match[1] for match in matches))
        factors = {}
        for place in places[1:]:
            reading = ["query", "inner"]
            # Keys and values of cross-attention read the encoder.
            if place.endswith("self_attention"):
                reading += ["key", "value"]
            ends = ("output", "output_bias", "outer", "outer_bias")
            factors |= {f"{place}/{weight}": 1 / scale for weight in reading}
            factors |= {f"{place}/{weight}": scale for weight in ends}
        for place in places[:-1]:
            for weight in ("gamma", "beta"):
                factors[f"{place}_residual/norm/{weight}"] = scale
        for name in factors.keys() & arrays.keys():
            arrays[name] = arrays[name] * np.float32(factors[name])
