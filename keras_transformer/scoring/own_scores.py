"""Checks the scores that a problem computes by a method of its own."""

import math
import numbers

from keras_transformer import fields

# The figures of the model itself, which stand beside the scores.
MODEL_FIGURES = ("loss", "perplexity", "accuracy")


def checked_scores(scores, problem_name):
    """Returns the scores of a problem as floats.

    Args:
        scores: What the method `score` of a problem returned, a dictionary of
            name to finite number, which may be one of NumPy.
        problem_name: Str, named in errors.

    Returns:
        A dictionary of name to float.

    Raises:
        ValueError: If a score is not such a number, or has the name of a figure
            of the model.
    """
    if not isinstance(scores, dict):
        raise ValueError(
            "`score` must return a dictionary of names to numbers. Received: "
            f"problem={problem_name}, which returns {fields.shown(scores)}. "
            'Return for example {"bleu": 28.4}.'
        )
    for name, value in scores.items():
        if name in MODEL_FIGURES:
            raise ValueError(
                "A score must not have the name of a figure of the model: "
                f"{', '.join(MODEL_FIGURES)}. Received: "
                f"problem={problem_name}, whose `score` returns {name!r}. "
                "Give the score another name."
            )
        if not _is_finite_number(value):
            raise ValueError(
                "A score must be a finite number. Received: "
                f"problem={problem_name}, {name}={fields.shown(value)}. "
                "Return a float from `score`, such as 28.4."
            )
    return {name: float(value) for name, value in scores.items()}


def _is_finite_number(value):
    # A bool of Python counts as a number.
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_real and math.isfinite(value)
