"""Prints the words of a treebank as a newspaper would."""

import re

BRACKETS = {
    f"-{side}{kind}B-": bracket
    for kind, brackets in (("R", "()"), ("S", "[]"), ("C", "{}"))
    for side, bracket in zip("LR", brackets)
}
# Spaces that a newspaper leaves out, before and after a word.
SPACE_BEFORE = re.compile(
    r" (?=(?:[,.;:?!%'\x01)\]}]|'(?:s|m|d|ll|re|ve)|n't)(?:[ \x01]|$))", re.I
)
SPACE_AFTER = re.compile(r"(?:(?<=[ \x03])|^)([\x02`(\[{#]|[A-Z]*\$) ")
TYPEWRITER = {"\x02": '"', "\x01": '"', "`": "'"}
TYPESET = {
    "\x02": "“",
    "\x01": "”",
    "'": "’",
    "`": "‘",
    "--": "—",
    "...": "…",
}


def unescape(word):
    """Returns a word with brackets in place of the treebank's escapes."""
    return re.sub("-[LR][RSC]B-", lambda match: BRACKETS[match[0]], word)


def printed(words, signs=TYPEWRITER):
    """Returns the text of a sentence, given its words in the treebank.

    Args:
        words: List of str, with the treebank's quotes and escapes.
        signs: Dictionary of quotation marks and dashes to what is printed:
            `TYPEWRITER` or `TYPESET`. Defaults to `TYPEWRITER`.
    """
    marks = {"``": "\x02", "''": "\x01"}
    text = " ".join(marks.get(word, unescape(word)) for word in words)
    text = text.replace("\\/", "/").replace("\\*", "*")
    text = SPACE_BEFORE.sub("", text)
    while (shorter := SPACE_AFTER.sub("\\1\3", text)) != text:
        text = shorter
    text = text.replace("\3", "")
    # One period ends both an abbreviation and the sentence.
    text = re.sub(r"(\w\.)\.(?=['\x01]*$)", r"\1", text)
    for mark, sign in signs.items():
        text = text.replace(mark, sign)
    return text
