"""A run as a SavedModel: what TensorFlow Serving and TensorFlow load."""

import contextlib
import dataclasses
import importlib.metadata
import json
import logging
import os

import keras

from keras_transformer.decode_options import DecodeOptions
from keras_transformer.export import versions
from keras_transformer.files import written_aside
from keras_transformer.model_card import write_model_card
from keras_transformer.run_directory import load_model
from keras_transformer.translations import MAX_SOURCE_TOKENS

PRECISIONS = ("float32", "bfloat16")
RECORD = "export.json"
EXTRA = "assets.extra"
PACKAGES = ("keras-transformer", "keras", "tensorflow", "tensorflow-text")


def export_saved_model(
    run,
    export_dir,
    options=None,
    step=None,
    precision="float32",
    of_text=True,
):
    """Writes a run's model as the next version of a SavedModel.

    It takes text and gives text, SentencePiece included, and needs nothing but
    TensorFlow and tensorflow-text. The version appears under its number once
    it is whole.

    Args:
        run: a `RunDirectory`.
        export_dir: directory of the versions `1`, `2`, ...
        options: the `DecodeOptions` that it translates with for good, by
            default those of the run.
        step: of the checkpoint, or "best"; by default the newest.
        precision: "float32" or "bfloat16", of what it computes; the weights
            are stored in float32.
        of_text: whether it takes text; else it takes ids alone and holds no
            operation of tensorflow-text.

    Returns:
        the path of the version.

    Raises:
        ValueError: if the run, its checkpoint or `export_dir` is not what it
            must be. Then nothing was written.
    """
    _check(run, export_dir, precision)
    options = options or DecodeOptions.of(run.hparams)
    step = run.checkpoints.find(step)
    model = load_model(run, step, precision)
    record = describe_export(run, step, options, precision)
    record["of_text"] = of_text
    with versions.new_version(export_dir) as (aside, path):
        _save(model, run, options, record, aside)
        form = "saved_model" if of_text else "saved_model_ids"
        card = {"format": form, "decode": options, "precision": precision}
        write_model_card(os.path.join(aside, EXTRA), run, step, card)
    write_model_card(export_dir, run, step, card)
    return path


def describe_export(run, step, options, precision):
    """Returns what `export.json` holds: where a model is from, how it decodes.

    Args:
        run: the `RunDirectory`.
        step: of the checkpoint.
        options: the `DecodeOptions`.
        precision: the name of the number format.
    """
    return {
        "problem": run.problem_name,
        "hparams_set": run.record.get("hparams_set"),
        "step": step,
        "checkpoint_steps": run.averaged_steps or [step],
        "vocabulary_sha256": run.vocabulary.sha256,
        "decode": dataclasses.asdict(options),
        "precision": precision,
        "max_tokens": _max_tokens(run.hparams),
        "versions": {
            name: importlib.metadata.version(name) for name in PACKAGES
        },
    }


def _check(run, export_dir, precision):
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "A SavedModel must be exported with TensorFlow. Received: "
            f"KERAS_BACKEND={keras.backend.backend()}. Use "
            "KERAS_BACKEND=tensorflow; it takes runs from JAX as well."
        )
    if precision not in PRECISIONS:
        raise ValueError(
            f"`precision` must be one of {', '.join(PRECISIONS)} in a "
            f"SavedModel. Received: precision={precision!r}. Use float32."
        )
    if run.exists(export_dir):
        raise ValueError(
            "`export_dir` must not be the directory of a run. Received: "
            f"export_dir={export_dir!r}. Name one inside it, or elsewhere."
        )
    versions.check_export_dir(export_dir)
    recorded = run.record.get("vocabulary_sha256", run.vocabulary.sha256)
    if recorded != run.vocabulary.sha256:
        raise ValueError(
            "A run's vocabulary must be the one it was trained with. Received: "
            f"{run.file('vocab.model')} with sha256 {run.vocabulary.sha256}, "
            f"while run.json says {recorded}. Put the right file back."
        )


def _save(model, run, options, record, directory):
    import tensorflow as tf

    from keras_transformer.export import warmup
    from keras_transformer.export.text_module import TextModule

    vocabulary = run.vocabulary
    module = TextModule(model, vocabulary, options, record["max_tokens"])
    signatures = module.signatures(record["of_text"])
    try:
        with _quiet("absl", "tensorflow"):
            tf.saved_model.save(module, directory, signatures)
    except tf.errors.OpError as error:
        # TensorFlow's own file system says so where the disk takes no more.
        raise OSError(
            "A model must fit on its disk. Received: "
            f"{directory} ({error.message}). Make room or choose another disk."
        ) from error
    extra = os.path.join(directory, EXTRA)
    os.mkdir(extra)
    with written_aside(os.path.join(extra, RECORD)) as file:
        file.write(json.dumps(record, indent=2) + "\n")
    if not record["of_text"]:
        with written_aside(os.path.join(extra, "vocab.model"), "wb") as file:
            file.write(vocabulary.model_bytes)
    pairs = warmup.warmup_texts(run, record["max_tokens"])
    warmup.write_warmup(extra, signatures, pairs, vocabulary)


@contextlib.contextmanager
def _quiet(*names):
    """Keeps what libraries tell their own developers out of the log."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)


def _max_tokens(hparams):
    if hparams.positional_encoding == "learned":
        return min(MAX_SOURCE_TOKENS, hparams.max_length)
    return MAX_SOURCE_TOKENS
