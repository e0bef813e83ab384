"""The average of a run's last checkpoints, as a run of its own."""

import os
import shutil

from keras_transformer.runs import retention
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import weights


def average_run(run, num_last, path):
    """Writes the average of a run's last checkpoints as a run's directory.

    Args:
        run: a `RunDirectory`.
        num_last: how many checkpoints to average, see `average`.
        path: the directory to write, which decodes like any other run.

    Returns:
        the `RunDirectory` written.

    Raises:
        ValueError: if the directory holds anything but an earlier average.
    """
    if os.path.isdir(path) and os.listdir(path):
        if not (
            RunDirectory.exists(path) and RunDirectory(path).averaged_steps
        ):
            raise ValueError(
                "`averaged_dir` must be new or hold an earlier average, which "
                f"is replaced. Received: averaged_dir={path!r}, which holds "
                "other things. Name another directory."
            )
    steps, arrays = average(run.checkpoints, num_last)
    record = {
        **run.record,
        "averaged_steps": steps,
        "training": {
            name: figure
            for name, figure in run.training_until(steps[-1]).items()
            if name in ("seconds", "epochs")
        },
    }
    for outdated in ("checkpoints", "scores"):
        shutil.rmtree(os.path.join(path, outdated), ignore_errors=True)
    averaged = RunDirectory.create(
        path, record, run.hparams, run.vocabulary.model_bytes
    )
    averaged.checkpoints.save(steps[-1], arrays)
    return averaged


def average(checkpoints, num_last):
    """Averages the model's weights over the last checkpoints.

    Section 6.1 of Vaswani et al. (2017): the last 5 for the base, the last 20
    for the big model. The mean is taken in float64. Optimizer state, random
    state and progress are left out: nothing can be trained further from an
    average.

    Args:
        checkpoints: a `Checkpoints`.
        num_last: how many of the newest to average.

    Returns:
        the steps that were averaged, and a dictionary of name to array.

    Raises:
        ValueError: if there are fewer checkpoints, or two do not hold the same
            weights.
    """
    steps = retention.newest_evaluated(
        checkpoints.steps, checkpoints.evaluations
    )
    if not 1 <= num_last <= len(steps):
        raise ValueError(
            "`num_last_checkpoints` must be from 1 to the number of newest "
            "checkpoints made at evaluations. Received: num_last_checkpoints="
            f"{num_last}, and {len(steps)} checkpoints in "
            f"{checkpoints.directory}. Lower the number, or train on with a "
            "greater --keep_checkpoint_max."
        )
    steps = steps[-num_last:]
    sums = weights(checkpoints.load(steps[0]))
    dtypes = {name: array.dtype for name, array in sums.items()}
    sums = {name: array.astype("float64") for name, array in sums.items()}
    for step in steps[1:]:
        arrays = weights(checkpoints.load(step))
        _check_same(sums, arrays, checkpoints.path(step))
        for name, array in arrays.items():
            sums[name] += array
    means = {
        name: (array / len(steps)).astype(dtypes[name])
        for name, array in sums.items()
    }
    return steps, means


def _check_same(expected, arrays, path):
    for name in sorted(expected.keys() | arrays.keys()):
        shapes = [
            held[name].shape if name in held else "absent"
            for held in (expected, arrays)
        ]
        if shapes[0] != shapes[1]:
            raise ValueError(
                "Averaged checkpoints must hold the same weights. Received: "
                f"{name} with shape {shapes[1]} in {path}, but {shapes[0]} in "
                "the one before. Average checkpoints of one run only."
            )
