"""The paper's tokens for BLEU: Moses' tokenizer, compounds split at hyphens."""

import importlib.metadata
import importlib.util
import re

COMPOUNDS = ("de",)  # languages whose compounds are split
# A hyphen inside a word, but none that has been split already.
_HYPHEN = re.compile(r"(\S)(?<!##AT##)-(\S)")


def has_moses():
    return importlib.util.find_spec("sacremoses") is not None


def is_language(code):
    """Returns whether a text is the code of a language, such as "de"."""
    return re.fullmatch("[a-z]{2,3}", code) is not None


def tokenize(texts, language, is_tokenized=False):
    """Returns texts as the tokens of the paper's BLEU with spaces between.

    They are those of Tensor2Tensor's `get_ende_bleu.sh`: Moses' tokens, in
    which a hyphen inside a German word is a separate token, `##AT##-##AT##`.
    Compounds of other languages remain whole. Texts that are tokenised already
    do not need Moses' tokenizer.

    >>> tokenize(["ein Text im RTF-Format ."], "de", is_tokenized=True)
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


def signature_entries(language, is_tokenized=False):
    """Names the tokens of `tokenize` in the manner of sacreBLEU."""
    compounds = ["compounds"] if language in COMPOUNDS else []
    if is_tokenized:
        return {"tok": "+".join(compounds) or "none"}
    return {
        "tok": "+".join([f"moses-{language}", *compounds]),
        "sacremoses": importlib.metadata.version("sacremoses"),
    }
