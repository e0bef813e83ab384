"""The values that a grid or a random search gives to hyper-parameters."""

import itertools
import math
import random
import re

from keras_transformer import fields
from keras_transformer import hparam
from keras_transformer.errors import UserError

MAX_POINTS = 10_000  # of a grid; --random has the same limit


def list_grid(text):
    """Returns all combinations of the values that `--grid` lists.

    >>> list_grid("dropout=0.1,0.3;num_layers=2")
    [{'dropout': 0.1, 'num_layers': 2}, {'dropout': 0.3, 'num_layers': 2}]
    """
    space = _parse(text, "grid")
    # Counted first, because nine names with nine values fill the memory.
    number = math.prod(map(len, space.values()))
    if number > MAX_POINTS:
        raise UserError(
            f"`--grid` must have at most {MAX_POINTS:,} combinations. "
            f"Received: {number:,}. List fewer values, or draw some with "
            "--random and --ranges."
        )
    points = itertools.product(*space.values())
    return [dict(zip(space, values)) for values in points]


def draw_points(text, num_points, seed):
    """Draws different combinations of the values that `--ranges` lists.

    More points of the same seed begin with the same points.

    >>> draw_points("norm=pre;num_layers=2..2", num_points=1, seed=0)
    [{'norm': 'pre', 'num_layers': 2}]
    """
    generator = random.Random(seed)
    space = _parse(text, "ranges")
    points = {}
    # So many draws find all points of a small space.
    for _ in range(100_000 + 100 * num_points):
        point = {name: _draw(generator, space[name]) for name in space}
        points.setdefault(tuple(point.values()), point)
        if len(points) == num_points:
            return list(points.values())
    raise UserError(
        "`--ranges` must have as many different combinations as --random asks "
        f"for. Received: --random={num_points} and --ranges="
        f"{fields.quote(text)}, in which {len(points)} were found. Lower "
        "--random, or widen a range."
    )


def _draw(generator, values):
    """Returns one of some values, or a number from a range."""
    if isinstance(values, list):
        return generator.choice(values)
    low, high, is_log = values
    is_integer = type(low) is int
    if is_log:
        # The logarithm is uniform, not the number itself.
        number = math.exp(generator.uniform(math.log(low), math.log(high)))
    elif is_integer:
        return generator.randint(low, high)
    else:
        number = generator.uniform(low, high)
    # Three digits are enough, and they make short names of directories.
    number = round(number) if is_integer else float(f"{number:.3g}")
    return min(max(number, low), high)


def _parse(text, flag):
    """Returns the values of each name: a list, or what `_parse_range` does."""
    space = {}
    for item in [item for item in text.split(";") if item.strip()] or [text]:
        name, _, values = (part.strip() for part in item.partition("="))
        if not values or name in space:
            raise UserError(
                f"`--{flag}` must be name=values pairs with semicolons between "
                "them, and name each hyper-parameter once. Received: "
                f"{fields.quote(item.strip())}. Write for example "
                "dropout=0.1,0.3;num_layers=2,4."
            )
        if flag == "ranges" and ".." in values:
            space[name] = _parse_range(name, values)
        else:
            space[name] = _parse_values(name, values.split(","), flag)
    return space


def _parse_range(name, text):
    """Returns the bounds of a range, and whether it is logarithmic."""
    if match := re.fullmatch(r"(.*?) *\.\. *(\S*) *(log)?", text):
        low, high = _parse_values(name, match.groups()[:2], "ranges")
        is_ordered = type(low) in (int, float) and low <= high
        if is_ordered and (low > 0 or not match[3]):
            return low, high, match[3]
    raise UserError(
        "`--ranges` must have ranges from a lower to a higher number, and with "
        f"log they must begin above 0. Received: {name}="
        f"{fields.shorten(text)}. Write for example dropout=0.0..0.3, or "
        "learning_rate=0.3..3.0 log."
    )


def _parse_values(name, texts, flag):
    # The parser of --hparams, so that a wrong value has the same message.
    cls = hparam.find_class({name})
    return [
        fields.parse_changes(cls, f"{name}={text}", flag)[name]
        for text in texts
    ]
