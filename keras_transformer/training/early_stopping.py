"""The rule that ends a training whose scores no longer improve."""

LOWER_IS_BETTER = ("loss", "ter")


def is_over(scores, patience):
    """Returns whether the last `patience` evaluations brought no improvement.

    Args:
        scores: List of the scores of all evaluations in their order; greater is
            better.
        patience: Number of evaluations.

    Returns:
        A bool. It is False if there are at most `patience` scores.

    Example:

    >>> is_over([1.0, 3.0, 2.0, 3.0], patience=2)
    True
    """
    # An equal score is no improvement, so a training that is stuck ends.
    before, last = scores[:-patience], scores[-patience:]
    return bool(before) and max(last) <= max(before)


def score_of(metric, results):
    """Returns the figure of an evaluation that decides which one is best.

    Args:
        metric: "loss", or the name of a score.
        results: Dictionary of name to figure.

    Returns:
        A float; greater is better.

    Raises:
        ValueError: If the evaluation has no such figure.
    """
    name, sign = f"dev_{metric}", -1 if metric in LOWER_IS_BETTER else 1
    if name not in results:
        raise ValueError(
            "`early_stopping_metric` must be a figure of the evaluations. "
            f"Received: early_stopping_metric={metric}, while evaluations give "
            f"{', '.join(results)}. Use loss."
        )
    return sign * float(results[name])
