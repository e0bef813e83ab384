"""The grammar of the toy treebank.

Its rules and words are in `tree_grammar.txt` and `tree_words.txt`.
The nouns and adjectives are those of the toy language pair and some more. The
grammar chooses words by their groups: a verb takes nouns of certain groups, and
"with a fork" goes with eating, "with cream" with a cake.
"""

import functools
import itertools
import re
import typing

from toy_text.lexicon import ADJECTIVES
from toy_text.lexicon import NOUNS
from toy_text.lexicon import read_lines

VERB_TAGS = ("VB", "VBZ", "VBD", "VBN", "VBG", "VBP")

_VARIABLES = {
    "N": "sg pl",
    "P": "past present",
    "F": "VB VBZ VBP VBD VBN VBG",  # tags of verbs
    "G": (  # groups of nouns
        "people relatives jobs beings animals food drinks toppings clothes "
        "dishes cutlery texts gifts goods luggage machines vehicles tools "
        "glasses openings furniture rooms homes outdoors places nature looks "
        "tails parts events"
    ),
    "M": "people animals food texts gifts homes",
    "O": "food clothes dishes texts gifts machines openings",
}
_LINE = re.compile(r"(?:([a-z][^:]*):)? ?(?:(\d+) )?(.*)")
_VARIABLE = re.compile(r"(?<=[\[ ])[A-Z]\b(?=[^\[]*\])")
# A tag with its word, a bracket with its label, a closing bracket, or a symbol.
_TOKEN = re.compile(r"\((\S+) ([^\s()\[\]]+)\)|\((\S+)|(\))|\[([^]]*)\]")


class Rule(typing.NamedTuple):
    """One way to make a symbol: steps of trees and names of other symbols."""

    weight: float
    items: tuple  # steps as of `tree.walk`, and str


@functools.cache
def read_grammar():
    """Returns the rules of each symbol, words included: {symbol: [Rule]}."""
    rules = {
        symbol: [Rule(1, (("leaf", tag, word),)) for tag, word in words]
        for symbol, words in make_lexical_rules().items()
    }
    head = None
    text = "\n".join(read_lines(__package__, "tree_grammar.txt"))
    for line in text.replace("\n ", "").splitlines():
        new_head, weight, text = _LINE.fullmatch(line).groups()
        head = new_head or head
        if text:
            for symbol, texts in _instances(head, text):
                share = int(weight or 1) / len(texts)
                new_rules = [Rule(share, tuple(_read(text))) for text in texts]
                rules.setdefault(symbol, []).extend(new_rules)
    return rules


def _instances(head, text):
    """Yields each symbol that a head stands for and the texts of its rules."""
    head = f"[{head}]"
    bound = sorted(set(_VARIABLE.findall(head)))
    free = sorted(set(_VARIABLE.findall(text)) - set(bound))
    for values in _assignments(bound):
        texts = [
            choice
            for others in _assignments(free)
            for choice in _choices(_substitute(text, {**values, **others}))
        ]
        yield _substitute(head, values)[1:-1], texts


def _assignments(names):
    """Yields a dictionary for each assignment of values to variables."""
    domains = [_VARIABLES[name].split() for name in names]
    for values in itertools.product(*domains):
        yield dict(zip(names, values))


def _substitute(text, values):
    return _VARIABLE.sub(lambda match: values[match[0]], text)


def _choices(text):
    """Yields the text with each choice of the words that slashes separate."""
    parts = re.split(r"([^\s()]+/[^\s()]+)", text)
    for choice in itertools.product(*(part.split("/") for part in parts)):
        yield "".join(choice)


def _read(text):
    """Yields the items of a rule."""
    open_labels = []
    for tag, word, label, closing, symbol in _TOKEN.findall(text):
        if tag:
            yield "leaf", tag, word
        elif label:
            open_labels.append(label)
            yield "open", label, None
        elif closing:
            yield "close", open_labels.pop(), None
        else:
            yield symbol


def make_lexical_rules():
    """Returns the words of each symbol: {symbol: [(tag, word), ...]}."""
    words_of = _read_words()
    rules = {}
    for group, nouns in _pair_noun_forms(words_of["nouns"]):
        for number, tag, place in (("sg", "NN", 0), ("pl", "NNS", 1)):
            words = [(tag, noun[place]) for noun in nouns]
            rules[f"noun {group} {number}"] = words
    for group, adjectives in _group_adjectives(words_of["adjectives"]):
        rules[f"adjective {group}"] = [("JJ", word) for word in adjectives]
    for group, verbs in words_of["verbs"]:
        for text in verbs:
            base, *others = text.split()
            words = [base, *(word.replace("-", base) for word in others), base]
            for tag, word in zip(VERB_TAGS, words):
                symbol = f"verb {group} {tag}"
                rules.setdefault(symbol, []).append((tag, word))
    return rules


def _read_words():
    """Returns the sections of the words: {title: [(group, [entry, ...])]}."""
    sections = {}
    for line in filter(None, read_lines(__package__, "tree_words.txt")):
        if line.startswith("["):
            rows = sections.setdefault(line.strip("[]"), [])
        else:
            group, _, entries = line.partition(": ")
            rows.append((group, entries.split(", ")))
    return sections


def _pair_noun_forms(rows):
    """Yields each group with its nouns in the singular and the plural."""
    for group, nouns in NOUNS.items():
        yield group, [(noun.english, noun.english_plural) for noun in nouns]
    for group, entries in rows:
        yield group, [entry.split() for entry in entries]


def _group_adjectives(rows):
    """Yields each group of nouns with the adjectives that suit all of them."""
    for group, nouns in NOUNS.items():
        kinds = {noun.kind for noun in nouns}
        suited = [a for a in ADJECTIVES if kinds <= set(a.kinds.split())]
        yield group, [adjective.english for adjective in suited]
    yield from rows
