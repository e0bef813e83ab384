"""The grammar of the toy treebank, whose rules are read from text.

A line that ends with ":" begins a symbol; the rules that make the symbol follow
it, on the same line or on the next ones. A rule lists trees, or nothing ("~"),
with other symbols in square brackets. "can/must" stands for either word. The
number before a rule is its weight among the rules of the symbol.

A capital letter in a symbol is a variable. It stands for any of several words,
the same one throughout the rule: "[np G sg] [likes sg]". A line that begins
with a space continues the line before.
"""

import functools
import itertools
import re
import typing

from keras_transformer.problems.toy_treebank.clauses import CLAUSES
from keras_transformer.problems.toy_treebank.lexicon import lexical_rules
from keras_transformer.problems.toy_treebank.phrases import PHRASES
from keras_transformer.trees.tree import Tree

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
_TOKEN = re.compile(r"[()]|\[[^]]*\]|[^\s()\[\]]+")


class Slot(typing.NamedTuple):
    """A place in a rule for trees that the rules of a symbol make."""

    symbol: str


class Rule(typing.NamedTuple):
    """One way to make a symbol: trees and slots, side by side."""

    weight: float
    items: tuple


@functools.cache
def grammar():
    """Returns the rules of each symbol, words included: {symbol: [Rule]}."""
    rules = {
        symbol: [Rule(1, (Tree(tag, (word,)),)) for tag, word in words]
        for symbol, words in lexical_rules().items()
    }
    head = None
    for line in (CLAUSES + PHRASES).replace("\n ", "").splitlines():
        new_head, weight, text = _LINE.fullmatch(line).groups()
        head = new_head or head
        if text:
            for symbol, texts in _instances(head, text):
                share = int(weight or 1) / len(texts)
                new_rules = [Rule(share, _read(text)) for text in texts]
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
    """Returns the trees and slots of a rule."""
    stack = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            label, *children = stack.pop()
            stack[-1].append(Tree(label, tuple(children)))
        elif token.startswith("["):
            stack[-1].append(Slot(token[1:-1]))
        elif token != "~":
            stack[-1].append(token)
    return tuple(stack[0])
