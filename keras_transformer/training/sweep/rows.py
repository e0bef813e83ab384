"""The rows of a sweep: variants of a model, with a scale and a seed."""

import dataclasses
import json

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.hparams import table3

LOG_FILE = "log.txt"  # what the commands of a row print, in its directory
SPLITS = ("dev", "test")  # those that kt-evaluate takes
SCALES = ("none", "tiny")
_DIVISORS = dict.fromkeys(("d_model", "d_ff", "d_k", "d_v", "warmup_steps"), 4)
_DIVISORS |= {"effective_batch_tokens": 40, "learning_rate": 2}
PAPER = "paper_"  # The columns of the paper's figures begin with this.
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
    paper: dict = dataclasses.field(default_factory=dict)  # figures by column
    # `make_rows` sets the rest.
    hparams: object = None  # the `HParams`
    seed: int = 0
    directory: str = ""  # name of the run's directory

    @property
    def overrides(self):
        """The differences from the hparams set, as --hparams takes them."""
        of_set = registry.get_hparams(self.hparams_set)
        return ",".join(
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in dataclasses.asdict(self.hparams).items()
            if value != getattr(of_set, name)
        )


def make_rows(models, scale, overrides, train_steps, seeds):
    """Returns a `Row` for each seed of the models, which are `Row`s without.

    The `overrides` come after the scale and before the changes of a model.
    `train_steps` may be None for the number of each model.
    """
    steps = {"train_steps": train_steps} if train_steps else {}
    rows = {}
    for model in models:
        hparams = scale_down(registry.get_hparams(model.hparams_set), scale)
        hparams = hparam.parse_overrides(hparams, overrides)
        hparams = dataclasses.replace(hparams, **{**model.changes, **steps})
        hparam.find_train_steps(hparams, train_steps)
        for seed in seeds:
            name = model.name + (f"_seed{seed}" if seed != seeds[0] else "")
            row = dataclasses.replace(
                model, hparams=hparams, seed=seed, directory=name
            )
            key = model.problem.name, model.problem.data_dir, hparams, seed
            if rows.setdefault(key, row) is not row:
                raise UserError(
                    f"The rows {rows[key].directory} and {name} of the sweep "
                    "have the same data, hyper-parameters and seed. Name each "
                    "row once, and leave what the rows vary out of --hparams."
                )
    return list(rows.values())


def scale_down(hparams, scale):
    """Returns smaller hyper-parameters that keep all ratios of widths.

    The learning rate peaks at twice the paper's, as the schedule requires for a
    quarter of the width. Without its division by 2, the shorter warm-up would
    double it again.
    """
    if scale == "none":
        return hparams
    changes = {}
    for name, divisor in _DIVISORS.items():
        value = getattr(hparams, name)
        if isinstance(value, int) and value % divisor:
            raise UserError(
                f"`{name}` must be divisible by {divisor} to be scaled. "
                f"Received: {name}={value} with --scale={scale}. Choose "
                "another hparams set, or --scale=none."
            )
        changes[name] = type(value)(value / divisor)
    return dataclasses.replace(hparams, **changes)


def make_table3(problem):
    """Returns the models of the paper's Table 3."""
    return [
        Row(
            name,
            problem,
            table3.hparams_set(name),
            paper={
                f"{PAPER}parameters": 1_000_000 * row.millions,
                f"{PAPER}perplexity": row.perplexity,
                f"{PAPER}bleu": row.bleu,
            },
        )
        for name, row in table3.ROWS.items()
    ]


def make_table4(problem, semi_data_dir, hparams_set):
    """Returns the Transformers of the paper's Table 4.

    `semi_data_dir` has parsed sentences too; None leaves its row out.
    """
    if problem.measure != "f1":
        raise UserError(
            "`--table=4` needs a parsing problem. Received: "
            f"--problem={problem.name}. Use parsing_wsj or parsing_files."
        )
    models = [("treebank_only", problem, 91.3)]
    if semi_data_dir:
        # Its name ends with `_semi`, or it is the same problem with other data,
        # which kt-datagen made from parsed text as well.
        name = f"{problem.name}_semi"
        if name not in registry.problems.names():
            name = problem.name
        semi_problem = registry.get_problem(name, semi_data_dir)
        models.append(("semi_supervised", semi_problem, 92.7))
    return [
        Row(name, each, hparams_set, paper={f"{PAPER}f1": f1})
        for name, each, f1 in models
    ]
