"""The values that a grid or a random search gives to hyper-parameters."""

import functools
import itertools
import math
import random

from keras_transformer import fields
from keras_transformer import hparam
from keras_transformer.errors import UserError

MAX_POINTS = 10_000  # of a grid; --random has the same limit
# Draws before a space counts as too small: in total, and for each point.
_MAX_DRAWS, _MAX_DRAWS_OF_POINT = 100_000, 100


def list_grid(text):
    """Returns all combinations of the values that `--grid` lists.

    >>> list_grid("dropout=0.1,0.3;num_layers=2")
    [{'dropout': 0.1, 'num_layers': 2}, {'dropout': 0.3, 'num_layers': 2}]
    """
    choices = {
        name: _parse_choices(name, values, "grid")
        for name, values in _split(text, "grid").items()
    }
    # Counted first, because nine names with nine values fill the memory.
    sizes = [len(values) for values in choices.values()]
    if math.prod(sizes) > MAX_POINTS:
        raise UserError(
            f"`--grid` must have at most {MAX_POINTS:,} combinations. "
            f"Received: {' × '.join(map(str, sizes))} = {math.prod(sizes):,}. "
            "List fewer values, or draw some with --random and --ranges."
        )
    return [
        dict(zip(choices, values))
        for values in itertools.product(*choices.values())
    ]


def draw_points(text, num_points, seed):
    """Draws different combinations of the values that `--ranges` lists.

    More points of the same seed begin with the same points.

    >>> draw_points("norm=pre;num_layers=2..2", num_points=1, seed=0)
    [{'norm': 'pre', 'num_layers': 2}]
    """
    generator = random.Random(seed)
    draws = {
        name: functools.partial(_draw, generator, *_parse_range(name, values))
        if ".." in values
        else functools.partial(
            generator.choice, _parse_choices(name, values, "ranges")
        )
        for name, values in _split(text, "ranges").items()
    }
    points = {}
    for _ in range(_MAX_DRAWS + _MAX_DRAWS_OF_POINT * num_points):
        point = {name: draw() for name, draw in draws.items()}
        points.setdefault(tuple(point.values()), point)
        if len(points) == num_points:
            return list(points.values())
    raise UserError(
        "`--ranges` must have as many different combinations as --random asks "
        f"for. Received: --random={num_points} and --ranges="
        f"{fields.quote(text)}, in which {len(points)} were found. Lower "
        "--random, or widen a range."
    )


def _draw(generator, low, high, is_log):
    """Returns a number of the type of the bounds, with three digits."""
    if is_log:
        # The logarithm is uniform, not the number itself.
        number = math.exp(generator.uniform(math.log(low), math.log(high)))
    elif type(low) is int:
        return generator.randint(low, high)
    else:
        number = generator.uniform(low, high)
    # Three digits are enough, and they make short names of directories.
    number = round(number) if type(low) is int else float(f"{number:.3g}")
    return min(max(number, low), high)


def _split(text, flag):
    """Returns the text of the values of each name."""
    values_of_names = {}
    items = [item.strip() for item in text.split(";")]
    for item in list(filter(None, items)) or [text]:
        name, _, values = (part.strip() for part in item.partition("="))
        if not values:
            raise UserError(
                f"`--{flag}` must be name=values pairs with semicolons between "
                f"them. Received: {fields.quote(item)}. Write for example "
                "dropout=0.1,0.3;num_layers=2,4."
            )
        if name in values_of_names:
            raise UserError(
                f"`--{flag}` must name each hyper-parameter once. Received: "
                f"{fields.quote(name)} twice. Join the values with commas."
            )
        values_of_names[name] = values
    return values_of_names


def _parse_choices(name, values, flag):
    choices = [_parse_value(name, value, flag) for value in values.split(",")]
    if len(set(choices)) < len(choices):
        raise UserError(
            f"`--{flag}` must name each value once. Received: "
            f"{name}={fields.shorten(values)}. Remove the second one."
        )
    return choices


def _parse_range(name, values):
    """Returns the bounds of a range, and whether it is logarithmic."""
    low, _, rest = values.partition("..")
    high, _, scale = (part.strip() for part in rest.strip().partition(" "))
    low, high = (
        _parse_value(name, bound, "ranges") for bound in (low.strip(), high)
    )
    is_number = type(low) in (int, float)
    if (
        not is_number
        or not low <= high
        or scale not in ("", "log")
        or (scale and low <= 0)
    ):
        raise UserError(
            "`--ranges` must have ranges from a lower to a higher number, and "
            "with log they must begin above 0. Received: "
            f"{name}={fields.shorten(values)}. Write for example "
            "dropout=0.0..0.3, or learning_rate=0.3..3.0 log."
        )
    return low, high, bool(scale)


def _parse_value(name, text, flag):
    # The parser of --hparams, so that a wrong value has the same message.
    cls = hparam.find_class({name})
    return fields.parse_changes(cls, f"{name}={text}", flag)[name]
