"""Checks the scores that a problem computes by a method of its own."""

import math
import numbers

from keras_transformer import fields

# The figures of the model, and the other entries of a file of scores.
TAKEN_NAMES = ("loss", "perplexity", "accuracy")
TAKEN_NAMES += ("step", "num_pairs", "decode", "lines")


def checked_scores(scores, problem_name):
    """Returns the scores of a problem as floats.

    Args:
        scores: What `score` of a problem returned, or the `scores` of its
            `report`: a dictionary of name to finite number, which may be one of
            NumPy.
        problem_name: Str, named in errors.

    Returns:
        A dictionary of name to float.

    Raises:
        ValueError: If a score is not such a number, or its name is taken.
    """
    if not isinstance(scores, dict):
        raise ValueError(
            "The scores of a problem must be a dictionary of names to numbers. "
            f"Received: problem={problem_name} with {fields.quote(scores)}. "
            'Return for example {"bleu": 28.4}.'
        )
    for name, value in scores.items():
        if name in TAKEN_NAMES:
            raise ValueError(
                "A score must not have a name that is taken: "
                f"{', '.join(TAKEN_NAMES)}. Received: "
                f"problem={problem_name} with the score {name!r}. "
                "Give the score another name."
            )
        if not _is_finite_number(value):
            raise ValueError(
                "A score must be a finite number. Received: "
                f"problem={problem_name}, {name}={fields.quote(value)}. "
                "Return a float, such as 28.4."
            )
    return {name: float(value) for name, value in scores.items()}


def _is_finite_number(value):
    # A bool of Python counts as a number.
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_real and math.isfinite(value)
