"""Writes export.json, the record of an exported model."""

import dataclasses
import importlib.metadata
import json
import os

from keras_transformer.decoding.exported import EXPORT_FILE
from keras_transformer.files.writing import atomic_write


def write_record(directory, run, step, options, packages, **more):
    """Writes `export.json`: the origin of a model and how it decodes.

    Args:
        directory: Path of the directory to write to.
        run: The `RunDirectory` that the model comes from.
        step: Integer step of the checkpoint.
        options: The `DecodeOptions` of the export.
        packages: Names of the packages whose versions are recorded.
        **more: Other entries, such as `precision` and `max_tokens`.
    """
    # The readers in `decoding` need `decode` and the hash of the vocabulary.
    # The other entries here say where the model comes from.
    record = {
        "problem": run.problem_name,
        "hparams_set": run.record.get("hparams_set"),
        "step": step,
        # An averaged run has one checkpoint, made of several.
        "checkpoint_steps": run.averaged_steps or [step],
        **run.vocabularies.hashes,
        "decode": dataclasses.asdict(options),
        **more,
        "versions": {
            name: importlib.metadata.version(name) for name in packages
        },
    }
    with atomic_write(os.path.join(directory, EXPORT_FILE)) as file:
        file.write(json.dumps(record, indent=2) + "\n")
