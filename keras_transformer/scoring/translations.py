"""BLEU, chrF and TER of translations, as sacreBLEU computes them."""

import dataclasses
import importlib.metadata
import importlib.util
import re

from keras_transformer.errors import UserError
from keras_transformer.scoring.report import Report
from keras_transformer.scoring.report import Score

COMPOUNDS = ("de",)  # languages whose compounds are split
# A hyphen inside a word, but none that has been split already.
_HYPHEN = re.compile(r"(\S)(?<!##AT##)-(\S)")
# The tokenizers that are shown beside the one that was chosen.
USUAL = ("13a", "intl")


def bleu_report(hypotheses, references, tokenize="13a", lowercase=False):
    """Returns the `Report` of BLEU and chrF, which take little time.

    Each hypothesis has one reference. `tokenize` names sacreBLEU's tokenizer
    for BLEU: "13a" is the standard, and "none" is for text that is already
    tokenised. Two scores are comparable only under the same signature.

    >>> report = bleu_report(["Das ist gut so."], ["Das ist gut so."])
    >>> {name: round(value) for name, value in report.scores.items()}
    {'bleu': 100, 'chrf': 100}
    """
    _check(hypotheses, references, tokenize)
    scorer = _Scorer(hypotheses, references, lowercase, origin={})
    return Report((scorer.bleu("bleu", tokenize), scorer.chrf()))


def ter_score(hypotheses, references):
    """Returns the TER of translations, a `Score`; lower is better.

    It takes longer than BLEU and chrF, the more the further words have moved.
    """
    return _Scorer(hypotheses, references, lowercase=False, origin={}).ter()


def translation_report(
    hypotheses,
    references,
    language=None,
    tokenize="13a",
    lowercase=False,
    origin=None,
    more_references=(),
):
    """Scores translations in all the ways that are in use, side by side.

    The first score is BLEU with the tokenizer that was chosen, as in
    `bleu_report`. BLEU with sacreBLEU's other usual tokenizers, BLEU as in the
    paper, chrF and TER follow. The paper's BLEU is what `multi-bleu.perl`
    computes, without smoothing, on the tokens of `tokenize_as_paper`. It is
    left out without a `language`, a code such as "de". `more_references` are
    lists of further references, as many as there are hypotheses. If `tokenize`
    is "none", nothing tokenises the text again. The signatures show the entries
    of `origin`, such as `{"test": "wmt14/full", "lang": "en-de"}`.
    """
    _check(hypotheses, references, tokenize)
    for others in more_references:
        _check(hypotheses, others, tokenize)
    scorer = _Scorer(
        hypotheses, references, lowercase, origin or {}, more_references
    )
    is_tokenized = tokenize == "none"
    others = [name for name in USUAL if name != tokenize and not is_tokenized]
    rows = [scorer.bleu("bleu", tokenize)]
    rows += [scorer.bleu(f"bleu_{name}", name) for name in others]
    left_out = _reason_to_leave_out(language, is_tokenized)
    if not left_out:
        rows.append(scorer.paper_bleu(language, is_tokenized))
    return Report((*rows, scorer.chrf(), scorer.ter()), left_out)


def bleu_metric(tokenize, lowercase):
    """Returns sacreBLEU's BLEU of text that one of its tokenizers divides."""
    # Imported here because the import takes 0.5 s and few callers score.
    from sacrebleu.metrics import BLEU

    # `force` silences sacreBLEU's warning about text that looks tokenised.
    return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


@dataclasses.dataclass(frozen=True)
class _Scorer:
    """Computes one score after another of the same translations."""

    hypotheses: list
    references: list
    lowercase: bool
    origin: dict  # entries that are added to each signature
    more_references: tuple = ()  # of lists

    def bleu(self, name, tokenize):
        metric = bleu_metric(tokenize, self.lowercase)
        return self._score(name, f"BLEU {tokenize}", metric)

    def paper_bleu(self, language, is_tokenized):
        # Imported here because the import takes 0.5 s and few callers score.
        from sacrebleu.metrics import BLEU

        metric = BLEU(
            tokenize="none",
            smooth_method="none",
            lowercase=self.lowercase,
            force=True,
        )
        how = language, is_tokenized
        tokens = dataclasses.replace(
            self,
            hypotheses=tokenize_as_paper(self.hypotheses, *how),
            references=tokenize_as_paper(self.references, *how),
            more_references=[
                tokenize_as_paper(each, *how) for each in self.more_references
            ],
            origin={**self.origin, **_paper_signature(*how)},
        )
        return tokens._score("bleu_paper", "BLEU paper", metric)

    def chrf(self):
        from sacrebleu.metrics import CHRF

        return self._score("chrf", "chrF2", CHRF(lowercase=self.lowercase))

    def ter(self):
        from sacrebleu.metrics import TER

        # TER ignores case by default, as its signature says.
        return self._score("ter", "TER", TER())

    def _score(self, name, title, metric):
        references = [self.references, *self.more_references]
        score = metric.corpus_score(self.hypotheses, references)
        signature = metric.get_signature()
        for key, value in self.origin.items():
            signature.update(key, value)
        signature = signature.format()
        parts = ()
        if title.startswith("BLEU"):
            parts = (*score.precisions, score.bp)
        line = score.format(signature=signature)
        return Score(name, title, score.score, signature, line, parts)


def _reason_to_leave_out(language, is_tokenized):
    """Returns why the paper's BLEU cannot be computed, or "" if it can."""
    if not language or not is_language(language):
        return (
            "BLEU paper is left out because the language is unknown. "
            "--language names it, as in --language=de."
        )
    if not is_tokenized and not has_moses():
        return (
            "BLEU paper is left out because Moses' tokenizer is missing. "
            "pip install sacremoses adds it."
        )
    return ""


def _check(hypotheses, references, tokenize):
    if len(hypotheses) != len(references) or not references:
        raise UserError(
            "There must be as many hypotheses as references, and at least "
            f"one. Received: {len(hypotheses)} hypotheses and "
            f"{len(references)} references. Provide one line for each sentence."
        )
    from sacrebleu.metrics import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        raise UserError(
            "`tokenize` must be the name of one of sacreBLEU's tokenizers. "
            f"Received: tokenize={tokenize!r}. Use one of "
            f"{', '.join(BLEU.TOKENIZERS)}."
        )


def has_moses():
    return importlib.util.find_spec("sacremoses") is not None


def is_language(code):
    """Returns whether a text is the code of a language, such as "de"."""
    return re.fullmatch("[a-z]{2,3}", code) is not None


def tokenize_as_paper(texts, language, is_tokenized=False):
    """Returns texts as the tokens of the paper's BLEU with spaces between.

    They are those of Tensor2Tensor's `get_ende_bleu.sh`: Moses' tokens, in
    which a hyphen inside a German word is a separate token, `##AT##-##AT##`.
    Compounds of other languages remain whole. Texts that are tokenised already
    do not need Moses' tokenizer.

    >>> tokenize_as_paper(["ein Text im RTF-Format ."], "de", is_tokenized=True)
    ['ein Text im RTF ##AT##-##AT## Format .']
    """
    if not is_tokenized:
        # Imported here because the package is optional.
        from sacremoses import MosesTokenizer

        moses = MosesTokenizer(language)
        texts = [moses.tokenize(text, return_str=True) for text in texts]
    if language in COMPOUNDS:
        texts = [_HYPHEN.sub(r"\1 ##AT##-##AT## \2", text) for text in texts]
    return texts


def _paper_signature(language, is_tokenized=False):
    """Names the tokens of `tokenize_as_paper` in the manner of sacreBLEU."""
    compounds = ["compounds"] if language in COMPOUNDS else []
    if is_tokenized:
        return {"tok": "+".join(compounds) or "none"}
    return {
        "tok": "+".join([f"moses-{language}", *compounds]),
        "sacremoses": importlib.metadata.version("sacremoses"),
    }
