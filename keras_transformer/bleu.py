"""BLEU and chrF of translations, as sacreBLEU computes them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class BleuReport:
    """Scores of a set of translations, with the signatures of the metrics."""

    bleu: float  # BLEU, 0 to 100
    chrf: float  # chrF2, 0 to 100
    text: str  # a line for each metric: sacreBLEU's signature, score and parts

    @property
    def scores(self):
        """The scores by name."""
        return {"bleu": self.bleu, "chrf": self.chrf}


def bleu_report(hypotheses, references, tokenize="13a", lowercase=False):
    """Scores translations with BLEU and chrF.

    Both come from sacreBLEU. Its signature says how a score was computed: two
    scores are comparable only under the same signature. The texts must be
    detokenised, with one reference for each hypothesis.

    Args:
        hypotheses: List of strings.
        references: List of strings of the same length.
        tokenize: Name of sacreBLEU's tokenizer for BLEU. "13a" is the standard;
            "none" is for text that is already tokenised. Defaults to "13a".
        lowercase: Whether to ignore case. Defaults to False.

    Returns:
        A `BleuReport`.

    Raises:
        ValueError: If there is nothing to score, if the two lists differ in
            length, or if sacreBLEU has no such tokenizer.

    Example:

    >>> report = bleu_report(["Das ist gut so."], ["Das ist gut so."])
    >>> round(report.bleu), round(report.chrf)
    (100, 100)
    """
    # Imported here because the import takes 0.5 s and few callers score.
    from sacrebleu.metrics import BLEU
    from sacrebleu.metrics import CHRF

    _check(hypotheses, references)
    if tokenize not in BLEU.TOKENIZERS:
        raise ValueError(
            "`tokenize` must be the name of one of sacreBLEU's tokenizers. "
            f"Received: tokenize={tokenize!r}. Use one of "
            f"{', '.join(BLEU.TOKENIZERS)}."
        )
    # `force` silences sacreBLEU's warning about text that looks tokenised.
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
            "There must be as many hypotheses as references, and at least "
            f"one. Received: {len(hypotheses)} hypotheses and "
            f"{len(references)} references. Provide one line for each sentence."
        )
