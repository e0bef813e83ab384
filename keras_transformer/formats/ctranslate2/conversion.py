"""Models of CTranslate2 that are made from the checkpoints of runs."""

import contextlib
import dataclasses
import os
import sys

from keras_transformer.files import locks
from keras_transformer.files import writing
from keras_transformer.files.directories import stage_directory
from keras_transformer.files.quiet import hide_module
from keras_transformer.files.reading import hash_record
from keras_transformer.files.writing import write_record
from keras_transformer.formats import exported
from keras_transformer.runs.weights import read_weights
from keras_transformer.search.options import DecodeOptions

# Belongs to the key of a converted model. A change of the converter that
# changes its output needs another number.
VERSION = 2
# The fields of a model that `RunConverter` lays out for CTranslate2, and
# `span_labels`, which the search of a parser does without.
UNDERSTOOD = exported.allow_any(
    "d_k", "d_v", "span_labels", "max_relative_position"
)
UNDERSTOOD["norm"] = ("post", "pre")
UNDERSTOOD["activation"] = ("relu", "gelu", "silu")
UNDERSTOOD["decoder_start"] = ("zero", "padding")
UNDERSTOOD["positional_encoding"] = ("sinusoidal", "tensor2tensor", "learned")
UNDERSTOOD["tied_embeddings"] = ("all", "target", "none")


def find_understood(config):
    """Returns the values of `UNDERSTOOD` that suit a model."""
    # CTranslate2 has either relative or absolute positions.
    is_relative = config.max_relative_position
    kinds = ("none",) if is_relative else UNDERSTOOD["positional_encoding"]
    return {**UNDERSTOOD, "positional_encoding": kinds}


def find_or_convert(run, step):
    """Returns the directory of a converted checkpoint, made if it is missing.

    Its name has a hash of everything that it is made from. The directory
    appears under this name once it is complete. If several processes need it,
    one converts and the others wait.
    """
    path, key = _locate(run, step)
    if os.path.isdir(path):
        return path
    outer = path + writing.INCOMPLETE
    with locks.lock_directory(outer):
        if not os.path.isdir(path):
            with stage_directory(outer) as aside:
                write_converted(run, step, aside)
                writing.synchronise(aside)
                writing.move(aside, path)
            # The others come from an earlier content of the checkpoint.
            run.checkpoints.remove_converted(
                lambda other, its_key: other == step and its_key != key
            )
        with contextlib.suppress(OSError):  # another process may need it
            os.rmdir(outer)
    return path


def is_converted(run, step):
    """Returns whether a checkpoint has been converted, and so checked."""
    return os.path.isdir(_locate(run, step)[0])


def _locate(run, step):
    """Returns the path of a converted checkpoint, and the hash in it."""
    # Imported here because Keras translates without it.
    import ctranslate2

    version = [VERSION, ctranslate2.__version__]
    key = hash_record({"version": version, **run.describe_content(step)})
    return run.checkpoints.converted_path(step, key), key


def write_converted(run, step, directory):
    """Writes the files that `CTranslate2Engine` needs into a directory."""
    max_tokens = convert_run(run, step, directory)
    record = {
        **run.vocabularies.hashes,
        "decode": dataclasses.asdict(DecodeOptions.from_hparams(run.hparams)),
        "max_tokens": max_tokens,
        "averages_heads": True,
    }
    write_record(os.path.join(directory, exported.EXPORT_FILE), record)


def convert_run(run, step, directory, quantization="float32"):
    """Writes a checkpoint into an empty directory as a CTranslate2 model.

    Writes CTranslate2's files and the vocabularies, which our reader needs to
    cut text into subwords. Neither TensorFlow nor Keras is needed. Returns the
    largest number of tokens that the model takes.
    """
    with _hide_torch():
        from keras_transformer.formats.ctranslate2 import spec

    sides = run.source_vocabulary, run.vocabulary
    converter = spec.RunConverter(
        run.hparams.model,
        read_weights(run.checkpoints, step),
        *(side.all_pieces() for side in sides),
    )
    converter.write(directory, quantization)
    run.vocabularies.write(directory)
    return converter.num_positions


@contextlib.contextmanager
def _hide_torch():
    """Makes PyTorch appear not to be installed, unless it is loaded."""
    # The specifications of CTranslate2 import it, which takes seconds, for the
    # weights of other converters. Later imports find it, because the modules
    # that were loaded without it are forgotten.
    if "torch" in sys.modules or "ctranslate2.specs" in sys.modules:
        yield
        return
    import ctranslate2

    try:
        with hide_module("torch"):
            yield
    finally:
        # Copied at once, because other threads may be importing modules.
        for name in list(sys.modules):
            if name.startswith("ctranslate2.spec"):
                del sys.modules[name]
        vars(ctranslate2).pop("specs", None)
