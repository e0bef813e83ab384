"""The rules for which checkpoints to keep, and which are the best and last."""

import itertools


def kept_steps(
    steps, evaluations, keep_max=None, keep_every_n_hours=0.0, timed_steps=()
):
    """Chooses the checkpoints to keep.

    The rule keeps the newest checkpoint, the newest `keep_max` that were made
    at an evaluation, the newest `keep_max` timed ones, the one with the best
    score, and the first one evaluated in every period of `keep_every_n_hours`
    of training. Any other checkpoint only serves to resume from, so it goes as
    soon as there is a newer one.

    Args:
        steps: List of the steps of all checkpoints, in ascending order.
        evaluations: List of `Evaluation` in ascending order, deleted
            checkpoints included.
        keep_max: Number of the newest evaluated checkpoints to keep, and of
            the newest timed ones. Defaults to None, which keeps all.
        keep_every_n_hours: Hours of training between checkpoints that are kept
            for ever; 0 keeps none. Defaults to 0.
        timed_steps: Sequence of the steps of the timed checkpoints in ascending
            order, deleted ones included. Defaults to none.

    Returns:
        The list of steps to keep, in ascending order.

    Example:

    >>> from keras_transformer.runs.checkpoint_records import Evaluation
    >>> evaluations = [Evaluation(10, score=3.0), Evaluation(20, score=2.0)]
    >>> kept_steps([10, 15, 20, 25], evaluations, keep_max=1)
    [10, 20, 25]
    """
    kept = set(steps[-1:])
    # Some of these checkpoints may be gone; the last line sorts them out.
    newest = slice(-keep_max if keep_max else None, None)
    kept.update(evaluation.step for evaluation in evaluations[newest])
    kept.update(timed_steps[newest])
    kept.add(best_step(steps, evaluations))
    kept.update(_one_each(evaluations, 3600 * keep_every_n_hours))
    return [step for step in steps if step in kept]


def best_step(steps, evaluations):
    """Returns the step among `steps` with the greatest score, or None."""
    scored = [e for e in evaluations if e.step in steps and e.score is not None]
    if not scored:
        return None
    # Of equal scores the earliest wins, so `best` does not move without need.
    return max(scored, key=lambda evaluation: evaluation.score).step


def newest_without_gap(steps, recorded_steps):
    """Returns the newest of the recorded steps, back to the first gap.

    A gap is a checkpoint that was deleted. A much older one that is kept as the
    best or as an hourly one lies beyond a gap. It is not among the last
    checkpoints of the training.

    Args:
        steps: List of the steps of all checkpoints.
        recorded_steps: List of the steps of the evaluated or of the timed
            checkpoints in ascending order, deleted ones included.

    Returns:
        A list of steps, in ascending order.
    """
    newest_first = itertools.takewhile(
        lambda step: step in steps, reversed(recorded_steps)
    )
    return sorted(newest_first)


def _one_each(evaluations, period):
    """Yields the first step evaluated in each period after the first one."""
    before = 0
    for evaluation in evaluations if period else ():
        # In period 0 the training has just started, so none is kept from it.
        number = evaluation.seconds // period
        if number > before:
            yield evaluation.step
        before = number
