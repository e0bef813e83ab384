"""When to stop a training that no longer gets better."""


def is_over(scores, patience):
    """Tells whether the last `patience` evaluations brought nothing better.

    Args:
        scores: list of scores, greater is better, in the order of evaluation.
        patience: number of evaluations.

    Returns:
        a bool; False as long as there are not more than `patience` scores.

    Example:

    >>> is_over([1.0, 3.0, 2.0, 3.0], patience=2)
    True
    """
    before, last = scores[:-patience], scores[-patience:]
    return bool(before) and max(last) <= max(before)


def score_of(metric, results):
    """Returns the figure of an evaluation that training is to better.

    Args:
        metric: "loss", or the name of one of the problem's scores.
        results: dictionary of name to figure.

    Returns:
        float, greater is better.

    Raises:
        ValueError: if the problem has no such figure.
    """
    name, sign = f"dev_{metric}", -1 if metric == "loss" else 1
    if name not in results:
        raise ValueError(
            "`early_stopping_metric` must be a figure that the problem has. "
            f"Received: early_stopping_metric={metric}, while evaluations give "
            f"{', '.join(results)}. Use loss."
        )
    return sign * float(results[name])
