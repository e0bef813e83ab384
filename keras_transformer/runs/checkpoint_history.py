"""Which checkpoints were evaluated or timed, and so which of them stay."""

import itertools
import json
import os
from typing import NamedTuple

from keras_transformer.files.reading import file_error
from keras_transformer.files.records import WHOLE
from keras_transformer.files.records import read_record
from keras_transformer.files.writing import atomic_write

_EVALUATIONS = [{"step": WHOLE, "seconds?": float, "score?": (float, None)}]
_EVALUATIONS_REMEDY = (
    "Delete it. Every checkpoint then counts as made at an evaluation, and "
    "none as the best."
)
_TIMED_REMEDY = "Delete it. No checkpoint then counts as a timed one."


class Evaluation(NamedTuple):
    """The record of a checkpoint that was made at an evaluation."""

    step: int  # number of updates done
    seconds: float = 0.0  # training time until then
    score: float | None = None  # on dev; greater is better, None is unknown


def read_evaluations(path, steps):
    """Reads the list of evaluations.

    Without the file every checkpoint counts as evaluated, because version 0.1
    wrote no such file. Evaluations newer than all checkpoints are ignored: a
    killed process did not complete their checkpoints.
    """
    # `exists` would overlook a link to nothing.
    if not os.path.lexists(path):
        return [Evaluation(step) for step in steps]
    evaluations = [
        Evaluation(entry["step"], entry.get("seconds", 0.0), entry.get("score"))
        for entry in read_record(path, _EVALUATIONS, _EVALUATIONS_REMEDY)
    ]
    _check_order([e.step for e in evaluations], path, _EVALUATIONS_REMEDY)
    return [e for e in evaluations if steps and e.step <= steps[-1]]


def write_evaluations(path, evaluations):
    """Writes a list of `Evaluation` as `read_evaluations` reads it."""
    # One line for each evaluation, so that people can read and compare them.
    lines = ",\n".join(json.dumps(e._asdict()) for e in evaluations)
    with atomic_write(path) as file:
        file.write(f"[\n{lines}\n]\n")


def read_timed_steps(path, steps):
    """Reads the steps of the timed checkpoints, none if there is no file."""
    if not os.path.lexists(path):
        return []
    timed_steps = read_record(path, [WHOLE], _TIMED_REMEDY)
    _check_order(timed_steps, path, _TIMED_REMEDY)
    return [step for step in timed_steps if steps and step <= steps[-1]]


def write_timed_steps(path, timed_steps):
    """Writes a list of steps as `read_timed_steps` reads it."""
    with atomic_write(path) as file:
        file.write(f"{json.dumps(timed_steps)}\n")


def _check_order(steps, path, remedy):
    if steps != sorted(set(steps)):
        raise file_error(path, "where the steps do not ascend", remedy)


def select_kept(
    steps, evaluations, keep_max=None, keep_every_n_hours=0.0, timed_steps=()
):
    """Selects the checkpoints to keep, of those with the ascending `steps`.

    The rule keeps the newest checkpoint, the newest `keep_max` (or all) that
    were made at an evaluation, the newest `keep_max` timed ones, the one with
    the best score, and the first one evaluated in every period of
    `keep_every_n_hours` of training. Any other checkpoint only serves to resume
    from, so it goes as soon as there is a newer one. The evaluations and timed
    steps ascend and include those of deleted checkpoints.

    >>> evaluations = [Evaluation(10, score=3.0), Evaluation(20, score=2.0)]
    >>> select_kept([10, 15, 20, 25], evaluations, keep_max=1)
    [10, 20, 25]
    """
    kept = set(steps[-1:])
    # Some of these checkpoints may be gone; the last line sorts them out.
    newest = slice(-keep_max if keep_max else None, None)
    kept.update(evaluation.step for evaluation in evaluations[newest])
    kept.update(timed_steps[newest])
    kept.add(find_best_step(steps, evaluations))
    kept.update(_find_first_of_periods(evaluations, 3600 * keep_every_n_hours))
    return [step for step in steps if step in kept]


def find_best_step(steps, evaluations):
    """Returns the step among `steps` with the greatest score, or None."""
    scored = [e for e in evaluations if e.step in steps and e.score is not None]
    # Of equal scores the earliest wins, so `best` does not move without need.
    best = max(scored, key=lambda evaluation: evaluation.score, default=None)
    return best and best.step


def find_newest_without_gap(steps, recorded_steps):
    """Returns the newest of the recorded steps, back to the first gap.

    A gap is a checkpoint that was deleted. A much older one that is kept as the
    best or as an hourly one lies beyond a gap, so it is not among the last
    checkpoints of the run. Both lists and the result ascend.
    """
    newest_first = itertools.takewhile(
        lambda step: step in steps, reversed(recorded_steps)
    )
    return sorted(newest_first)


def _find_first_of_periods(evaluations, period):
    """Yields the first step evaluated in each period after the first one."""
    before = 0
    for evaluation in evaluations if period else ():
        # In period 0 the training has just started, so none is kept from it.
        number = evaluation.seconds // period
        if number > before:
            yield evaluation.step
        before = number
