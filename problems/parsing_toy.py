"""Parsing of sentences that a small grammar generates with their trees.

The sentences are short and use few words, but the trees contain what makes
parsing hard: phrases that could belong to several words, clauses within
clauses, coordination, questions. The words determine the tree, so a model can
learn to parse every sentence correctly.
"""

import bisect
import functools
import itertools
import random

from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.problems.toy_treebank.grammar import Slot
from keras_transformer.problems.toy_treebank.grammar import read_grammar
from keras_transformer.registry import register_problem
from keras_transformer.trees.tree import Tree

NUM_TREES = {"train": 12_000, "dev": 300, "test": 300}
SENTENCE_LENGTHS = range(4, 26)  # in words, punctuation included

# Words of these symbols are not repeated in a sentence, if others are left.
_ONCE = ("noun", "verb", "adjective", "name")


@register_problem
class ParsingToy(ParsingProblem):
    """Parsing of sentences from a toy grammar; needs no download.

    Each sentence has one reading, which its words determine. No sentence occurs
    twice. Dev and test share all their words with training but no sentence.
    """

    vocab_size = 1500
    linearization = "lexicalised"

    def trees(self, split, tmp_dir):
        return iter(make_toy_trees()[split])


class TreeWriter:
    """Writes random trees, the same ones for the same seed.

    >>> words, tree = TreeWriter(seed=0).sentence()
    >>> words == tree.words()
    True
    """

    def __init__(self, seed):
        # Python promises to keep the sequence of this method only.
        self._random = random.Random(seed).random
        self._words = []
        self._used = set()
        self._rules = {
            symbol: (
                list(itertools.accumulate(rule.weight for rule in rules)),
                [rule.items for rule in rules],
            )
            for symbol, rules in read_grammar().items()
        }

    def sentence(self):
        """Returns the words of a sentence and its tree."""
        while True:
            self._words.clear()
            self._used.clear()
            (tree,) = self._make("sentence")
            if len(self._words) in SENTENCE_LENGTHS:
                words = spell(self._words)
                return words, Tree("TOP", (_with_words(tree, iter(words)),))

    def _make(self, symbol):
        """Returns the trees that a random rule of a symbol makes."""
        items = self._choose(symbol)
        if symbol.startswith(_ONCE):
            # A few tries suffice: repetition is allowed, just unlikely.
            for _ in range(5):
                if items[-1].children not in self._used:
                    break
                items = self._choose(symbol)
            self._used.add(items[-1].children)
        return self._fill(items)

    def _choose(self, symbol):
        totals, choices = self._rules[symbol]
        return choices[bisect.bisect(totals, self._random() * totals[-1])]

    def _fill(self, items):
        """Returns the items of a rule with trees in place of its slots."""
        trees = []
        for item in items:
            if isinstance(item, Slot):
                trees += self._make(item.symbol)
            elif item.is_preterminal:
                trees.append(item)
                self._words += item.children
            else:
                trees.append(Tree(item.label, tuple(self._fill(item.children))))
        return trees


def spell(words):
    """Returns the words with "an" before vowels and a capital at the start."""
    spelled = [
        "an" if word == "a" and following[0] in "aeiou" else word
        for word, following in itertools.pairwise((*words, "."))
    ]
    start = 1 if spelled[0] == "``" else 0
    spelled[start] = spelled[start][0].upper() + spelled[start][1:]
    return spelled


def _with_words(tree, words):
    """Returns a tree with other words."""
    if tree.is_preterminal:
        return Tree(tree.label, (next(words),))
    children = tuple([_with_words(child, words) for child in tree.children])
    return Tree(tree.label, children)


@functools.cache
def make_toy_trees():
    """Returns a dictionary of split to its trees."""
    pairs = _distinct_pairs()
    train = [next(pairs) for _ in range(NUM_TREES["train"])]
    train_words = {word for words, _ in train for word in words}
    treebank = {"train": [tree for _, tree in train]}
    # A model cannot know the meaning of a word that training lacks.
    fitting = (tree for words, tree in pairs if train_words.issuperset(words))
    for split in ("dev", "test"):
        treebank[split] = [next(fitting) for _ in range(NUM_TREES[split])]
    return treebank


def _distinct_pairs():
    """Yields the words and trees of sentences that did not occur before."""
    writer = TreeWriter(seed=2017)
    seen = set()
    while True:
        words, tree = writer.sentence()
        if tuple(words) not in seen:
            seen.add(tuple(words))
            yield words, tree
