"""The variants of a sweep: the models that it compares, before any scale."""

import dataclasses

from keras_transformer.hparams import table3
from keras_transformer.problem import Problem

# F1 of the paper's Table 4 on section 23 of the Wall Street Journal: that of
# the Transformer with 4 layers, by the name of the row that repeats it, and
# that of other parsers.
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
    problem: Problem
    hparams_set: str
    changes: dict = dataclasses.field(default_factory=dict)  # of the set
    paper: dict = dataclasses.field(default_factory=dict)  # figures by name


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

    `semi_problem` has the treebank and parsed sentences; None leaves its row
    out.
    """
    problems = {"treebank_only": problem, "semi_supervised": semi_problem}
    return [
        Variant(name, each, hparams_set, paper={"f1": TABLE_4[name]})
        for name, each in problems.items()
        if each
    ]


def quote_table4(names):
    """Returns the paper's figures to show beside rows, with their names.

    The figure for a row of the Transformer that is missing is among them.
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
