"""The average of a run's last checkpoints, which is a run itself."""

import os
import shutil

from keras_transformer.runs import retention
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import read_weights


def average_run(run, num_last, path):
    """Writes the average of a run's last checkpoints as the directory of a run.

    Args:
        run: The `RunDirectory` to average.
        num_last: Number of checkpoints to average; see `average`.
        path: Directory to write. It decodes like any other run.

    Returns:
        The `RunDirectory` of the average.

    Raises:
        ValueError: If the directory holds anything but an earlier average.
    """
    # Checked before the checkpoints are read, which takes longest.
    _check_replaceable(path)
    steps, arrays = average(run.checkpoints, num_last)
    training = run.training_until(steps[-1])
    record = {
        **run.record,
        "averaged_steps": steps,
        # An evaluation describes one checkpoint, not the average.
        "training": {
            name: training[name]
            for name in ("seconds", "epochs")
            if name in training
        },
    }
    # An earlier average left these. Its checkpoint may have a newer step, and
    # would then be the one that is loaded.
    for outdated in ("checkpoints", "scores"):
        shutil.rmtree(os.path.join(path, outdated), ignore_errors=True)
    averaged = RunDirectory.create(
        path, record, run.hparams, run.vocabulary.model_bytes
    )
    averaged.checkpoints.save(steps[-1], arrays)
    return averaged


def average(checkpoints, num_last):
    """Averages the weights of the model over the last checkpoints.

    Section 6.1 of Vaswani et al. (2017) averages the last 5 checkpoints of the
    base model and the last 20 of the big model. The mean is computed in
    float64. An average cannot be trained further, since it holds no optimizer
    state and no position in the data.

    Args:
        checkpoints: A `Checkpoints`.
        num_last: Number of the newest checkpoints to average.

    Returns:
        A list of the steps that were averaged, and a dictionary of name to
        array.

    Raises:
        ValueError: If there are fewer checkpoints, or if two of them do not
            hold the same weights.
    """
    steps = retention.newest_evaluated(
        checkpoints.steps, checkpoints.evaluations
    )
    if not 1 <= num_last <= len(steps):
        raise ValueError(
            "`num_last_checkpoints` must be from 1 to the number of newest "
            "checkpoints made at evaluations. Received: num_last_checkpoints="
            f"{num_last}, and {len(steps)} checkpoints in "
            f"{checkpoints.directory}. Lower the number, or continue the "
            "training with a greater --keep_checkpoint_max."
        )
    steps = steps[-num_last:]
    sums = read_weights(checkpoints, steps[0])
    dtypes = {name: array.dtype for name, array in sums.items()}
    # A sum in float32 would lose digits.
    sums = {name: array.astype("float64") for name, array in sums.items()}
    # Only one checkpoint at a time is in memory beside the sums.
    for step in steps[1:]:
        arrays = read_weights(checkpoints, step)
        _check_same(sums, arrays, checkpoints.path(step))
        for name, array in arrays.items():
            sums[name] += array
    means = {
        name: (array / len(steps)).astype(dtypes[name])
        for name, array in sums.items()
    }
    return steps, means


def _check_replaceable(path):
    # Only an average may be replaced, since it can be computed again.
    if not os.path.isdir(path) or not os.listdir(path):
        return
    if not (RunDirectory.exists(path) and RunDirectory(path).averaged_steps):
        raise ValueError(
            "`averaged_dir` must be new or hold an earlier average, which is "
            f"replaced. Received: averaged_dir={path!r}, which holds other "
            "files. Name another directory."
        )


def _check_same(expected, arrays, path):
    for name in sorted(expected.keys() | arrays.keys()):
        shapes = [
            named[name].shape if name in named else "absent"
            for named in (expected, arrays)
        ]
        if shapes[0] != shapes[1]:
            raise ValueError(
                "Averaged checkpoints must hold the same weights. Received: "
                f"{name} with shape {shapes[1]} in {path}, but {shapes[0]} in "
                "the earlier ones. Average the checkpoints of a single run."
            )
