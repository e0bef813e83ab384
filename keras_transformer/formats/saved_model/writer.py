"""Writes a run's model as a SavedModel, for TensorFlow and its servers."""

import contextlib
import functools
import logging
import os
import re

from absl import logging as absl_logging

from keras_transformer.files.quiet import silence
from keras_transformer.formats import versions
from keras_transformer.formats.exported import EXTRA
from keras_transformer.search.options import DecodeOptions
from keras_transformer.search.options import find_max_tokens
from keras_transformer.serving import messages

_log = logging.getLogger(__name__)
WARMUP_FILE = "tf_serving_warmup_requests"
WARMUP_BATCHES = (1, 4, 16)  # sizes of the requests in it
PACKAGES = ("keras-t2t", "keras", "tensorflow")


def export_saved_model(
    run,
    export_dir,
    options=None,
    step=None,
    precision="float32",
    of_text=True,
    certify=None,
):
    """Writes a run's model as the next version of a SavedModel.

    The SavedModel takes text and returns text, with SentencePiece inside. It
    needs only TensorFlow and tensorflow-text. Without `of_text` it takes ids
    and needs only TensorFlow. The version appears under its number once it is
    complete; its path is returned. The export fixes the `DecodeOptions`, by
    default the run's. The model computes in float32 or bfloat16; its weights
    are stored in float32. `certify` is as for `export_ctranslate2`.
    """
    options = options or DecodeOptions.from_hparams(run.hparams)
    format = "saved_model" if of_text else "saved_model_ids"
    export = {"format": format, "decode": options, "precision": precision}
    facts = {
        "precision": precision,
        "of_text": of_text,
        "max_tokens": find_max_tokens(run.hparams),
        "linearization": run.linearization,
        "has_words": run.vocabulary.has_words,
        "normalizes_text": run.source_vocabulary.normalizes_text,
        "language_codes": run.source_vocabulary.language_codes,
    }
    packages = [*PACKAGES, "tensorflow-text"] if of_text else PACKAGES
    save = functools.partial(_save, run, options, facts)
    return versions.write_version(
        run, step, export_dir, export, packages, save, 4, certify
    )


def _save(run, options, facts, directory, step):
    """Fills a directory; returns the facts about the model for its record."""
    import tensorflow as tf

    from keras_transformer.formats.saved_model.text_module import TextModule
    from keras_transformer.runs.model import load_model

    module = TextModule(
        load_model(run, step, facts["precision"]),
        run.source_vocabulary,
        run.vocabulary,
        options,
        facts["max_tokens"],
    )
    signatures = module.make_signatures(facts["of_text"])
    _log.info("Writing the graphs and the weights")
    extra = os.path.join(directory, EXTRA)
    try:
        with _quiet_log():
            tf.saved_model.save(module, directory, signatures)
        os.mkdir(extra)
        _log.info("Running the requests that warm up a server")
        _write_warmup(extra, signatures, run, facts["max_tokens"])
    except tf.errors.OpError as error:
        # TensorFlow's file system reports a full disk with a special error,
        # with the names of operations around the reason.
        reason = re.sub(r"{{[^}]*}} | \[Op:\w+\]", "", error.message)
        raise OSError(
            f"Cannot write {directory}: {reason}. Make room or choose "
            "another disk."
        ) from error
    if not facts["of_text"]:
        # The clients of this model encode text themselves.
        run.vocabularies.write(extra)
    return facts


@contextlib.contextmanager
def _quiet_log():
    """Keeps messages for developers of TensorFlow out of the log."""
    verbosity = absl_logging.get_verbosity()
    absl_logging.set_verbosity(absl_logging.WARNING)
    try:
        yield
    finally:
        absl_logging.set_verbosity(verbosity)


def _write_warmup(directory, signatures, run, max_tokens):
    """Writes requests that a server runs before it serves a model."""
    # The first calls of a graph are slow. The TFRecord file also holds the
    # model's responses, and TensorFlow Serving can read it.
    import tensorflow as tf

    path = os.path.join(directory, WARMUP_FILE)
    with tf.io.TFRecordWriter(path) as writer:
        for name, inputs in _list_warmup_requests(run, max_tokens):
            if "score" not in signatures and name != "ids":
                continue  # an export of ids has no signature of texts
            log = messages.PredictionLog()
            request = log.predict_log.request
            request.model_spec.signature_name = name
            response = log.predict_log.response
            response.model_spec.signature_name = name
            # SentencePiece logs at its first use.
            with silence():
                outputs = signatures[name](**inputs)
            for protos, tensors in (
                (request.inputs, inputs),
                (response.outputs, outputs),
            ):
                for key, tensor in tensors.items():
                    protos[key].CopyFrom(messages.to_proto(tensor.numpy()))
            writer.write(log.SerializeToString())


def _list_warmup_requests(run, max_tokens):
    """Yields the names of signatures and their inputs, made of any tokens."""
    import tensorflow as tf

    vocabulary = run.source_vocabulary
    first = vocabulary.vocab_size // 2  # skips bytes, which may be no text
    count = vocabulary.vocab_size - first
    # The factors have no meaning; they make the sentences differ.
    texts = vocabulary.decode(
        [
            [first + (7 * i + 31 * number) % count for i in range(number + 1)]
            for number in range(max(WARMUP_BATCHES))
        ]
    )
    encoded = vocabulary.encode(texts), run.vocabulary.encode(texts)
    pairs = [
        (text, ids)
        for text, ids, target_ids in zip(texts, *encoded)
        if text.strip() and max(len(ids), len(target_ids)) <= max_tokens
    ]
    for size in WARMUP_BATCHES:
        texts, ids = zip(*pairs[:size])
        texts, ids = tf.constant(texts), tf.ragged.constant(ids, tf.int32)
        yield "serving_default", {"text": texts}
        yield "ids", {"inputs": ids.to_tensor()}  # (batch, length)
        yield "score", {"text": texts, "targets": texts}
