"""The files and standard streams that commands read and write."""

import fnmatch
import io
import os
import pathlib
import sys

from keras_transformer.bin.shared import model_flags
from keras_transformer.data.text import text_files
from keras_transformer.errors import UserError
from keras_transformer.files.writing import INCOMPLETE
from keras_transformer.files.writing import check_writable

_MODEL_FLAGS = ("output_dir", "rerank_by", "compare")  # which may name runs
# Names of the files that a run or an export cannot do without.
_MODEL_FILES = ("run.json", "hparams.json", "export.json", "config.json")
_MODEL_FILES += ("*vocabulary.json", "*.model", "*.npz", "*.pb", "model.bin")
_MODEL_FILES += ("vmap.txt", "variables.*")


def is_file(path):
    """Returns whether an input is a regular file, which can be read twice."""
    return path not in (None, "-") and os.path.isfile(path)


def open_text(path=None):
    r"""Returns an iterator of lines, of standard input for None and "-".

    They end in `\n` only. A missing file and a closed standard input raise a
    `UserError`, and a line that is not UTF-8 does so after the lines before it.
    """
    if path not in (None, "-"):
        text_files.check_exists(path)
        return text_files.read_lines(path)
    check_standard_input()
    # The text layer of standard input would end lines at a lone `\r`, too, and
    # could not tell the line of a faulty byte.
    return text_files.split_lines(sys.stdin.buffer, "standard input")


def ask_for_lines():
    """Yields the lines that a user types, with a prompt before each."""
    prompt = "> " if sys.stdin.isatty() else ""
    print("Type one sentence per line; Control-D ends.", file=sys.stderr)
    print(prompt, end="", file=sys.stderr, flush=True)
    for line in open_text():
        yield line
        print(prompt, end="", file=sys.stderr, flush=True)


def read_exactly(path=None):
    """Returns a whole text with its line ends, read as by `open_text`."""
    name = path
    if path in (None, "-"):
        check_standard_input()
        name, content = "standard input", sys.stdin.buffer.read()
    else:
        text_files.check_exists(path)
        content = pathlib.Path(path).read_bytes()
    # Raises an error that names the line of a faulty byte.
    for _ in text_files.split_lines(io.BytesIO(content), name, exact=True):
        pass
    return content.decode()


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


def check_outputs(values, outputs, inputs=(), distinct_inputs=False):
    """Checks that the files which flags name as outputs can be written.

    None may replace an input, another output, or a file of a model that a flag
    names. An output is first written under a second name. One file may be
    several inputs, unless `distinct_inputs` says that they must differ.
    """
    flag_of = {}
    for name in (*inputs, *outputs):
        value = values[name].value or []
        for path in [value] if isinstance(value, str) else value:
            places = [_identify(path)]
            if name in outputs:
                _check_spares_models(name, path, values)
                check_writable(path, f"`--{name}`")
                places.append(_identify(os.path.realpath(path) + INCOMPLETE))
            for place in places:
                other, other_path = flag_of.setdefault(place, (name, path))
                if other != name and (distinct_inputs or name in outputs):
                    raise UserError(
                        "The files of these flags must differ, and none may "
                        "have the name of an output followed by "
                        f"{INCOMPLETE}. Received: --{other}="
                        f"{other_path} and --{name}={path}. Name another file."
                    )


def _identify(path):
    """Returns what two names of a file have in common."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    except ValueError:  # a zero byte, which the name of no file has
        return path
    return status.st_dev, status.st_ino


def _check_spares_models(flag, output, values):
    path = os.path.realpath(output)
    file = os.path.basename(path)
    is_model = any(fnmatch.fnmatch(file, name) for name in _MODEL_FILES)
    if not is_model or not os.path.exists(path):
        return
    for name in _MODEL_FLAGS:
        value = values[name].value if name in values else None
        for directory in model_flags.directories(value) if value else ():
            if path.startswith(os.path.join(os.path.realpath(directory), "")):
                raise UserError(
                    f"`--{flag}` must not be a file of the model, which would "
                    f"be lost. Received: {output} with --{name}={directory}. "
                    "Name another file."
                )
