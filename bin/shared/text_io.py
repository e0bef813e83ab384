"""The files and standard streams that commands read and write."""

import fnmatch
import os
import sys

from keras_transformer.bin.shared import model_flags
from keras_transformer.data.text import text_files
from keras_transformer.errors import UserError
from keras_transformer.files.writing import check_writable

# Names of the files that a run or an export cannot do without.
_MODEL_FILES = ("run.json", "hparams.json", "export.json", "config.json")
_MODEL_FILES += ("*vocabulary.json", "*.model", "*.npz", "*.pb", "model.bin")
_MODEL_FILES += ("vmap.txt", "variables.*")


class TextInput:
    """Lines of text from a file, or from standard input for None and "-".

    `is_file` says whether it is a regular file, which can be read twice. A
    missing file and a closed standard input raise a `UserError`.
    """

    def __init__(self, path):
        self.is_file = False
        self._path = path
        if path in (None, "-"):
            check_standard_input()
        else:
            text_files.check_exists(path)
            self.is_file = os.path.isfile(path)

    def __iter__(self):
        if self._path in (None, "-"):
            return standard_input()
        return text_files.read_lines(self._path)


def standard_input():
    r"""Returns an iterator of the lines, which end in `\n` only.

    A line that is not UTF-8 raises a `UserError` after the lines before it.
    """
    check_standard_input()
    # The text layer of standard input would end lines at a lone `\r`, too, and
    # could not tell the line of a faulty byte.
    return text_files.split_lines(sys.stdin.buffer, "standard input")


def check_standard_input():
    """Raises a `UserError` if standard input is closed."""
    # The shell closes it with `<&-`.
    if sys.stdin is None:
        raise UserError(
            "Standard input is closed. Pass text through a pipe, or in a flag."
        )


class StandardOutput:
    """Standard output with the methods of `partial.PartialFile`.

    On an interrupt, its context adds a note of how many lines were written.
    """

    num_lines = 0  # there are no lines of an earlier process

    def __init__(self):
        self.num_alarms = 0
        self._num_written = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, KeyboardInterrupt):
            error.add_note(
                f"{self._num_written:,} lines were written to standard output."
            )

    def skip(self, name, lines):
        return iter(lines)

    def writelines(self, lines, **inputs):
        lines = list(lines)
        sys.stdout.writelines(lines)
        sys.stdout.flush()
        self._num_written += len(lines)

    def isatty(self):
        return sys.stdout.isatty()


def check_output(name, values, inputs=()):
    """Checks that the output that a flag names can be written.

    It must not replace a file that one of the flags in `inputs` names, nor a
    file of the models in `output_dir`.
    """
    output = values[name].value
    if not output:
        return
    if os.path.exists(output):
        _check_spares_inputs(name, values, inputs)
        if "output_dir" in values and values.output_dir:
            _check_spares_models(name, output, values)
    check_writable(output, f"`--{name}`")


def _check_spares_inputs(name, values, inputs):
    output = values[name].value
    for other in inputs:
        paths = values[other].value or []
        for path in [paths] if isinstance(paths, str) else paths:
            if os.path.exists(path) and os.path.samefile(path, output):
                raise UserError(
                    f"`--{name}` must not be an input, which would be lost. "
                    f"Received: {output}, the file of --{other}. Name another "
                    "file."
                )


def _check_spares_models(name, output, values):
    path = os.path.realpath(output)
    file = os.path.basename(path)
    if not any(fnmatch.fnmatch(file, pattern) for pattern in _MODEL_FILES):
        return
    for directory in model_flags.directories(values.output_dir):
        if path.startswith(os.path.join(os.path.realpath(directory), "")):
            raise UserError(
                f"`--{name}` must not be a file of the model, which would be "
                f"lost. Received: {output} with --output_dir={directory}. Name "
                "another file."
            )
