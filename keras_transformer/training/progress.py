"""The position of a run in its data, as a checkpoint records it."""

from keras_transformer.files.reading import file_error
from keras_transformer.runs.model_card import check_model_card
from keras_transformer.runs.weights import check_checkpoint

WHOLE_NUMBERS = ("step", "epoch", "batch")
KINDS = ("progress", "log")
# The greatest size of a checkpoint, as a multiple of the size of its weights:
# Adam keeps two moments, and there may be a moving average.
MAX_STATE = 8

_REMEDY = "Delete it; the training then resumes from the checkpoint before it."


def check_resumable(run):
    """Checks the files that a resumed run reads, without a backend."""
    # An average has no position. `run.check_same` refuses to resume it.
    if not run.checkpoints.steps or run.averaged_steps:
        return
    check_checkpoint(run)
    run.checkpoints.timed_steps  # reading the file checks it
    headers = run.checkpoints.headers()
    sizes = {name: headers[name].total_bytes for name in headers}
    weights = sum(sizes[name] for name in sizes if name.startswith("model/"))
    if sum(sizes.values()) > MAX_STATE * weights + 2**20:
        path = run.checkpoints.path(run.checkpoints.find())
        fault = f"with {sum(sizes.values()):,} bytes for a model of {weights:,}"
        raise file_error(path, fault, remedy=_REMEDY)
    read_progress(run.checkpoints)
    check_model_card(run)


def read_progress(checkpoints):
    """Reads where a run stands in its newest checkpoint.

    It reads single numbers alone and needs no backend. Returns a dictionary
    with `step`, `epoch`, `batch`, `seconds` and, since version 0.2,
    `positions`; and one of the counts for the next row of the log.
    """
    step = checkpoints.find()
    path = checkpoints.path(step)
    headers = checkpoints.headers(step)
    expected = {f"progress/{name}" for name in (*WHOLE_NUMBERS, "seconds")}
    for name in sorted(expected | headers.keys()):
        if name.partition("/")[0] not in KINDS:
            continue
        shape = headers[name].shape if name in headers else "absent"
        if shape != ():
            fault = f"where {name[:80]!r} must be a number but is {shape}"
            raise file_error(path, fault, remedy=_REMEDY)
    arrays = checkpoints.load(step, KINDS)
    values = {name: array.item() for name, array in arrays.items()}
    progress, counts = (
        {
            name.removeprefix(f"{kind}/"): value
            for name, value in values.items()
            if name.startswith(f"{kind}/")
        }
        for kind in KINDS
    )
    # Version 0.1 recorded no positions.
    for name in (*WHOLE_NUMBERS, *progress.keys() & {"positions"}):
        is_count = type(progress[name]) is int and progress[name] >= 0
        if not is_count or (name == "step" and progress[name] != step):
            fault = f"where progress/{name} is {progress[name]}"
            raise file_error(path, fault, remedy=_REMEDY)
    if not 0 <= progress["seconds"] < float("inf"):
        fault = f"where progress/seconds is {progress['seconds']}"
        raise file_error(path, fault, remedy=_REMEDY)
    return progress, counts
