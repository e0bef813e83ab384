"""Writes a run's model for ONNX Runtime and transformers.js."""

import os

from keras_transformer.errors import require_package
from keras_transformer.files.writing import write_record
from keras_transformer.formats import exported
from keras_transformer.formats import versions
from keras_transformer.formats.marian import config as marian_config
from keras_transformer.formats.onnx import tokenizer
from keras_transformer.runs.weights import read_weights
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import NEVER_WRITTEN
from keras_transformer.token_ids import PAD_ID

FORMAT = "onnx"
PACKAGES = ("keras-t2t", "onnx")
FOLDER = "onnx"  # of the graphs, as transformers.js has it
ENCODER, DECODER = "encoder_model", "decoder_model_merged"
QUANTIZED = "_quantized"  # ends the names of the graphs in 8 bits
_WHERE = "in a model of ONNX"
# The fields of a model that the graphs lay out; see `check_understood`.
UNDERSTOOD = exported.allow_any(
    *("d_k", "d_v", "norm", "activation", "positional_encoding"),
    *("neighbourhood_size", "max_relative_position", "decoder_start"),
)


def export_onnx(run, export_dir, options, step=None, certify=None):
    """Writes a checkpoint as the next version of a model of ONNX.

    Its directory is what transformers.js and optimum call a model: graphs in
    float32 and in 8 bits, `config.json`, `generation_config.json`, and
    `tokenizer.json`, which gives our ids. If the target has a separate
    vocabulary, its tokenizer is in a folder. The version appears once it is
    complete; its path is returned. Neither TensorFlow nor Keras is needed.
    `certify` is as for `export_ctranslate2`.
    """
    _check_model(run, options)

    def write(directory, step):
        _write_graphs(run, step, os.path.join(directory, FOLDER))
        _write_settings(run, options, directory)
        return {"format": FORMAT}

    export = {"format": FORMAT, "decode": options}
    # Weights take four bytes, and one more in the graphs of 8 bits.
    return versions.write_version(
        run, step, export_dir, export, PACKAGES, write, 5, certify
    )


def _check_model(run, options):
    require_package("onnx", "onnx", "'.[onnx]'")
    advice = "Export it with --format=saved_model."
    exported.check_understood(run.hparams.model, UNDERSTOOD, _WHERE, advice)
    exported.check_search(options, _WHERE, "min_length")
    exported.check_translates(run, "A model of ONNX", advice)
    for vocabulary in run.vocabularies:
        tokenizer.check_vocabulary(vocabulary)


def _write_graphs(run, step, directory):
    # Imported here because the check for the package comes first.
    from keras_transformer.formats.onnx import model

    os.mkdir(directory)
    config, arrays = run.hparams.model, read_weights(run.checkpoints, step)
    for quantizes in (False, True):
        graphs = {
            ENCODER: model.make_encoder(config, arrays, quantizes),
            DECODER: model.make_decoder(config, arrays, quantizes),
        }
        for name, graph in graphs.items():
            name += QUANTIZED * quantizes + ".onnx"
            with open(os.path.join(directory, name), "wb") as file:
                file.write(graph.SerializeToString(deterministic=True))


def _write_settings(run, options, directory):
    contents = marian_config.make_configs(
        run.hparams, run.vocabularies, options, imported={}
    )
    # Readers know the graph by the names of Marian's parts, whatever is in it.
    # They make an empty cache of this width.
    width = max(run.hparams.model.head_widths)
    config = contents[marian_config.CONFIG_FILE]
    config["d_model"] = run.hparams.num_heads * width
    search = contents[marian_config.GENERATION_FILE]
    search["bad_words_ids"] = [[id_] for id_ in NEVER_WRITTEN]
    ids = {
        "pad_token_id": PAD_ID,
        "eos_token_id": END_ID,
        "decoder_start_token_id": PAD_ID,
        "forced_eos_token_id": END_ID,
    }
    for name, content in contents.items():
        write_record(os.path.join(directory, name), content | ids)
    tokenizer.write_tokenizers(run.vocabularies, directory)
