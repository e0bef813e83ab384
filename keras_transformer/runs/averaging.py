"""The average of a run's last checkpoints, which is a run itself."""

import functools
import math
import os
import re

from keras_transformer.data.vocabulary.subwords import SOURCE_VOCABULARY_FILE
from keras_transformer.data.vocabulary.subwords import VOCABULARY_FILE
from keras_transformer.errors import UserError
from keras_transformer.files import directories
from keras_transformer.files.array_files import check_shapes
from keras_transformer.files.writing import check_space
from keras_transformer.runs import weights
from keras_transformer.runs.checkpoints import CONVERTED_NAME
from keras_transformer.runs.checkpoints import FILE_NAME
from keras_transformer.runs.checkpoints import find_newest_without_gap
from keras_transformer.runs.metrics_table import COSTS
from keras_transformer.runs.run_directory import HPARAMS_FILE
from keras_transformer.runs.run_directory import RUN_FILE
from keras_transformer.runs.run_directory import RunDirectory

# The files of an average. Everything else in its directory, such as the user's
# README or an export, stays when the average is replaced.
OWN = {RUN_FILE, HPARAMS_FILE, VOCABULARY_FILE, SOURCE_VOCABULARY_FILE}
OWN |= {"checkpoints", "decodes", "quality.json", "scores", "stress"}
OWN.add("taggers")  # of earlier versions
# What the commands write into directories of `OWN`, which disappear.
_WRITTEN = re.compile(
    rf"checkpoints/(?:{FILE_NAME.pattern}|{CONVERTED_NAME.pattern}"
    r"|(?:evaluations|timed)\.json)|(?:scores|stress)/.+\.json"
)
_CALLED = {"evaluated": "checkpoints", "timed": "timed checkpoints"}
_MAKES_MORE = {
    "evaluated": "a smaller --eval_frequency makes more checkpoints",
    "timed": "--timed_checkpoint_minutes makes timed checkpoints",
}


def average_run(
    run, num_last, path, evaluate=None, kind="evaluated", start_share=0.0
):
    """Writes the average of a run's last checkpoints as another run.

    An earlier average stays in its place until the new one is complete.
    `evaluate` takes the averaged steps and weights and returns metrics on dev
    by name, which the average records. `start_share` is the share of the
    weights that the run started from; the average has the rest (Wortsman et
    al., 2022). Other arguments are as in `average`.
    """
    _check_place(path, run)
    start, step = _find_start(run, start_share) if start_share else (None, None)
    check = functools.partial(_check_replaceable, path)
    with directories.replace_content(path, RUN_FILE, check, OWN) as aside:
        headers = weights.select_decoding_weights(run.checkpoints.headers())
        num_bytes = sum(header.total_bytes for header in headers.values())
        check_space(aside, num_bytes)
        steps, arrays = average(run.checkpoints, num_last, kind)
        if start:
            origin = weights.read_weights(start.checkpoints, step)
            for name, array in origin.items():
                arrays[name] += start_share * (array - arrays[name])
        metrics = evaluate(steps, arrays) if evaluate else {}
        averaged = RunDirectory.create(
            aside,
            _make_record(run, steps, metrics, start_share),
            run.hparams.without_lora(),
            *run.vocabularies.model_bytes,
        )
        averaged.checkpoints.save(steps[-1], arrays)
    return RunDirectory(path)


def _find_start(run, start_share):
    """Finds the run and the step whose weights a run started from.

    The weights must have the same shapes.
    """
    path = run.record.get("warm_start_from")
    fault = f"{run.path} did not start from another run"
    if path:
        fault = f"{run.path} started from {path}, which is no run any more"
        if RunDirectory.exists(path):
            start = RunDirectory(path)
            # Earlier versions recorded no step.
            step = run.record.get("warm_start_step", start.checkpoints.find())
            if step not in start.checkpoints.steps:
                fault = f"{path} no longer has its checkpoint of step {step}"
            elif start.vocabularies.hashes != run.vocabularies.hashes:
                fault = f"{run.path} and {path} have different vocabularies"
            else:
                check_shapes(
                    _read_shapes(run.checkpoints, run.checkpoints.find()),
                    _read_shapes(start.checkpoints, step),
                    start.path,
                    "Leave --start_share out.",
                )
                return start, step
    raise UserError(
        "`start_share` must be 0 unless the run that another one started from "
        f"is there and has its vocabulary. Received: start_share={start_share}"
        f", and {fault}. Leave --start_share out."
    )


def average(checkpoints, num_last, kind="evaluated"):
    """Averages the weights of the model over the last checkpoints.

    Section 6.1 of Vaswani et al. (2017) averages the last 5 checkpoints of the
    base model and the last 20 of the big model, written every 10 minutes. The
    mean is computed in float64. An average cannot be trained further, since it
    holds no optimizer state and no position in the data.

    The checkpoints of the kind "timed" are those made at intervals of training
    time. "evaluated" are those made at evaluations, and the newest one even if
    it was made between two. Returns the averaged steps, and arrays by name.
    """
    while True:
        steps = _find_last_steps(checkpoints, num_last, kind)
        try:
            return steps, _compute_mean(checkpoints, steps)
        except UserError:
            # A run in progress may have deleted one, which changes the list.
            if _find_last_steps(checkpoints, num_last, kind) == steps:
                raise


def _find_last_steps(checkpoints, num_last, kind):
    newest = checkpoints.find()
    if kind == "timed":
        recorded = checkpoints.timed_steps
    else:
        recorded = [e.step for e in checkpoints.evaluations]
    existing = find_newest_without_gap(checkpoints.steps, recorded)
    steps = existing if kind == "timed" else sorted({*existing, newest})
    if not 1 <= num_last <= len(steps):
        keep_more = ""
        if len(existing) < len(recorded):
            keep_more = ", and a greater --keep_checkpoint_max keeps more"
        raise UserError(
            "`num_last_checkpoints` must be from 1 to the number of newest "
            f"checkpoints. Received: num_last_checkpoints={num_last}, and "
            f"{len(steps)} {_CALLED[kind]} in {checkpoints.directory}. Lower "
            f"the number, or train longer: {_MAKES_MORE[kind]}{keep_more}."
        )
    return steps[-num_last:]


def _compute_mean(checkpoints, steps):
    # Compared by their headers, before anything is read into memory.
    expected = _read_shapes(checkpoints, steps[-1])
    for step in steps:
        check_shapes(
            expected,
            _read_shapes(checkpoints, step),
            checkpoints.path(step),
            "Average the checkpoints of a single run.",
        )
    # The newest comes first, since a run in progress deletes it soonest.
    newest, *others = reversed(steps)
    sums = weights.read_weights(checkpoints, newest)
    dtypes = {name: array.dtype for name, array in sums.items()}
    # A sum in float32 would lose digits.
    sums = {name: array.astype("float64") for name, array in sums.items()}
    # Only one checkpoint at a time is in memory beside the sums.
    for step in others:
        arrays = weights.read_weights(checkpoints, step)
        for name, array in arrays.items():
            sums[name] += array
    return {
        name: (array / len(steps)).astype(dtypes[name])
        for name, array in sums.items()
    }


def describe_steps(steps):
    """Describes which updates were averaged and how far apart they are.

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


def _make_record(run, steps, metrics, start_share):
    training = run.read_training(steps[-1])
    # Evaluations during training describe one checkpoint, not the average.
    names = ("seconds", "epochs", *COSTS)
    training = {name: training[name] for name in names if name in training}
    if metrics:
        # Infinity is not valid JSON.
        finite = {n: v for n, v in metrics.items() if math.isfinite(v)}
        training.update(dev_step=steps[-1], dev=finite)
    record = {**run.record, "averaged_steps": steps, "training": training}
    return {**record, "start_share": start_share} if start_share else record


def _read_shapes(checkpoints, step):
    headers = weights.select_decoding_weights(checkpoints.headers(step))
    return {name: header.shape for name, header in headers.items()}


def _check_place(path, run):
    place, output_dir = map(os.path.realpath, (path, run.path))
    checkpoints = os.path.realpath(run.checkpoints.directory)
    if _contains(place, output_dir) or _contains(checkpoints, place):
        raise UserError(
            "`averaged_dir` must be a separate directory, neither around "
            "`output_dir` nor among its checkpoints. Received: averaged_dir="
            f"{path!r}, output_dir={run.path!r}. Name another directory, or "
            "leave --averaged_dir out."
        )
    directories.check_directory(path, "`averaged_dir`")


def _contains(outer, inner):
    return os.path.commonpath([outer, inner]) == outer


def _check_replaceable(path):
    directories.check_replaceable(
        path,
        "averaged_dir",
        "new, empty or hold an earlier average, which is replaced",
        # An average can be computed again.
        lambda names: RUN_FILE in names and RunDirectory(path).averaged_steps,
    )
    for folder in ("checkpoints", "decodes", "scores", "stress"):
        place = os.path.join(path, folder)
        for name in os.listdir(place) if os.path.isdir(place) else ():
            if not _is_written(path, folder, name):
                raise UserError(
                    "The directories of an average that is replaced must hold "
                    f"nothing else. Received: {os.path.join(place, name)}. "
                    "Move it elsewhere, or name another `averaged_dir`."
                )


def _is_written(path, folder, name):
    """Returns whether a command, and not the user, has written a file."""
    stem, ending = os.path.splitext(name)
    if folder == "decodes":  # `kt-evaluate` writes the scores, too
        scores = os.path.join(path, "scores", f"{stem}.json")
        return ending in (".txt", ".gold", ".test") and os.path.exists(scores)
    return bool(_WRITTEN.fullmatch(f"{folder}/{name}"))
