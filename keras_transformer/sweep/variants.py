"""The variants of a sweep: the models that it compares, before any scale."""

import dataclasses

from keras_transformer.hparams import table3 as paper_table3
from keras_transformer.problem import Problem
from keras_transformer.sweep.paper_table4 import TRANSFORMER


@dataclasses.dataclass(frozen=True)
class Variant:
    """A model and the paper's figures for it, if there are any."""

    name: str
    problem: Problem
    hparams_set: str
    changes: dict = dataclasses.field(default_factory=dict)  # of the set
    paper: dict = dataclasses.field(default_factory=dict)  # figures by name


def table3(problem):
    """Returns the rows of the paper's Table 3."""
    return [
        Variant(
            name,
            problem,
            paper_table3.hparams_set(name),
            paper={
                "parameters": 1_000_000 * row.millions,
                "perplexity": row.perplexity,
                "bleu": row.bleu,
            },
        )
        for name, row in paper_table3.ROWS.items()
    ]


def table4(problem, semi_problem, hparams_set):
    """Returns the Transformer's rows of the paper's Table 4.

    Args:
        problem: `Problem` of the treebank.
        semi_problem: `Problem` of the treebank and of parsed sentences, or None
            to leave that row out.
        hparams_set: Name of the hparams set of both rows.
    """
    problems = {"treebank_only": problem, "semi_supervised": semi_problem}
    return [
        Variant(name, each, hparams_set, paper={"f1": TRANSFORMER[name]})
        for name, each in problems.items()
        if each
    ]


def sets(problem, names):
    """Returns a variant for each of some hparams sets."""
    return [Variant(name, problem, name) for name in names]


def points(problem, hparams_set, points):
    """Returns a variant for each combination of hyper-parameters.

    Args:
        problem: The `Problem`.
        hparams_set: Name of the hparams set that all of them change.
        points: List of dictionaries, as `spaces.grid` returns them.
    """
    return [
        Variant(
            "_".join(f"{name}={value}" for name, value in point.items()),
            problem,
            hparams_set,
            point,
        )
        for point in points
    ]
