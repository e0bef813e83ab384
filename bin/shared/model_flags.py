"""Reads the flags that name models and set how they decode."""

import os

from keras_transformer.bin.shared import flags
from keras_transformer.search.options import DecodeOptions
from keras_transformer.search.options import parse_decode_hparams

WIDE = 512  # smallest d_model at which bfloat16 decoding is faster


def directories(path):
    """Lists the directories that the value of a flag names.

    Commas separate them, such as the runs of an ensemble. A path that exists is
    one directory, even if there is a comma in its name. A demo of the package,
    such as demo://en-es, is where it has been unpacked.
    """
    if os.path.exists(path):
        return [path]
    from keras_transformer.formats.demo import find_directory

    parts = map(os.path.expanduser, path.split(","))
    return list(map(find_directory, parts))


def single_output_dir(values, purpose):
    """Returns the only directory that `--output_dir` names.

    The message about an ensemble names the `purpose`, such as "export".
    """
    paths = directories(values.output_dir)
    if len(paths) > 1:
        rule = f"must name one run to {purpose}, not an ensemble"
        way_out = "Only kt-decoder and kt-evaluate take several runs."
        flags.refuse(values, ["output_dir"], rule, way_out)
    return paths[0]


def open_run(path, step=None):
    """Opens a run, and checks the checkpoint before a backend is loaded."""
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.runs.weights import check_checkpoint

    run = RunDirectory(path)
    check_checkpoint(run, step)
    return run


def decode_changes(values):
    """Returns the decoding options that the flags change, a dictionary.

    Some commands have `--beam_size` and `--alpha` as well.
    """
    single = {
        name: values[name].value
        for name in ("beam_size", "alpha")
        if name in values
    }
    return parse_decode_hparams(values.decode_hparams, **single)


def decode_options(values, hparams):
    """Returns a run's `DecodeOptions` with the changes that the flags state."""
    return DecodeOptions.from_hparams(hparams).replace(**decode_changes(values))


def decode_precision(values, hparams):
    """Returns the precision to decode with a run in.

    `auto` is bfloat16 for wide models on devices that are fast at it. Narrow
    models gain nothing. The backend must have been loaded.
    """
    if values.precision != "auto":
        return values.precision
    if hparams.d_model < WIDE:
        return "float32"
    from keras_transformer.training.backends import make_backend

    return make_backend.resolve_precision("auto")
