"""Which checkpoints stay: a rule, and the record of evaluations it reads."""

import itertools
import json
import os
from typing import NamedTuple

from keras_transformer.files import written_aside


class Evaluation(NamedTuple):
    """What is written down of a checkpoint that was made at an evaluation."""

    step: int  # updates done
    seconds: float = 0.0  # training time until then
    score: float | None = None  # on dev, greater is better; None = not known


def kept_steps(steps, evaluations, keep_max=None, keep_every_n_hours=0.0):
    """Chooses the checkpoints that stay.

    These are the newest of all, the newest `keep_max` that were made at an
    evaluation, the one with the best score, and the first one evaluated in
    every period of `keep_every_n_hours` of training. All others go: also those
    that were written between evaluations, once there is a newer one, as they
    only serve to resume from.

    Args:
        steps: of the checkpoints that are held, in ascending order.
        evaluations: list of `Evaluation` in ascending order, those included
            whose checkpoint has gone.
        keep_max: number of newest evaluated checkpoints; None keeps all.
        keep_every_n_hours: training time between checkpoints that are kept for
            good; 0 keeps none.

    Returns:
        the steps that stay, in ascending order.

    Example:

    >>> evaluations = [Evaluation(10, score=3.0), Evaluation(20, score=2.0)]
    >>> kept_steps([10, 15, 20, 25], evaluations, keep_max=1)
    [10, 20, 25]
    """
    kept = set(steps[-1:])
    kept.update(e.step for e in evaluations[-keep_max if keep_max else 0 :])
    kept.add(best_step(steps, evaluations))
    kept.update(_one_each(evaluations, 3600 * keep_every_n_hours))
    return [step for step in steps if step in kept]


def best_step(steps, evaluations):
    """Returns the held step with the greatest score; None if none has one."""
    held = [e for e in evaluations if e.step in steps and e.score is not None]
    if not held:
        return None
    return max(held, key=lambda evaluation: evaluation.score).step


def newest_evaluated(steps, evaluations):
    """Returns the held steps of the newest evaluations, up to the first gap.

    A best or an hourly checkpoint that stayed from long before does not follow
    on those that are kept as the newest, and is not among them.
    """
    newest_first = itertools.takewhile(
        lambda evaluation: evaluation.step in steps, reversed(evaluations)
    )
    return sorted(evaluation.step for evaluation in newest_first)


def read_evaluations(path, steps):
    """Reads the record of evaluations.

    Without a record every checkpoint counts as evaluated: before there was one,
    all were. What was written down of a checkpoint that was never completed,
    and so is newer than all, is left out.

    Args:
        path: of the record.
        steps: of the checkpoints that are held, in ascending order.

    Returns:
        list of `Evaluation`.

    Raises:
        ValueError: if the file is not such a record.
    """
    if not os.path.exists(path):
        return [Evaluation(step) for step in steps]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        found = [Evaluation(**values) for values in json.loads(text)]
    except (TypeError, ValueError) as error:
        raise ValueError(
            "The record of evaluations must be as training wrote it. Received: "
            f"{path} ({error}). Delete it: each checkpoint then counts as made "
            "at an evaluation, and none as the best."
        ) from error
    return [e for e in found if steps and e.step <= steps[-1]]


def write_evaluations(path, evaluations):
    """Writes a list of `Evaluation` for `read_evaluations`, or not at all."""
    lines = ",\n".join(json.dumps(e._asdict()) for e in evaluations)
    with written_aside(path) as file:
        file.write(f"[\n{lines}\n]\n")


def _one_each(evaluations, period):
    """Yields the first step evaluated in each period after the first one."""
    before = 0
    for evaluation in evaluations if period else ():
        number = evaluation.seconds // period
        if number > before:
            yield evaluation.step
        before = number
