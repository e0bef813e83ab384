"""Writes a run's model for CTranslate2, a fast inference engine."""

import functools
import os

from keras_transformer.decoding.exported import VOCABULARY_FILE
from keras_transformer.decoding.exported import is_ctranslate2
from keras_transformer.decoding.exported import require_ctranslate2
from keras_transformer.export.record import write_record
from keras_transformer.files import writing
from keras_transformer.runs.model_card import write_model_card
from keras_transformer.runs.weights import read_weights

FORMAT = "ctranslate2"
QUANTIZATIONS = ("float32", "float16", "bfloat16", "int16", "int8")
QUANTIZATIONS += ("int8_float32", "int8_float16", "int8_bfloat16")
PACKAGES = ("keras-t2t", "ctranslate2")


def export_ctranslate2(
    run, export_dir, options, step=None, quantization="float32"
):
    """Writes a checkpoint as a directory that CTranslate2 loads.

    The directory holds:

    - what CTranslate2 reads: `model.bin`, `config.json` and
      `shared_vocabulary.json`;
    - the SentencePiece model `vocab.model`;
    - `export.json`, which says where the model comes from and how to decode;
    - the model card `README.md`.

    The directory appears under its name once it is complete, and replaces an
    earlier export to CTranslate2. Neither TensorFlow nor Keras is needed.

    Args:
        run: A `RunDirectory`.
        export_dir: Path of the directory to write.
        options: The `DecodeOptions` to decode with by default.
        step: Integer step of the checkpoint, or "best". Defaults to the
            newest.
        quantization: One of `QUANTIZATIONS`, the number format that the
            weights are stored in. When CTranslate2 loads the model on a
            machine that cannot compute in this format, it converts the
            weights. Defaults to "float32".

    Returns:
        `export_dir`.

    Raises:
        ValueError: If CTranslate2 is not installed or does not support the
            model, if `export_dir` holds other files, or if another process is
            writing to it.
    """
    require_ctranslate2()
    _check(run, quantization)
    path = os.path.abspath(export_dir)
    check = functools.partial(check_replaceable, path)
    with writing.replaced_directory(path, check) as aside:
        _write(run, aside, options, run.checkpoints.find(step), quantization)
    return export_dir


def check_replaceable(path):
    """Checks that an export may be written to `path`.

    Raises:
        ValueError: If `path` is a file, or a directory that holds anything
            other than an earlier export to CTranslate2.
    """
    # `exists` would overlook a link to nothing.
    if not os.path.lexists(path):
        return
    if os.path.isdir(path) and not os.path.islink(path):
        if not os.listdir(path) or is_ctranslate2(path):
            return
    raise ValueError(
        "`export_dir` must be new or hold an earlier export to CTranslate2, "
        f"which is replaced. Received: export_dir={path!r}, which holds other "
        "files. Name another directory."
    )


def _check(run, quantization):
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            "`quantization` must be one that CTranslate2 supports. Received: "
            f"quantization={quantization!r}. Use one of: "
            f"{', '.join(QUANTIZATIONS)}."
        )
    if run.hparams.neighbourhood_size:
        raise ValueError(
            "A model for CTranslate2 must attend to all positions. Received: "
            f"{run.path} with neighbourhood_size="
            f"{run.hparams.neighbourhood_size}. "
            "Export it with --format=saved_model."
        )


def _write(run, directory, options, step, quantization):
    # Imported here because it imports CTranslate2, which may be missing.
    from keras_transformer.export.ctranslate2_spec import RunConverter

    vocabulary = run.vocabulary
    converter = RunConverter(
        run.hparams,
        read_weights(run.checkpoints, step),
        vocabulary.pieces(range(vocabulary.vocab_size)),
        run.path,
    )
    # `force`, because the directory exists already. It is empty.
    converter.convert(directory, quantization=quantization, force=True)
    # Our reader needs it to cut text into subwords; CTranslate2 does not.
    path = os.path.join(directory, VOCABULARY_FILE)
    with writing.written_aside(path, "wb") as file:
        file.write(vocabulary.model_bytes)
    write_record(
        directory,
        run,
        step,
        options,
        PACKAGES,
        format=FORMAT,
        precision=quantization,
        max_tokens=converter.num_positions,
    )
    extra = {
        "format": FORMAT,
        "decode": options,
        "quantization": quantization,
    }
    write_model_card(directory, run, step, extra)
