"""Checks that an output of a command replaces nothing that the user needs."""

import fnmatch
import os

from keras_transformer.bin.shared import model_flags

# Names of the files that a run or an export cannot do without.
_MODEL_FILES = ("run.json", "hparams.json", "export.json", "config.json")
_MODEL_FILES += ("*vocabulary.json", "*.model", "*.npz", "*.pb", "model.bin")
_MODEL_FILES += ("vmap.txt", "variables.*")


def check_output(name, values, inputs=()):
    """Checks that an output replaces neither an input nor a file of a model.

    Args:
        name: Name of the flag that names the output.
        values: Flags of the command. The models are those of `output_dir`, if
            it is one of them.
        inputs: Names of the flags that name inputs.

    Raises:
        ValueError: If it would replace one.
    """
    output = values[name].value
    if not output or not os.path.exists(output):
        return
    _check_spares_inputs(name, values, inputs)
    if "output_dir" in values and values.output_dir:
        _check_spares_models(name, output, values)


def _check_spares_inputs(name, values, inputs):
    output = values[name].value
    for other in inputs:
        paths = values[other].value or []
        for path in [paths] if isinstance(paths, str) else paths:
            if os.path.exists(path) and os.path.samefile(path, output):
                raise ValueError(
                    f"`--{name}` must not be an input, which would be lost. "
                    f"Received: {output}, the file of --{other}. Name another "
                    "file."
                )


def _check_spares_models(name, output, values):
    path = os.path.realpath(output)
    file = os.path.basename(path)
    if not any(fnmatch.fnmatch(file, pattern) for pattern in _MODEL_FILES):
        return
    for directory in model_flags.output_dirs(values):
        if path.startswith(os.path.join(os.path.realpath(directory), "")):
            raise ValueError(
                f"`--{name}` must not be a file of the model, which would be "
                f"lost. Received: {output} with --output_dir={directory}. Name "
                "another file."
            )
