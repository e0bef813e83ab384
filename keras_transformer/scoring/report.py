"""Reports of scores, their validation, and the tables that show them."""

import dataclasses
import itertools
import math
import numbers

from keras_transformer.data.generation.corpora import format_corpus_name
from keras_transformer.errors import UserError
from keras_transformer.errors import quote

# The metrics of the model, and the other entries of a file of scores.
TAKEN_NAMES = "loss perplexity accuracy step num_pairs decode lines".split()
# The second cell has the width of 100.00.
HEAD = ("", " score", "1-gram", "2-gram", "3-gram", "4-gram", "brevity penalty")


@dataclasses.dataclass(frozen=True)
class Score:
    """One score of a set of translations."""

    name: str  # in records and tables of metrics, such as "bleu"
    title: str  # for readers, such as "BLEU 13a"
    value: float
    signature: str  # how the score was computed, in sacreBLEU's notation
    line: str  # sacreBLEU's line: signature, score and parts
    parts: tuple = ()  # of BLEU: four n-gram precisions, brevity penalty

    @property
    def cells(self):
        """The metrics as text, in the order of `HEAD` after the title."""
        cells = [f"{self.value:.2f}"]
        if self.parts:
            *precisions, brevity_penalty = self.parts
            cells += [f"{precision:.1f}" for precision in precisions]
            cells.append(f"{brevity_penalty:.3f}")
        return cells


@dataclasses.dataclass(frozen=True)
class Report:
    """Scores of one set of translations, in the order in which they appear."""

    rows: tuple  # of `Score`
    left_out: str = ""  # says which score is left out and how to get it

    @property
    def scores(self) -> dict[str, float]:
        return {row.name: row.value for row in self.rows}

    @property
    def lines(self) -> list[str]:
        """A line for each score, as sacreBLEU writes it."""
        return [row.line for row in self.rows]

    @property
    def text(self) -> str:
        """A table of the scores and their parts, and below it the signatures.

        Two scores are comparable only under the same signature.
        """
        width = max(len(row.title) for row in self.rows)
        rows = [HEAD, *((row.title, *row.cells) for row in self.rows)]
        signatures = (f"{r.title:<{width}}  {r.signature}" for r in self.rows)
        lines = [*align_columns(rows), "", *signatures]
        return "\n".join([*lines, self.left_out] if self.left_out else lines)


def check_scores(scores, problem_name):
    """Returns the scores of a problem, a dictionary by name, as floats.

    They come from the problem's `score` or `report`. Raises a `UserError` for a
    value that is not a finite number, or a name that is taken.
    """
    if not isinstance(scores, dict):
        raise UserError(
            "The scores of a problem must be a dictionary of names to numbers. "
            f"Received: problem={problem_name} with {quote(scores)}. "
            'Return for example {"bleu": 28.4}.'
        )
    for name, value in scores.items():
        if name in TAKEN_NAMES:
            raise UserError(
                "A score must not have a name that is taken: "
                f"{', '.join(TAKEN_NAMES)}. Received: problem={problem_name} "
                f"with the score {name!r}. Give the score another name."
            )
        # A bool of Python counts as a number.
        is_real = isinstance(value, numbers.Real) and type(value) is not bool
        if not is_real or not math.isfinite(value):
            raise UserError(
                "A score must be a finite number. Received: "
                f"problem={problem_name}, {name}={quote(value)}. "
                "Return a float, such as 28.4."
            )
    return {name: float(value) for name, value in scores.items()}


def tabulate_scores(head, rows, change):
    """Returns the lines of a table of scores and their changes.

    Args:
        head: List of str, the heads of the first columns.
        rows: List of tuples: the first cells, the scores by name, and those
            that they are compared with, or an empty dictionary.
        change: Str, head of the differences.
    """
    lines = []
    for cells, scores, others in rows:
        heads, line = [*head], [*cells]
        for name, score in scores.items():
            heads.append(name)
            line.append(f"{score:.2f}")
            if others:
                heads.append(change)
                line.append(f"{score - others[name]:+.2f}")
        lines.append(line)
    return align_columns([heads, *lines])


def scores_by_corpus(texts, hypotheses, others, report):
    """Returns the lines of a table with a row of scores for each corpus.

    There are none for a single corpus. With `others`, the outputs of another
    model, each score has its gain over theirs. `report` is like
    `Problem.report`.
    """
    if len(texts.corpora) < 2:
        return []
    rows, start = [], 0
    for corpus in texts.corpora:
        part = slice(start, start + corpus["pairs"])
        start = part.stop
        scores, baseline = (
            outputs and report(outputs[part], texts.references[part]).scores
            for outputs in (hypotheses, others)
        )
        name = format_corpus_name(corpus["name"], corpus.get("tag"))
        rows.append(((name, f"{corpus['pairs']:,}"), scores, baseline))
    # An empty line separates the table from what is printed above it.
    return ["", *tabulate_scores(["corpus", "sentences"], rows, "gain")]


def align_columns(rows):
    """Returns rows as lines, the first column to the left, others to the right.

    A row may have fewer cells than others.

    >>> align_columns([("text", "BLEU"), ("a", "7.5")])
    ['text  BLEU', 'a      7.5']
    """
    columns = itertools.zip_longest(*rows, fillvalue="")
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for first, *rest in rows:
        cells = [f"{cell:>{w}}" for cell, w in zip(rest, widths[1:])]
        lines.append("  ".join([f"{first:<{widths[0]}}", *cells]))
    return lines
