"""Writes a run's model as a SavedModel, for TensorFlow and its servers."""

import contextlib
import dataclasses
import os
import re

import keras
from absl import logging as absl_logging

from keras_transformer.decoding.exported import ANY
from keras_transformer.decoding.exported import check_exportable
from keras_transformer.decoding.exported import check_understood
from keras_transformer.export import versions
from keras_transformer.model_config import ModelConfig
from keras_transformer.runs.model_card.card import write_model_card
from keras_transformer.runs.weights import load_model
from keras_transformer.search.options import MAX_SOURCE_TOKENS
from keras_transformer.search.options import DecodeOptions
from keras_transformer.trees.target_text import find_linearization

EXTRA = "assets.extra"  # TensorFlow leaves this folder to other programs
# A SavedModel holds the graphs of the Keras model, which has all these fields.
UNDERSTOOD = {field.name: ANY for field in dataclasses.fields(ModelConfig)}
PACKAGES = ("keras-t2t", "keras", "tensorflow", "tensorflow-text")


def export_saved_model(
    run,
    export_dir,
    options=None,
    step=None,
    precision="float32",
    of_text=True,
):
    """Writes a run's model as the next version of a SavedModel.

    The SavedModel takes text and returns text, with SentencePiece inside. It
    needs only TensorFlow and tensorflow-text. Without `of_text` it takes ids
    and needs only TensorFlow. The version appears under its number once it is
    complete; its path is returned. The export fixes the `DecodeOptions`, by
    default those of the run. The model computes in float32 or bfloat16; its
    weights are stored in float32.
    """
    versions.check_saved_model(precision, keras.backend.backend())
    versions.check_export_dir(export_dir, "saved_model")
    check_understood(
        run.hparams.model,
        UNDERSTOOD,
        "in a SavedModel",
        "Translate with the run itself.",
    )
    options = options or DecodeOptions.from_hparams(run.hparams)
    check_exportable(options)
    step = run.checkpoints.find(step)
    model = load_model(run, step, precision)
    format = "saved_model" if of_text else "saved_model_ids"
    export = {"format": format, "decode": options, "precision": precision}
    facts = {
        "precision": precision,
        "of_text": of_text,
        "max_tokens": _count_max_tokens(run.hparams.model),
        "linearization": find_linearization(run.vocabulary),
        "normalizes_text": run.source_vocabulary.normalizes_text,
        "language_codes": run.source_vocabulary.language_codes,
    }
    with versions.make_version(export_dir) as (aside, path):
        _save(model, run, options, facts, aside)
        extra = os.path.join(aside, EXTRA)
        versions.write_record(extra, run, step, options, PACKAGES, **facts)
        write_model_card(extra, run, step, export)
    # A second copy for people who open the directory of versions.
    write_model_card(export_dir, run, step, export)
    return path


def _save(model, run, options, facts, directory):
    import tensorflow as tf

    from keras_transformer.export import warmup
    from keras_transformer.export.text_module import TextModule

    module = TextModule(
        model,
        run.source_vocabulary,
        run.vocabulary,
        options,
        facts["max_tokens"],
    )
    signatures = module.make_signatures(facts["of_text"])
    extra = os.path.join(directory, EXTRA)
    try:
        with _quiet_log():
            tf.saved_model.save(module, directory, signatures)
        os.mkdir(extra)
        # The first calls of a graph are slow. A server makes them by itself,
        # from these requests, before it answers clients.
        pairs = warmup.make_warmup_texts(run, facts["max_tokens"])
        warmup.write_warmup(extra, signatures, pairs, run.source_vocabulary)
    except tf.errors.OpError as error:
        # TensorFlow's file system reports a full disk by an error of its own,
        # with the names of operations around the reason.
        reason = re.sub(r"{{[^}]*}} | \[Op:\w+\]", "", error.message)
        raise OSError(
            f"Cannot write {directory}: {reason}. Make room or choose "
            "another disk."
        ) from error
    if not facts["of_text"]:
        # The clients of this model encode text themselves.
        run.vocabularies.write(extra)


@contextlib.contextmanager
def _quiet_log():
    """Keeps messages for developers of TensorFlow out of the log."""
    verbosity = absl_logging.get_verbosity()
    absl_logging.set_verbosity(absl_logging.WARNING)
    try:
        yield
    finally:
        absl_logging.set_verbosity(verbosity)


def _count_max_tokens(config):
    # The positions from `max_length` on would share one vector.
    if config.positional_encoding == "learned":
        return min(MAX_SOURCE_TOKENS, config.max_length)
    return MAX_SOURCE_TOKENS
