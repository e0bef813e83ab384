"""Writes a run's model for LiteRT, the runtime of phones, with its search."""

import os

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.files.quiet import silence
from keras_transformer.formats import exported
from keras_transformer.formats import versions
from keras_transformer.formats.onnx import tokenizer
from keras_transformer.search.options import find_max_tokens
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID
from keras_transformer.token_ids import UNKNOWN_ID

FORMAT = "litert"
QUANTIZATIONS = ("float32", "int8")
PACKAGES = ("keras-t2t", "keras", "tensorflow")


def export_litert(
    run,
    export_dir,
    options,
    step=None,
    quantization="float32",
    certify=None,
):
    """Writes a checkpoint as the next version of a model of LiteRT.

    Its directory holds `model.tflite`, which takes ids and returns the ids of
    translations, and `tokenizer.json`, which gives our ids. If the target has a
    separate vocabulary, its tokenizer is in a folder. `export.json` has what a
    program must know, and the model card shows programs. The version appears
    once it is complete; its path is returned. With `quantization` "int8",
    matrices are stored in 8 bits. `certify` is as for `export_ctranslate2`.
    """
    _check_model(run, options, quantization)
    facts = {
        "format": FORMAT,
        "quantization": quantization,
        "max_tokens": find_max_tokens(run.hparams),
    }

    def write(directory, step):
        # Imported here because it loads Keras.
        from keras_transformer.runs.model import load_model

        model = load_model(run, step)
        content = _convert(model, run.vocabularies, options, quantization)
        path = os.path.join(directory, exported.FILES[FORMAT])
        with open(path, "wb") as file:
            file.write(content)
        tokenizer.write_tokenizers(run.vocabularies, directory)
        return {**facts, "end_id": END_ID, "pad_id": PAD_ID}

    export = {**facts, "decode": options}
    return versions.write_version(
        run, step, export_dir, export, PACKAGES, write, 4, certify
    )


def _check_model(run, options, quantization):
    if quantization not in QUANTIZATIONS:
        raise UserError(
            f"`quantization` must be one of {', '.join(QUANTIZATIONS)} in a "
            f"model of LiteRT. Received: quantization={quantization!r}. "
            "Choose one of these."
        )
    exported.check_search(options, "in a model of LiteRT")
    advice = "Export it with --format=saved_model."
    exported.check_translates(run, "A model of LiteRT", advice)
    for vocabulary in run.vocabularies:
        tokenizer.check_vocabulary(vocabulary)
    model = run.hparams.model
    if model.neighbourhood_size and model.max_relative_position:
        raise UserError(
            "`neighbourhood_size` must be 0 in a model of LiteRT with relative "
            "positions, since its converter fails. Received: "
            f"neighbourhood_size={model.neighbourhood_size}. {advice}"
        )


def _convert(model, vocabularies, options, quantization):
    """Returns the bytes of a model whose only signature translates ids."""
    # Imported here because the checks come first.
    import tensorflow as tf

    from keras_transformer.search.hypotheses import find_hypotheses

    num_ids = vocabularies.sources.vocab_size
    spec = tf.TensorSpec([None, None], tf.int32, "inputs")

    @tf.function(input_signature=[spec], autograph=False)
    def translate(inputs):
        # A tokenizer may have pieces that the model lacks.
        inputs = tf.where(inputs < num_ids, inputs, UNKNOWN_ID)
        is_real = tf.cast(tf.not_equal(inputs, PAD_ID), tf.int32)
        lengths = tf.reduce_sum(is_real, axis=1)
        # A limit of 1 ends the row of a blank text at the first step.
        limits = tf.where(lengths > 1, lengths + options.extra_length, 1)
        finished = find_hypotheses(
            model, options, inputs, limits, fixed_length=tf.reduce_max(limits)
        )
        return {"outputs": finished.sequences, "scores": finished.scores}

    weights = tf.Module()
    weights.variables_of_model = [each.value for each in model.variables]
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [translate.get_concrete_function()], weights
    )
    if quantization == "int8":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    with silence():  # the converter reports each of its passes
        return converter.convert()


def decode(directory, texts):
    """Returns the translations of texts by an export, and their scores."""
    # Imported here because only a certificate needs it.
    from ai_edge_litert.interpreter import Interpreter

    sources, targets = tokenizer.read_tokenizers(directory)
    path = os.path.join(directory, exported.FILES[FORMAT])
    with silence():  # it reports what it computes with
        translate = Interpreter(path).get_signature_runner()
    results = [
        translate(inputs=np.array([encoding.ids], "int32"))
        for encoding in sources.encode_batch(texts)
    ]
    ids = [result["outputs"][0, 0].tolist() for result in results]
    scores = [float(result["scores"][0, 0]) for result in results]
    return targets.decode_batch(ids), scores
