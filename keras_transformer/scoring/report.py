"""Scores side by side, and the table that shows them."""

import dataclasses

HEAD = ("", "score", "1-gram", "2-gram", "3-gram", "4-gram", "brevity penalty")


@dataclasses.dataclass(frozen=True)
class Score:
    """One score of a set of translations."""

    name: str  # in records and tables of figures, such as "bleu"
    title: str  # for readers, such as "BLEU 13a"
    value: float
    signature: str  # how the score was computed, in sacreBLEU's notation
    line: str  # sacreBLEU's own line: signature, score and parts
    parts: tuple = ()  # of BLEU: four n-gram precisions, brevity penalty

    @property
    def cells(self):
        """The figures as text, in the order of `HEAD` after the title."""
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
    def scores(self):
        """The scores by name."""
        return {row.name: row.value for row in self.rows}

    @property
    def lines(self):
        """A line for each score, as sacreBLEU writes it."""
        return [row.line for row in self.rows]

    @property
    def text(self):
        """A table of the scores and their parts, and below it the signatures.

        Two scores are comparable only under the same signature.
        """
        width = max(len(row.title) for row in self.rows)
        lines = [_table_line(HEAD, width)]
        lines += [
            _table_line((row.title, *row.cells), width) for row in self.rows
        ]
        lines.append("")
        lines += [f"{row.title:<{width}}  {row.signature}" for row in self.rows]
        return "\n".join([*lines, self.left_out] if self.left_out else lines)


def _table_line(cells, width):
    first, *rest = cells
    columns = [f"{first:<{width}}"]
    columns += [
        f"{cell:>{max(6, len(head))}}" for cell, head in zip(rest, HEAD[1:])
    ]
    return "  ".join(columns)
