"""Makes a run of a base and the adapters that another run trained for it."""

import os

from keras_transformer.errors import UserError
from keras_transformer.files import array_files
from keras_transformer.formats.imported_run import write_run
from keras_transformer.model_config import ADAPTER_SUFFIXES
from keras_transformer.model_config import list_adapters
from keras_transformer.model_config import list_weights
from keras_transformer.runs.data_record import find_languages
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import LORA_ALPHA
from keras_transformer.runs.weights import LORA_BASE
from keras_transformer.runs.weights import check_checkpoint
from keras_transformer.runs.weights import compute_checksum
from keras_transformer.runs.weights import merge_adapters
from keras_transformer.runs.weights import read_weights

_REMEDY = "Get the file again, or name the run that it belongs to."


def import_adapter(source, base, output_dir, problem):
    """Writes a base with the adapters of `adapter.npz` merged into it as a run.

    kt-trainer writes the file, `source`, into the directory of a run with
    `lora_rank`. `base` is the path of the run that --warm_start_from named
    then, or of an equal one; adapters of another run raise a `UserError`. The
    other arguments and the result are as in `import_marian`.
    """
    if not RunDirectory.exists(base):
        raise UserError(
            "`base` must be the directory of a run. Received: "
            f"base={base!r}. Name the run that --warm_start_from named when "
            "the adapters were trained."
        )
    run = RunDirectory(base)
    check_checkpoint(run)
    arrays = array_files.read_arrays(source)
    _check_arrays(run, arrays, source)
    weights = read_weights(run.checkpoints)
    if compute_checksum(weights) != arrays[LORA_BASE]:
        raise UserError(
            "`base` must be the run whose weights the adapters were trained "
            f"for. Received: base={base!r}, whose newest weights differ. "
            "Name the run that --warm_start_from named then."
        )
    merge_adapters(weights, arrays, arrays[LORA_ALPHA])
    record = {
        "problem": problem,
        "licence": run.record.get("licence"),
        "imported": {
            "origin": os.path.abspath(source),
            "languages": find_languages(run) or ["source", "target"],
        },
    }
    hparams = run.hparams.without_lora()
    return write_run(output_dir, record, hparams, run.vocabularies, weights)


def _check_arrays(run, arrays, path):
    """Checks shapes and numbers of a model's adapters, whatever their rank."""
    widths = {
        array.shape[-1] or 1
        for name, array in arrays.items()
        if name.endswith(ADAPTER_SUFFIXES[0]) and array.ndim == 2
    }
    weights = list_weights(run.hparams.model, *run.vocabularies.sizes)
    expected = list_adapters(weights, max(widths, default=1))
    expected |= {LORA_ALPHA: (), LORA_BASE: ()}
    shapes = {name: array.shape for name, array in arrays.items()}
    array_files.check_shapes(expected, shapes, path, _REMEDY)
    array_files.check_finite(arrays, path, _REMEDY)
