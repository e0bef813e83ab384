"""Two sets of translations of one text, compared by paired bootstrap."""

import dataclasses
import logging
import os

from keras_transformer.scoring.measures import LOWER_IS_BETTER
from keras_transformer.scoring.measures import SYMBOL_MEASURES
from keras_transformer.scoring.report import align_columns
from keras_transformer.scoring.symbol_scores import make_metric
from keras_transformer.scoring.translations import bleu_metric
from keras_transformer.scoring.translations import chrf_metric
from keras_transformer.scoring.translations import ter_metric

NUM_SAMPLES = 1000
SEED = 12345  # sacreBLEU's default
# Share of the references' characters below which TER says little: a system that
# leaves words out has fewer edits.
MIN_LENGTH = 0.8
LEVEL = 0.05  # a difference with a smaller p-value is called significant
MEANING = (
    "p estimates how often chance alone makes so large a difference. "
    f"Significant means p < {LEVEL}."
)
INTERVAL = "95% interval"
_LOWER_IS_BETTER = [SYMBOL_MEASURES.get(n, "TER") for n in LOWER_IS_BETTER]
MAX_NAME = 24  # characters of a system's name above a column


@dataclasses.dataclass(frozen=True)
class Difference:
    """One score of both sets of translations."""

    title: str  # such as "BLEU 13a"
    this: float
    this_interval: tuple  # lower and upper bound, 95 % confidence
    other: float
    other_interval: tuple
    p_value: float  # see `MEANING`
    signature: str  # names the seed and the number of samples
    is_cut: bool  # whether some outputs are shorter than `MIN_LENGTH` allows

    @property
    def cells(self):
        """The metrics as text, in the columns of `comparison_text`."""
        return (
            f"{self.this:.2f}",
            "{:.2f} to {:.2f}".format(*self.this_interval),
            f"{self.other:.2f}",
            "{:.2f} to {:.2f}".format(*self.other_interval),
            f"{self.this - self.other:+z.2f}",
            f"{self.p_value:.4f}",
        )

    def explain(self, names):
        """Returns what the metrics mean for two systems, as a sentence."""
        if self.this == self.other:
            return f"{self.title}: both are equal."
        if self.title == "TER" and self.is_cut:
            return (
                "TER: no judgement, because TER favours outputs that are too "
                "short, as some are."
            )
        if self.p_value >= LEVEL:
            return f"{self.title}: the difference is not significant."
        better, worse = names
        if (self.this < self.other) != (self.title in _LOWER_IS_BETTER):
            better, worse = worse, better
        return f"{self.title}: {better} is significantly better than {worse}."


def compare(
    hypotheses,
    others,
    references,
    tokenize="13a",
    lowercase=False,
    more_references=(),
    measure="bleu",
):
    """Tests whether one set of translations scores better than another.

    This is sacreBLEU's paired bootstrap with 1,000 samples of the sentences,
    for BLEU, chrF and TER, or for all `SYMBOL_MEASURES` if `measure` is one of
    them. Its seed is fixed, so the same texts give the same metrics.
    `more_references` are lists of further ones. The environment variable
    SACREBLEU_SEED is replaced.
    """
    from sacrebleu.significance import PairedTest

    if measure in SYMBOL_MEASURES:
        metrics = {t: make_metric(name) for name, t in SYMBOL_MEASURES.items()}
    else:
        metrics = {
            f"BLEU {tokenize}": bleu_metric(tokenize, lowercase),
            "chrF2": chrf_metric(lowercase),
            "TER": ter_metric(tokenize),
        }
    # sacreBLEU reads its seed from there, and reports each step of its work.
    os.environ["SACREBLEU_SEED"] = str(SEED)
    logging.getLogger("sacrebleu").setLevel(logging.WARNING)
    test = PairedTest(
        [("other", others), ("this", hypotheses)],
        metrics,
        [references, *more_references],
        test_type="bs",
        n_samples=NUM_SAMPLES,
    )
    signatures, results = test()
    min_length = MIN_LENGTH * sum(map(len, references))
    is_cut = min(sum(map(len, hypotheses)), sum(map(len, others))) < min_length
    return [
        _difference(title, *results[name], signatures[name], is_cut)
        # sacreBLEU uses other names for the scores, in the same order.
        for title, name in zip(metrics, signatures)
    ]


def comparison_text(differences, names):
    """Returns a table of differences, and the meaning of each in words.

    The names are this system's and the other's.
    """
    # A long name would push the table off the screen; its end says most.
    this, other = (
        name if len(name) <= MAX_NAME else f"…{name[1 - MAX_NAME :]}"
        for name in names
    )
    head = ("", this, INTERVAL, other, INTERVAL, "difference", "p")
    rows = [head, *((row.title, *row.cells) for row in differences)]
    width = max(len(title) for title, *_ in rows)
    lines = [*align_columns(rows), ""]
    lines += [row.explain(names) for row in differences]
    lines += [MEANING, ""]
    lines += [f"{r.title:<{width}}  {r.signature}" for r in differences]
    return "\n".join(lines)


def _difference(title, other, this, signature, is_cut):
    return Difference(
        title,
        this.score,
        (this.mean - this.ci, this.mean + this.ci),
        other.score,
        (other.mean - other.ci, other.mean + other.ci),
        # sacreBLEU calls a difference of zero significant.
        this.p_value if this.score != other.score else 1.0,
        signature.format(),
        is_cut,
    )
