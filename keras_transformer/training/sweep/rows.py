"""The rows of a sweep: variants of a model, with a scale and a seed."""

import dataclasses
import json

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.hparam import HParams
from keras_transformer.hparams import table3

LOG_FILE = "log.txt"  # what the commands of a row print, in its directory
SPLITS = ("dev", "test")  # those that kt-evaluate takes
MAX_ROWS = 10_000
MAX_NAME = 255  # of the directory of a row, in characters
SCALES = ("none", "tiny")
_DIVISORS = dict.fromkeys(("d_model", "d_ff", "d_k", "d_v", "warmup_steps"), 4)
_DIVISORS["effective_batch_tokens"] = 40
# F1 of the paper's Table 4 on section 23 of the Wall Street Journal: of the
# Transformer with 4 layers, by the name of the row that repeats it, and of
# other parsers.
TABLE_4 = {"treebank_only": 91.3, "semi_supervised": 92.7}
TABLE_4_OTHERS = {
    "Vinyals & Kaiser et al. (2014), WSJ only": 88.3,
    "Petrov et al. (2006), WSJ only": 90.4,
    "Zhu et al. (2013), WSJ only": 90.4,
    "Dyer et al. (2016), WSJ only": 91.7,
    "Zhu et al. (2013), semi-supervised": 91.3,
    "Huang & Harper (2009), semi-supervised": 91.3,
    "McClosky et al. (2006), semi-supervised": 92.1,
    "Vinyals & Kaiser et al. (2014), semi-supervised": 92.1,
    "Luong et al. (2015), multi-task": 93.0,
    "Dyer et al. (2016), generative": 93.3,
}


@dataclasses.dataclass(frozen=True)
class Variant:
    """A model and the paper's figures for it, if there are any."""

    name: str
    problem: object  # a `Problem`
    hparams_set: str
    changes: dict = dataclasses.field(default_factory=dict)  # of the set
    paper: dict = dataclasses.field(default_factory=dict)  # figures by name


@dataclasses.dataclass(frozen=True)
class Row:
    """A variant with a seed: a run, and a line of the table."""

    variant: Variant
    hparams: HParams
    seed: int
    directory: str  # name of the run's directory

    @property
    def overrides(self):
        """The differences from the hparams set, as --hparams takes them."""
        of_set = registry.get_hparams(self.variant.hparams_set)
        return ",".join(
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in dataclasses.asdict(self.hparams).items()
            if value != getattr(of_set, name)
        )


def make_rows(variants, scale, overrides, train_steps, seeds_of):
    """Returns the `Row`s that train some `Variant`s.

    The `overrides` come after the scale and before the changes of a variant.
    `train_steps` may be None for the number of each variant. `seeds_of` returns
    the seeds of the variant of a name.
    """
    num_rows = sum(len(seeds_of(variant.name)) for variant in variants)
    if num_rows > MAX_ROWS:
        raise UserError(
            f"A sweep must have at most {MAX_ROWS:,} rows. Received: "
            f"{num_rows:,}, of {len(variants):,} models. Train fewer models, "
            "or lower --seeds."
        )
    rows = []
    for variant in variants:
        hparams = scale_down(registry.get_hparams(variant.hparams_set), scale)
        hparams = hparam.parse_overrides(hparams, overrides)
        hparams = dataclasses.replace(hparams, **variant.changes)
        if train_steps:
            hparams = dataclasses.replace(hparams, train_steps=train_steps)
        for number, seed in enumerate(seeds_of(variant.name)):
            ending = f"_seed{seed}" if number else ""
            rows.append(Row(variant, hparams, seed, variant.name + ending))
    _check_different(rows)
    longest = max((row.directory for row in rows), key=len)
    if len(longest) > MAX_NAME:
        raise UserError(
            f"The name of a row must have at most {MAX_NAME} characters. "
            f"Received: {len(longest)}, in {longest[:60]}... Set what is the "
            "same in all rows with --hparams."
        )
    return rows


def scale_down(hparams, scale):
    """Returns smaller hyper-parameters that keep all ratios of widths.

    The scale "tiny" divides `d_model`, `d_ff`, `d_k`, `d_v` and `warmup_steps`
    by 4, `effective_batch_tokens` by 40 and `learning_rate` by 2. Base becomes
    a model of d_model 128 and d_ff 512 with 8 heads of 16, a warm-up of 1,000
    and updates of 625 tokens. Its learning rate peaks at twice the paper's, as
    the schedule requires for a quarter of the width. Without the division by 2,
    the shorter warm-up would double it again. The numbers of layers and heads
    stay, so the row of Table 3 with 32 heads has heads of 4.
    """
    if scale == "none":
        return hparams
    changes = {"learning_rate": hparams.learning_rate / 2}
    for name, divisor in _DIVISORS.items():
        value = getattr(hparams, name)
        if value % divisor:
            raise UserError(
                f"`{name}` must be divisible by {divisor} to be scaled. "
                f"Received: {name}={value} with --scale={scale}. Choose "
                "another hparams set, or --scale=none."
            )
        changes[name] = value // divisor
    return dataclasses.replace(hparams, **changes)


def _check_different(rows):
    names = {}
    for row in rows:
        problem = row.variant.problem
        key = problem.name, problem.data_dir, row.hparams, row.seed
        if key in names:
            raise UserError(
                f"The rows {names[key]} and {row.directory} of the sweep have "
                "the same data, hyper-parameters and seed. Name each row once, "
                "and leave what the rows vary out of --hparams."
            )
        names[key] = row.directory


def make_table3(problem):
    """Returns the rows of the paper's Table 3."""
    return [
        Variant(
            name,
            problem,
            table3.hparams_set(name),
            paper={
                "parameters": 1_000_000 * row.millions,
                "perplexity": row.perplexity,
                "bleu": row.bleu,
            },
        )
        for name, row in table3.ROWS.items()
    ]


def make_table4(problem, semi_problem, hparams_set):
    """Returns the Transformer's rows of the paper's Table 4.

    `semi_problem` has parsed sentences too; None leaves its row out.
    """
    problems = {"treebank_only": problem, "semi_supervised": semi_problem}
    return [
        Variant(name, each, hparams_set, paper={"f1": TABLE_4[name]})
        for name, each in problems.items()
        if each
    ]


def quote_table4(names):
    """Returns the paper's figures to show beside rows, with their names.

    They include the paper's Transformer if its row is missing.
    """
    missing = {
        f"Transformer (4 layers), {name.replace('_', '-')}": f1
        for name, f1 in TABLE_4.items()
        if name not in names
    }
    figures = {**TABLE_4_OTHERS, **missing}
    return [(name, {"f1": f1}) for name, f1 in figures.items()]


def make_points(problem, hparams_set, points):
    """Returns a variant for each combination of hyper-parameters."""
    return [
        Variant(
            "_".join(f"{name}={value}" for name, value in point.items()),
            problem,
            hparams_set,
            point,
        )
        for point in points
    ]
