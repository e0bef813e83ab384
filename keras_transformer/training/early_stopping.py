"""The rule that ends a training whose scores no longer improve."""


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
    """Returns the figure of an evaluation that decides about stopping.

    Args:
        metric: "loss", or the name of one of the problem's scores.
        results: Dictionary of name to figure.

    Returns:
        A float; greater is better.

    Raises:
        ValueError: If the evaluation has no such figure.
    """
    name, sign = f"dev_{metric}", -1 if metric == "loss" else 1
    if name not in results:
        raise ValueError(
            "`early_stopping_metric` must be a figure of the evaluations. "
            f"Received: early_stopping_metric={metric}, while evaluations give "
            f"{', '.join(results)}. Use loss."
        )
    return sign * float(results[name])
