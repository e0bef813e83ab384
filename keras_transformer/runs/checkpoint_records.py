"""The records of which checkpoints were evaluated, and which were timed."""

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

    Without the file every checkpoint counts as evaluated, because early
    versions made checkpoints only at evaluations and wrote no such file.
    Evaluations newer than all checkpoints are ignored: a killed process did not
    complete their checkpoints.

    Args:
        path: Path of the file.
        steps: List of the steps of all checkpoints, in ascending order.

    Returns:
        A list of `Evaluation`.

    Raises:
        ValueError: If the file does not hold a list of evaluations.
    """
    # `exists` would overlook a link to nothing.
    if not os.path.lexists(path):
        return [Evaluation(step) for step in steps]
    evaluations = [
        Evaluation(entry["step"], entry.get("seconds", 0.0), entry.get("score"))
        for entry in read_record(path, _EVALUATIONS, remedy=_EVALUATIONS_REMEDY)
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
    """Reads the list of steps of the timed checkpoints.

    Steps newer than all checkpoints are ignored, as in `read_evaluations`.

    Args:
        path: Path of the file, which may be absent.
        steps: List of the steps of all checkpoints, in ascending order.

    Returns:
        A list of steps.

    Raises:
        ValueError: If the file does not hold a list of steps.
    """
    if not os.path.lexists(path):
        return []
    timed_steps = read_record(path, [WHOLE], remedy=_TIMED_REMEDY)
    _check_order(timed_steps, path, _TIMED_REMEDY)
    return [step for step in timed_steps if steps and step <= steps[-1]]


def write_timed_steps(path, timed_steps):
    """Writes a list of steps as `read_timed_steps` reads it."""
    with atomic_write(path) as file:
        file.write(f"{json.dumps(timed_steps)}\n")


def _check_order(steps, path, remedy):
    if steps != sorted(set(steps)):
        raise file_error(path, "where the steps do not ascend", remedy=remedy)
