"""BLEU and chrF of translations, as sacreBLEU computes them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class BleuReport:
    """Scores of a set of translations, with what is needed to compare them."""

    bleu: float  # BLEU, 0 to 100
    chrf: float  # chrF2, 0 to 100
    text: str  # a line per metric: sacreBLEU's signature, score and parts

    @property
    def scores(self):
        """The scores by name."""
        return {"bleu": self.bleu, "chrf": self.chrf}


def bleu_report(hypotheses, references, tokenize="13a", lowercase=False):
    """Scores translations with BLEU and chrF.

    Both come from sacreBLEU, whose signatures say how they were computed: two
    scores compare only under the same signature. Give detokenised text, one
    reference per hypothesis.

    Args:
        hypotheses: list of str.
        references: list of str, as many.
        tokenize: sacreBLEU's name of the tokenizer for BLEU; "13a" is the
            standard, "none" is for text that has been tokenised before.
        lowercase: whether to ignore case.

    Returns:
        a `BleuReport`.

    Raises:
        ValueError: if there is nothing to score, or the counts differ, or
            sacreBLEU has no such tokenizer.

    Example:

    >>> report = bleu_report(["Das ist gut so."], ["Das ist gut so."])
    >>> round(report.bleu), round(report.chrf)
    (100, 100)
    """
    # At 0.5 s of import time, only for those who score.
    from sacrebleu.metrics import BLEU
    from sacrebleu.metrics import CHRF

    _check(hypotheses, references)
    if tokenize not in BLEU.TOKENIZERS:
        raise ValueError(
            "`tokenize` must be the name of one of sacreBLEU's tokenizers. "
            f"Received: tokenize={tokenize!r}. Use one of "
            f"{', '.join(BLEU.TOKENIZERS)}."
        )
    # `force` silences the advice against text that looks tokenised.
    metrics = (
        BLEU(tokenize=tokenize, lowercase=lowercase, force=True),
        CHRF(lowercase=lowercase),
    )
    scores = [m.corpus_score(hypotheses, [references]) for m in metrics]
    lines = [
        score.format(signature=metric.get_signature().format())
        for metric, score in zip(metrics, scores)
    ]
    return BleuReport(*(score.score for score in scores), "\n".join(lines))


def _check(hypotheses, references):
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            "Hypotheses and references must be equally many, and at least "
            f"one. Received: {len(hypotheses)} hypotheses and "
            f"{len(references)} references. Give one line each per sentence."
        )
