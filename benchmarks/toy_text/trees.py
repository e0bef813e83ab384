"""Generates random sentences with their trees by the toy grammar."""

import bisect
import itertools
import random

from keras_transformer.parsing.tree import ROOT
from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import build_trees
from toy_text.tree_grammar import read_grammar

SENTENCE_LENGTHS = range(4, 26)  # in words, punctuation included

# Words of these symbols are not repeated in a sentence, if others are left.
_ONCE = ("noun", "verb", "adjective", "name")


class TreeWriter:
    """Writes random trees, the same ones for the same seed.

    >>> " ".join(TreeWriter(seed=0).write().words())
    'Do you love the city in the cellar ?'
    """

    def __init__(self, seed):
        # Python promises to keep the sequence of this method only.
        self._random = random.Random(seed).random
        self._steps = []
        self._used = set()
        self._rules = {
            symbol: (
                list(itertools.accumulate(rule.weight for rule in rules)),
                [rule.items for rule in rules],
            )
            for symbol, rules in read_grammar().items()
        }

    def write(self):
        """Returns the tree of a random sentence."""
        while True:
            self._steps.clear()
            self._used.clear()
            self._make("sentence")
            words = [word for step, _, word in self._steps if step == "leaf"]
            if len(words) in SENTENCE_LENGTHS:
                spelled = iter(spell(words))
                (tree,) = build_trees(
                    (step, label, next(spelled) if word else None)
                    for step, label, word in self._steps
                )
                return Tree(ROOT, (tree,))

    def _make(self, symbol):
        """Appends the steps of a symbol by one of its rules, at random."""
        items = self._choose(symbol)
        if symbol.startswith(_ONCE):
            # A few tries suffice: repetition is allowed, just unlikely.
            for _ in range(5):
                if items[-1][2] not in self._used:
                    break
                items = self._choose(symbol)
            self._used.add(items[-1][2])
        for item in items:
            if isinstance(item, str):
                self._make(item)
            else:
                self._steps.append(item)

    def _choose(self, symbol):
        totals, choices = self._rules[symbol]
        return choices[bisect.bisect(totals, self._random() * totals[-1])]


def spell(words):
    """Returns the words with "an" before vowels and a capital at the start."""
    spelled = [
        "an" if word == "a" and following[0] in "aeiou" else word
        for word, following in itertools.pairwise((*words, "."))
    ]
    start = 1 if spelled[0] == "``" else 0
    spelled[start] = spelled[start][0].upper() + spelled[start][1:]
    return spelled
