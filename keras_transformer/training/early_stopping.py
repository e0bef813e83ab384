"""The rule that ends a run whose scores no longer improve."""

from keras_transformer.errors import UserError

LOWER_IS_BETTER = ("loss", "ter")


def is_over(scores, patience):
    """Returns whether the last `patience` evaluations brought no improvement.

    The scores are those of all evaluations in their order; greater is better.

    >>> is_over([1.0, 3.0, 2.0, 3.0], patience=2)
    True
    """
    # An equal score is no improvement, so a training that is stuck ends.
    before, last = scores[:-patience], scores[-patience:]
    return bool(before) and max(last) <= max(before)


def get_score(metric, results):
    """Returns the figure of an evaluation that decides which one is best.

    The metric is "loss", or the name of a score. A greater result is better.
    """
    name, sign = f"dev_{metric}", -1 if metric in LOWER_IS_BETTER else 1
    if name not in results:
        raise UserError(
            "`early_stopping_metric` must be a figure of the evaluations. "
            f"Received: early_stopping_metric={metric}, while evaluations give "
            f"{', '.join(results)}. Use loss."
        )
    return sign * float(results[name])
