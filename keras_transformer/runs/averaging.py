"""The average of a run's last checkpoints, which is a run itself."""

import math

from keras_transformer.runs import average_directory
from keras_transformer.runs import retention
from keras_transformer.runs.metrics_table import COSTS
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import decoding_weights
from keras_transformer.runs.weights import read_weights

_CALLED = {"evaluated": "checkpoints", "timed": "timed checkpoints"}
_MAKES_MORE = {
    "evaluated": "a smaller --eval_frequency makes more checkpoints",
    "timed": "--timed_checkpoint_minutes makes timed checkpoints",
}


def average_run(run, num_last, path, evaluate=None, kind="evaluated"):
    """Writes the average of a run's last checkpoints as the directory of a run.

    An earlier average stays in its place until the new one is complete.

    Args:
        run: The `RunDirectory` to average.
        num_last: Number of checkpoints to average; see `average`.
        path: Directory to write. It decodes like any other run.
        evaluate: Function of the averaged steps and the averaged weights that
            returns figures on dev, a dictionary of name to number, which the
            average records. Defaults to None, which records none.
        kind: Kind of the checkpoints; see `average`.

    Returns:
        The `RunDirectory` of the average.

    Raises:
        ValueError: If the directory holds anything but an earlier average, or
            if another process is averaging into it.
    """
    with average_directory.replaced(path, run) as aside:
        steps, arrays = average(run.checkpoints, num_last, kind)
        figures = evaluate(steps, arrays) if evaluate else {}
        averaged = RunDirectory.create(
            aside,
            _record(run, steps, figures),
            run.hparams,
            *run.vocabularies.model_bytes,
        )
        averaged.checkpoints.save(steps[-1], arrays)
    return RunDirectory(path)


def average(checkpoints, num_last, kind="evaluated"):
    """Averages the weights of the model over the last checkpoints.

    Section 6.1 of Vaswani et al. (2017) averages the last 5 checkpoints of the
    base model and the last 20 of the big model, written every 10 minutes. The
    mean is computed in float64. An average cannot be trained further, since it
    holds no optimizer state and no position in the data.

    Args:
        checkpoints: A `Checkpoints`.
        num_last: Number of the newest checkpoints to average.
        kind: Kind of the checkpoints. "timed" are those made at intervals of
            training time. "evaluated" are those made at evaluations, and the
            newest one even if it was made between two. Defaults to
            "evaluated".

    Returns:
        A list of the steps that were averaged, and a dictionary of name to
        array.

    Raises:
        ValueError: If there are fewer checkpoints, or if two of them do not
            hold the same weights.
    """
    while True:
        steps = _last_steps(checkpoints, num_last, kind)
        try:
            return steps, _mean(checkpoints, steps)
        except ValueError:
            # A training in progress may have deleted one of them meanwhile.
            # The list has changed then.
            if _last_steps(checkpoints, num_last, kind) == steps:
                raise


def _last_steps(checkpoints, num_last, kind):
    newest = checkpoints.find()
    if kind == "timed":
        recorded = checkpoints.timed_steps
    else:
        recorded = [e.step for e in checkpoints.evaluations]
    existing = retention.newest_without_gap(checkpoints.steps, recorded)
    steps = existing if kind == "timed" else sorted({*existing, newest})
    if not 1 <= num_last <= len(steps):
        keep_more = ""
        if len(existing) < len(recorded):
            keep_more = ", and a greater --keep_checkpoint_max keeps more"
        raise ValueError(
            "`num_last_checkpoints` must be from 1 to the number of newest "
            "checkpoints. Received: num_last_checkpoints="
            f"{num_last}, and {len(steps)} {_CALLED[kind]} in "
            f"{checkpoints.directory}. Lower the number, or train longer: "
            f"{_MAKES_MORE[kind]}{keep_more}."
        )
    return steps[-num_last:]


def _mean(checkpoints, steps):
    # Compared by their headers, before anything is read into memory.
    expected = decoding_weights(checkpoints.headers(steps[-1]))
    for step in steps:
        headers = decoding_weights(checkpoints.headers(step))
        _check_same(expected, headers, checkpoints.path(step))
    # The newest comes first, since a training in progress deletes it soonest.
    newest, *others = reversed(steps)
    sums = read_weights(checkpoints, newest)
    dtypes = {name: array.dtype for name, array in sums.items()}
    # A sum in float32 would lose digits.
    sums = {name: array.astype("float64") for name, array in sums.items()}
    # Only one checkpoint at a time is in memory beside the sums.
    for step in others:
        arrays = read_weights(checkpoints, step)
        for name, array in arrays.items():
            sums[name] += array
    return {
        name: (array / len(steps)).astype(dtypes[name])
        for name, array in sums.items()
    }


def describe_steps(steps):
    """Says in words which updates were averaged and how far apart they are.

    Example:

    >>> describe_steps([2000, 3000, 3870])
    'the checkpoints of updates 2000, 3000, 3870, which are 870 to 1000 apart'
    """
    if len(steps) == 1:
        return f"the checkpoint of update {steps[0]} alone"
    gaps = {late - early for early, late in zip(steps, steps[1:])}
    return (
        f"the checkpoints of updates {', '.join(map(str, steps))}, which are "
        f"{' to '.join(map(str, sorted({min(gaps), max(gaps)})))} apart"
    )


def _record(run, steps, figures):
    training = run.training_until(steps[-1])
    # The evaluations of the training describe one checkpoint, not the average.
    kept = ("seconds", "epochs", *COSTS)
    training = {name: training[name] for name in kept if name in training}
    if figures:
        # Infinity is not valid JSON.
        finite = {n: v for n, v in figures.items() if math.isfinite(v)}
        training.update(dev_step=steps[-1], dev=finite)
    return {**run.record, "averaged_steps": steps, "training": training}


def _check_same(expected, headers, path):
    for name in sorted(expected.keys() | headers.keys()):
        shapes = [
            named[name].shape if name in named else "absent"
            for named in (expected, headers)
        ]
        if shapes[0] != shapes[1]:
            raise ValueError(
                "Averaged checkpoints must hold the same weights. Received: "
                f"{name} with shape {shapes[1]} in {path}, but {shapes[0]} in "
                "the newest. Average the checkpoints of a single run."
            )
