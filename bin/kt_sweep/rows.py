"""The rows of a sweep: variants of a model, with a scale and a seed."""

import dataclasses
import itertools
import math
import os
import random
import re

from keras_transformer import errors
from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.hparams import table3

SPLITS = ("dev", "test")  # those that kt-evaluate takes
MAX_POINTS = 10_000  # of a grid; --random has the same limit
MAX_NAME = 255  # of the directory of a row, in bytes
_DIVISORS = dict.fromkeys(("d_model", "d_ff", "d_k", "d_v", "warmup_steps"), 4)
_DIVISORS |= {"effective_batch_tokens": 40, "learning_rate": 2}
# F1 of the paper's Table 4 on section 23 of the Wall Street Journal.
TABLE_4 = {
    "Vinyals & Kaiser et al. (2014), WSJ only": 88.3,
    "Petrov et al. (2006), WSJ only": 90.4,
    "Zhu et al. (2013), WSJ only": 90.4,
    "Dyer et al. (2016), WSJ only": 91.7,
    "Transformer (4 layers), WSJ only": 91.3,
    "Zhu et al. (2013), semi-supervised": 91.3,
    "Huang & Harper (2009), semi-supervised": 91.3,
    "McClosky et al. (2006), semi-supervised": 92.1,
    "Vinyals & Kaiser et al. (2014), semi-supervised": 92.1,
    "Transformer (4 layers), semi-supervised": 92.7,
    "Luong et al. (2015), multi-task": 93.0,
    "Dyer et al. (2016), generative": 93.3,
}


@dataclasses.dataclass(frozen=True)
class Row:
    """A model with a seed: a run, and a line of the table."""

    name: str
    problem: object  # a `Problem`
    hparams_set: str
    changes: dict = dataclasses.field(default_factory=dict)  # of the set
    paper: dict = dataclasses.field(default_factory=dict)  # results by column
    # `make_rows` sets the rest, and adds the changes of all rows.
    hparams: object = None  # the `HParams`
    seed: int = 0
    path: str = ""  # of the run


def make_rows(models, output_dir, scale, overrides, train_steps, seeds):
    """Returns a `Row` for each seed of the models, which are `Row`s without.

    The runs are in `output_dir`. The `overrides` come after the scale and
    before the changes of a model. `train_steps` may be None for each model's.
    """
    rows, paths = {}, set()
    for model in models:
        of_set = registry.get_hparams(model.hparams_set)
        changes = scale_down(of_set) if scale == "tiny" else {}
        changes |= errors.parse_changes(type(of_set), overrides, "hparams")
        changes |= model.changes
        if train_steps:
            changes["train_steps"] = train_steps
        hparams = dataclasses.replace(of_set, **changes)
        hparam.find_train_steps(hparams, train_steps)
        model = dataclasses.replace(model, changes=changes, hparams=hparams)
        for seed in seeds:
            name = model.name + (f"_seed{seed}" if seed != seeds[0] else "")
            # The value of a user's hyper-parameter may be a path.
            name = name.replace(os.sep, "_")
            num_bytes = len(os.fsencode(name))
            if num_bytes > MAX_NAME:
                raise UserError(
                    f"The name of a row must have at most {MAX_NAME} bytes. "
                    f"Received: {num_bytes} bytes, in {name[:60]}... Set what "
                    "is the same in all rows with --hparams."
                )
            path = os.path.join(output_dir, name)
            row = dataclasses.replace(model, seed=seed, path=path)
            key = model.problem.name, model.problem.data_dir, hparams, seed
            if rows.setdefault(key, row) is not row:
                other = os.path.basename(rows[key].path)
                raise UserError(
                    f"The rows {other} and {name} of the sweep have the same "
                    "data, hyper-parameters and seed. Name each row once, and "
                    "leave what the rows vary out of --hparams."
                )
            if path in paths:
                raise UserError(
                    "Each row of a sweep must have a directory of its own. "
                    f"Received: two rows with the directory {name}. Rename an "
                    "hparams set, or train them in two sweeps."
                )
            paths.add(path)
    return list(rows.values())


def scale_down(hparams):
    """Returns the changes to a smaller model that keeps all ratios of widths.

    The learning rate peaks at twice the paper's, as the schedule requires for a
    quarter of the width. Without its division by 2, the shorter warm-up would
    double it again.
    """
    changes = {}
    for name, divisor in _DIVISORS.items():
        value = getattr(hparams, name)
        if isinstance(value, int) and value % divisor:
            raise UserError(
                f"`{name}` must be divisible by {divisor} to be scaled. "
                f"Received: {name}={value} with --scale=tiny. Choose another "
                "hparams set, or --scale=none."
            )
        changes[name] = type(value)(value / divisor)
    return changes


def make_table3(problem):
    """Yields the models of the paper's Table 3."""
    for name, row in table3.ROWS.items():
        paper = {"10⁶ parameters": row.millions, "perplexity": row.perplexity}
        paper["BLEU"] = row.bleu
        yield Row(name, problem, table3.hparams_set(name), paper=paper)


def make_table4(problem, semi_data_dir, hparams_set):
    """Yields the Transformers of the paper's Table 4.

    `semi_data_dir` has parsed sentences too; None leaves its row out.
    """
    if problem.measure != "f1":
        raise UserError(
            "`--table=4` needs a parsing problem. Received: "
            f"--problem={problem.name}. Use parsing_wsj or parsing_files."
        )
    yield Row("treebank_only", problem, hparams_set, paper={"F1": 91.3})
    if semi_data_dir:
        # The problem's name ends with `_semi`, or it is the same problem with
        # other data, which kt-datagen made from parsed text as well.
        name = f"{problem.name}_semi"
        if name not in registry.problems.names():
            name = problem.name
        problem = registry.get_problem(name, semi_data_dir)
        yield Row("semi_supervised", problem, hparams_set, paper={"F1": 92.7})


def join_changes(changes, separator):
    """Returns changes of an hparams set as text, such as `d_ff=16,d_k=4`."""
    return separator.join(f"{name}={changes[name]}" for name in changes)


def list_grid(text):
    """Returns all combinations of the values that `--grid` lists."""
    space = _parse(text, "grid")
    # Counted first, because nine names with nine values fill the memory.
    number = math.prod(map(len, space.values()))
    if number > MAX_POINTS:
        raise UserError(
            f"`--grid` must have at most {MAX_POINTS:,} combinations. "
            f"Received: {number:,}. List fewer values, or draw some with "
            "--random and --ranges."
        )
    return [dict(zip(space, one)) for one in itertools.product(*space.values())]


def draw_points(text, num_points, seed):
    """Draws different combinations of the values that `--ranges` lists.

    More points of the same seed begin with the same points.
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
        f"{errors.quote(text)}, in which {len(points)} were found. Lower "
        "--random, or widen a range."
    )


def _draw(generator, values):
    """Returns one of some values, or a number from a range."""
    if isinstance(values, list):
        return generator.choice(values)
    low, high, is_log = values
    if is_log:
        # The logarithm is uniform, not the number itself.
        number = math.exp(generator.uniform(math.log(low), math.log(high)))
    elif isinstance(low, int):
        return generator.randint(low, high)
    else:
        number = generator.uniform(low, high)
    # Three digits are enough, and they make short names of directories.
    number = round(number) if isinstance(low, int) else float(f"{number:.3g}")
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
                f"{errors.quote(item.strip())}. Write for example "
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
        f"{errors.shorten(text)}. Write for example dropout=0.0..0.3, or "
        "learning_rate=0.3..3.0 log."
    )


def _parse_values(name, texts, flag):
    # The parser of --hparams, so that a wrong value has the same message.
    cls = hparam.find_class({name})
    return [
        errors.parse_changes(cls, f"{name}={text}", flag)[name]
        for text in texts
    ]
